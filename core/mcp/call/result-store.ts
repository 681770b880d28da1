import { randomUUID } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'

/** A text that is read piece by piece, or one block that is read as a whole. */
export type Part = { readonly text: string } | { readonly block: JsonObject }

/** Whose call it was: nobody else reads on. */
export interface Reader {
  /** Whether it may still use what a result came of. */
  permits(method: string, target: ExchangeTarget): boolean
  /** Of caller and path. */
  readonly key: string
  readonly actor: { readonly userId: string }
}

/** What a result is of. */
export interface Source {
  readonly method: string
  readonly target: ExchangeTarget
}

interface Kept {
  readonly source: Source | undefined
  readonly reader: string
  readonly userId: string
  readonly parts: readonly Part[]
  readonly bytes: number
  readonly untilMs: number
}

/** What an entry costs besides its texts, so that many small ones are not free. */
const ENTRY_BYTES = 1_024

/** What was cut off results, for ten minutes and as long as there is room: of each user, and of all together. */
export class ResultStore {
  readonly #now: () => number
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()
  readonly #ofUser = new Map<string, { bytes: number; readonly ids: Set<string> }>()
  #bytes = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** The id under which the parts are found. What is larger than all room is not kept. */
  keep({ key, actor }: Reader, parts: readonly Part[], id: string = randomUUID(), source?: Source): string {
    // A text takes up to two bytes a character in memory.
    const size = (part: Part) => ('text' in part ? part.text.length : JSON.stringify(part.block).length)
    const bytes = parts.reduce((sum, part) => sum + 2 * size(part), ENTRY_BYTES)
    if (bytes > LIMITS.keptResultBytesPerUser) return id
    const own = this.#ofUser.get(actor.userId) ?? { bytes: 0, ids: new Set<string>() }
    for (const oldest of own.ids) {
      if (own.bytes + bytes <= LIMITS.keptResultBytesPerUser) break
      this.#forget(oldest)
    }
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes + bytes <= LIMITS.keptResultBytes) break
      this.#forget(oldest)
    }
    this.#ofUser.set(actor.userId, own)
    own.ids.add(id)
    own.bytes += bytes
    this.#bytes += bytes
    const untilMs = this.#now() + LIMITS.keptResultMs
    this.#kept.set(id, { source, reader: key, userId: actor.userId, parts, bytes, untilMs })
    return id
  }

  /** Undefined for what is too old, had to make room, was another caller's, or came of what the reader may not use any more. */
  find(reader: Reader, id: string, index: number): Part | undefined {
    const kept = this.#kept.get(id)
    if (!kept || kept.reader !== reader.key || kept.untilMs <= this.#now()) return undefined
    const { source } = kept
    return source && !reader.permits(source.method, source.target) ? undefined : kept.parts[index]
  }

  /** What is kept for a user, as it counts against its limit. */
  bytesOf(userId: string): number {
    return this.#ofUser.get(userId)?.bytes ?? 0
  }

  /** Forgets what is too old. */
  sweep(): void {
    const now = this.#now()
    for (const [id, { untilMs }] of this.#kept) {
      if (untilMs > now) return
      this.#forget(id)
    }
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id)
    if (!kept) return
    this.#kept.delete(id)
    this.#bytes -= kept.bytes
    const own = this.#ofUser.get(kept.userId)
    if (!own) return
    own.bytes -= kept.bytes
    own.ids.delete(id)
    if (own.ids.size === 0) this.#ofUser.delete(kept.userId)
  }
}
