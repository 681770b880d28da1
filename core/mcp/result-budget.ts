import { randomUUID } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isHighSurrogate, pieceEnd } from './cut-text.ts'
import type { Sealer } from './pages.ts'
import { READ_RESULT } from './read-result.ts'
import { isPlainObject, parseExact } from './rpc.ts'

const PURPOSE = 'mcp-result'

/** A text that is read piece by piece, or one block that is read as a whole. */
type Part = { readonly text: string } | { readonly block: JsonObject }

interface Kept {
  /** The caller and path whose call it was; nobody else reads on. */
  readonly scopeKey: string
  readonly parts: readonly Part[]
  readonly bytes: number
  readonly untilMs: number
}

/**
 * Results that were longer than their group wants. The caller gets the beginning and a handle, and reads the rest with
 * that: sealed, for the same caller and path, for ten minutes, as long as there is room.
 */
export class ResultBudget {
  readonly #sealer: Sealer
  readonly #now: () => number
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()

  constructor(sealer: Sealer, now: () => number) {
    this.#sealer = sealer
    this.#now = now
  }

  /** The JSON text of a tool's result within so many bytes, the words about the cut not counted. */
  fit(resultText: string, maxBytes: number, scopeKey: string): string {
    if (resultText.length <= maxBytes && Buffer.byteLength(resultText) <= maxBytes) return resultText
    const result = parseExact(resultText)
    // What asks for input, or has another shape than a tool's result, is nothing that could be read on.
    const whole = isPlainObject(result) && (result.resultType === undefined || result.resultType === 'complete')
    if (!whole || !(Array.isArray(result.content) || result.structuredContent !== undefined)) return resultText
    return JSON.stringify(this.#cut(result, maxBytes, scopeKey))
  }

  /** The JSON text of the next piece. */
  read(handle: unknown, maxBytes: number, scopeKey: string): string {
    const place = this.#place(handle, scopeKey)
    if (!place) {
      const text = 'There is no result to read on under this handle any more. Call the tool itself again.'
      return JSON.stringify({ content: [{ type: 'text', text }], isError: true })
    }
    const { id, part, index, offset } = place
    if ('block' in part) return JSON.stringify({ content: [part.block] })
    const piece = this.#piece(id, index, part.text, offset, maxBytes)
    return JSON.stringify({ content: [{ type: 'text', text: piece }] })
  }

  /** Forgets what is too old. */
  sweep(): void {
    const now = this.#now()
    for (const [id, { untilMs }] of this.#kept) if (untilMs <= now) this.#kept.delete(id)
  }

  #cut(result: JsonObject, maxBytes: number, scopeKey: string): JsonObject {
    const id = randomUUID()
    const { structuredContent, content, ...rest } = result
    const notes: string[] = []
    let left = maxBytes
    const structuredBytes = structuredContent === undefined ? 0 : sizeOf(structuredContent)
    // Half of an object is none: whole where it fits, else not at all. The text says the same for most tools.
    const keepsStructured = structuredContent !== undefined && structuredBytes <= left
    if (keepsStructured) left -= structuredBytes
    else if (structuredContent !== undefined) notes.push(`structured content of ${structuredBytes} bytes is left out`)

    const shown: JsonValue[] = []
    const parts: Part[] = []
    // Everything behind the place of the cut is read on as one text.
    let cut: string | undefined
    let total = 0
    for (const block of Array.isArray(content) ? content : []) {
      const text = textOf(block)
      if (text === undefined) {
        const bytes = sizeOf(block)
        if (bytes <= left || !isPlainObject(block)) {
          shown.push(block)
          left -= bytes
        } else {
          parts.push({ block })
          notes.push(
            `${String(block.type)} of ${bytes} bytes is left out, read it by ${this.#seal(id, parts.length - 1, 0)}`,
          )
        }
        continue
      }
      const bytes = Buffer.byteLength(text)
      total += bytes
      if (cut !== undefined) cut += `\n${text}`
      else if (bytes <= left) {
        shown.push(block)
        left -= bytes
      } else {
        const end = pieceEnd(text, 0, left)
        if (end > 0) shown.push({ ...(block as JsonObject), text: text.slice(0, end) })
        cut = text.slice(end)
        left = 0
      }
    }
    if (cut !== undefined) {
      parts.push({ text: cut })
      const shownBytes = total - Buffer.byteLength(cut)
      notes.unshift(`cut at ${shownBytes} of ${total} bytes, read on by ${this.#seal(id, parts.length - 1, 0)}`)
    }
    if (parts.length > 0) this.#keep(id, scopeKey, parts)
    if (notes.length > 0) shown.push({ type: 'text', text: note(notes) })
    return { ...rest, content: shown, ...(keepsStructured ? { structuredContent } : {}) }
  }

  #piece(id: string, index: number, text: string, offset: number, maxBytes: number): string {
    const end = Math.max(pieceEnd(text, offset, maxBytes), afterCharacter(text, offset))
    const piece = text.slice(offset, end)
    if (end >= text.length) return piece
    const bytesLeft = Buffer.byteLength(text.slice(end))
    return `${piece}\n${note([`${bytesLeft} bytes follow, read on by ${this.#seal(id, index, end)}`])}`
  }

  #seal(id: string, index: number, offset: number): string {
    return this.#sealer.sealToken(PURPOSE, JSON.stringify([id, index, offset]))
  }

  #place(handle: unknown, scopeKey: string) {
    const opened = typeof handle === 'string' ? this.#sealer.openToken(PURPOSE, handle.trim()) : undefined
    const place: unknown = typeof opened === 'string' ? JSON.parse(opened) : undefined
    if (!Array.isArray(place)) return undefined
    const [id, index, offset] = place as [string, number, number]
    const kept = this.#kept.get(id)
    const part = kept?.parts[index]
    if (!kept || !part || kept.scopeKey !== scopeKey || kept.untilMs <= this.#now()) return undefined
    return { id, part, index, offset }
  }

  #keep(id: string, scopeKey: string, parts: readonly Part[]): void {
    // A text takes up to two bytes a character in memory.
    const bytes = parts.reduce((sum, part) => sum + 2 * ('text' in part ? part.text.length : sizeOf(part.block)), 0)
    this.#makeRoom(bytes, LIMITS.keptResultBytesPerScope, scopeKey)
    this.#makeRoom(bytes, LIMITS.keptResultBytes, undefined)
    this.#kept.set(id, { scopeKey, parts, bytes, untilMs: this.#now() + LIMITS.keptResultMs })
  }

  /** Forgets the oldest, of this caller and path or of all, until so many bytes more are within the limit. */
  #makeRoom(bytes: number, limit: number, scopeKey: string | undefined): void {
    const mine = [...this.#kept].filter(([, kept]) => scopeKey === undefined || kept.scopeKey === scopeKey)
    let held = mine.reduce((sum, [, kept]) => sum + kept.bytes, 0)
    for (const [id, kept] of mine) {
      if (held + bytes <= limit) return
      held -= kept.bytes
      this.#kept.delete(id)
    }
  }
}

function note(notes: readonly string[]): string {
  return `[${notes.join('; ')}. A handle is read by the tool ${READ_RESULT} within 10 minutes.]`
}

function textOf(block: JsonValue): string | undefined {
  return isPlainObject(block) && block.type === 'text' && typeof block.text === 'string' ? block.text : undefined
}

function sizeOf(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** A piece has one character at least, however small the limit is. */
function afterCharacter(text: string, offset: number): number {
  return offset + (isHighSurrogate(text.charCodeAt(offset)) ? 2 : 1)
}
