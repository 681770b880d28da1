import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../contract/json.ts'
import { isHighSurrogate, pieceEnd } from '../../domain/cut-text.ts'
import { type JsonText, weightOfText } from '../../domain/json/long-text.ts'
import { isPlainObject, parseExact } from '../rpc/rpc.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import type { Sealer } from './pages.ts'
import { type Reader, ResultStore } from './result-store.ts'
import { cutPrompt, cutResource, cutTool, noteOf, ResultTruncator } from './result-truncator.ts'

const PURPOSE = 'mcp-result'

/** The methods whose results are truncated, and the function for each. */
const CUTS: Readonly<Record<string, (result: JsonObject, cut: ResultTruncator) => JsonObject | undefined>> = {
  'tools/call': cutTool,
  'prompts/get': cutPrompt,
  'resources/read': cutResource,
}

/**
 * Truncates results that exceed their group's limit. The caller gets the beginning and a sealed handle, and reads the
 * rest with it: only the same caller and path, for ten minutes, as long as there is room.
 */
export class ResultBudget {
  readonly #sealer: Sealer
  readonly #kept: ResultStore

  constructor(sealer: Sealer, now: () => number) {
    this.#sealer = sealer
    this.#kept = new ResultStore(now)
  }

  /** The JSON text of a method's result, truncated to this many bytes without the notes about the truncation. */
  truncate(method: string, resultText: JsonText, maxBytes: number, reader: Reader, target?: ExchangeTarget): JsonText {
    const cutResult = CUTS[method]
    if (!cutResult || isWithin(resultText, maxBytes)) return resultText
    const result = parseExact(String(resultText))
    // A request for input, or a result of another shape, could not be read in pieces.
    const whole = isPlainObject(result) && (result.resultType === undefined || result.resultType === 'complete')
    if (!whole) return resultText
    const id = randomUUID()
    const cut = new ResultTruncator(maxBytes, index => this.#seal(id, index, 0))
    const shown = cutResult(result, cut)
    if (shown === undefined || shown === result) return resultText
    if (cut.parts.length > 0) this.#kept.keep(reader, cut.parts, id, target && { method, target })
    return JSON.stringify(shown)
  }

  /** The JSON text of the next piece, as a tool result. */
  read(handle: unknown, maxBytes: number, reader: Reader): string {
    const place = this.#place(handle, reader)
    if (!place) {
      const text = 'There is no result to read on under this handle any more. Ask for the whole again.'
      return JSON.stringify({ content: [{ type: 'text', text }], isError: true })
    }
    const { id, part, index, offset } = place
    if ('block' in part) return `{"content":[${part.block}]}`
    const piece = this.#piece(id, index, part.text, offset, maxBytes)
    return JSON.stringify({ content: [{ type: 'text', text: piece }] })
  }

  /** Bytes of truncated results that are kept for a user. */
  bytesOf(userId: string): number {
    return this.#kept.bytesOf(userId)
  }

  /** Drops expired entries. */
  sweep(): void {
    this.#kept.sweep()
  }

  #piece(id: string, index: number, text: string, offset: number, maxBytes: number): string {
    const end = Math.max(pieceEnd(text, offset, maxBytes), afterCharacter(text, offset))
    const piece = text.slice(offset, end)
    if (end >= text.length) return piece
    const bytesLeft = Buffer.byteLength(text.slice(end))
    return `${piece}\n${noteOf([`${bytesLeft} bytes follow, read on by ${this.#seal(id, index, end)}`])}`
  }

  #seal(id: string, index: number, offset: number): string {
    return this.#sealer.sealToken(PURPOSE, JSON.stringify([id, index, offset]))
  }

  #place(handle: unknown, reader: Reader) {
    const opened = typeof handle === 'string' ? this.#sealer.openToken(PURPOSE, handle.trim()) : undefined
    const place: unknown = typeof opened === 'string' ? JSON.parse(opened) : undefined
    if (!Array.isArray(place)) return undefined
    const [id, index, offset] = place as [string, number, number]
    const part = this.#kept.find(reader, id, index)
    return part && { id, part, index, offset }
  }
}

function isWithin(text: JsonText, maxBytes: number): boolean {
  return weightOfText(text) <= maxBytes && (typeof text !== 'string' || Buffer.byteLength(text) <= maxBytes)
}

/** A piece has at least one character, however small the limit is. */
function afterCharacter(text: string, offset: number): number {
  return offset + (isHighSurrogate(text.charCodeAt(offset)) ? 2 : 1)
}
