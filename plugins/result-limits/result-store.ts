import type { ResultSource, ScopeView } from 'patchbay/features'

const MIB = 1024 * 1024

/** Limits of full results that are kept after truncation. */
export const KEPT_LIMITS = {
  keptResultBytes: 64 * MIB,
  keptResultBytesPerUser: 24 * MIB,
  keptResultMs: 10 * 60_000,
}

/** The limits in force. */
export type KeptLimits = Readonly<typeof KEPT_LIMITS>

/**
 * A text that is read in pieces, or the JSON text of one block that is read as a whole: a parsed object could take
 * twenty times its length in memory.
 */
export type Part = { readonly text: string } | { readonly block: string }

/** The caller of the original call: only it can read the omitted part, while it may use the source of the result. */
export type Reader = Pick<ScopeView, 'key' | 'permits'> & { readonly actor: { readonly userId: string } }

interface Kept {
  readonly source: ResultSource
  readonly reader: string
  readonly userId: string
  readonly parts: readonly Part[]
  readonly bytes: number
  readonly untilMs: number
}

/** Bytes that an entry is charged besides its texts, so that many small ones are not free. */
const ENTRY_BYTES = 1_024

/** Keeps truncated parts of results for ten minutes, within a limit per user and a total limit. */
export class ResultStore {
  readonly #limits: KeptLimits
  readonly #now: () => number
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()
  readonly #ofUser = new Map<string, { bytes: number; readonly ids: Set<string> }>()
  #bytes = 0

  constructor(limits: KeptLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Stores parts under an id. Parts larger than the limit of a user are not stored. */
  keep(id: string, { key, actor }: Reader, parts: readonly Part[], source: ResultSource): void {
    const { keptResultBytes, keptResultBytesPerUser, keptResultMs } = this.#limits
    // A text takes up to two bytes a character in memory.
    const size = (part: Part) => ('text' in part ? part.text : part.block).length
    const bytes = parts.reduce((sum, part) => sum + 2 * size(part), ENTRY_BYTES)
    if (bytes > keptResultBytesPerUser) return
    const own = this.#ofUser.get(actor.userId) ?? { bytes: 0, ids: new Set<string>() }
    for (const oldest of own.ids) {
      if (own.bytes + bytes <= keptResultBytesPerUser) break
      this.#forget(oldest)
    }
    while (this.#bytes + bytes > keptResultBytes && this.#kept.size > 0) this.#forgetOldestOfMost()
    this.#ofUser.set(actor.userId, own)
    own.ids.add(id)
    own.bytes += bytes
    this.#bytes += bytes
    const untilMs = this.#now() + keptResultMs
    this.#kept.set(id, { source, reader: key, userId: actor.userId, parts, bytes, untilMs })
  }

  /** Undefined for parts that expired, were evicted, are another caller's, or whose source the reader has lost. */
  find(reader: Reader, id: string, index: number): Part | undefined {
    const kept = this.#kept.get(id)
    if (!kept || kept.reader !== reader.key || kept.untilMs <= this.#now()) return undefined
    return reader.permits(kept.source) ? kept.parts[index] : undefined
  }

  /** True when no result is kept. */
  get isEmpty(): boolean {
    return this.#kept.size === 0
  }

  /** Bytes that are kept for a user, as charged against its quota. */
  bytesOf(userId: string): number {
    return this.#ofUser.get(userId)?.bytes ?? 0
  }

  /** Drops expired entries. */
  sweep(): void {
    const now = this.#now()
    for (const [id, { untilMs }] of this.#kept) {
      if (untilMs > now) return
      this.#forget(id)
    }
  }

  /** The holder with most items loses first. */
  #forgetOldestOfMost(): void {
    let most: { readonly bytes: number; readonly ids: ReadonlySet<string> } | undefined
    for (const each of this.#ofUser.values()) if (!most || each.bytes > most.bytes) most = each
    const [oldest] = most?.ids ?? []
    if (oldest !== undefined) this.#forget(oldest)
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
