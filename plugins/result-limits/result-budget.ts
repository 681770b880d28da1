import { randomUUID } from 'node:crypto'
import type { JsonObject } from 'patchbay/contract'
import type { ResultSource } from 'patchbay/features'
import { isHighSurrogate, pieceEnd } from 'patchbay/transport-kit'
import { type KeptLimits, type Reader, ResultStore } from './result-store.ts'
import { cutPrompt, cutResource, cutTool, noteOf, ResultTruncator } from './result-truncator.ts'

/** The function that truncates a result, by its method. */
const CUTS: Readonly<
  Record<ResultSource['method'], (result: JsonObject, cut: ResultTruncator) => JsonObject | undefined>
> = {
  'tools/call': cutTool,
  'prompts/get': cutPrompt,
  'resources/read': cutResource,
}

/**
 * Truncates results that exceed their group's limit. The caller gets the beginning and a handle with which to read the omitted
 * part: only the same caller at the same path can, for ten minutes, while there is room.
 */
export class ResultBudget {
  readonly #kept: ResultStore

  constructor(limits: KeptLimits, now: () => number) {
    this.#kept = new ResultStore(limits, now)
  }

  /** The result truncated to this many bytes without the notes about the truncation; undefined if it cannot be. */
  truncate(result: JsonObject, source: ResultSource, maxBytes: number, reader: Reader): JsonObject | undefined {
    const id = randomUUID()
    const cut = new ResultTruncator(maxBytes, index => writeHandle({ id, index, offset: 0 }))
    const shown = CUTS[source.method](result, cut)
    if (shown === undefined || shown === result) return undefined
    if (cut.parts.length > 0) this.#kept.keep(id, reader, cut.parts, source)
    return shown
  }

  /** The JSON text of the next piece, as a tool result. */
  read(handle: unknown, maxBytes: number, reader: Reader): string {
    const place = typeof handle === 'string' ? readHandle(handle.trim()) : undefined
    const part = place && this.#kept.find(reader, place.id, place.index)
    if (!place || !part) {
      const text = 'There is no result to read on under this handle any more. Ask for the whole again.'
      return JSON.stringify({ content: [{ type: 'text', text }], isError: true })
    }
    if ('block' in part) return `{"content":[${part.block}]}`
    return JSON.stringify({ content: [{ type: 'text', text: pieceOf(part.text, place, maxBytes) }] })
  }

  /** Bytes of truncated results that are kept for a user. */
  bytesOf(userId: string): number {
    return this.#kept.bytesOf(userId)
  }

  /** Drops expired entries; true when none is left. */
  sweep(): boolean {
    this.#kept.sweep()
    return this.#kept.isEmpty
  }
}

/** A place in a kept result. */
interface Place {
  readonly id: string
  readonly index: number
  readonly offset: number
}

/** One word, which a model copies without a mistake. It is not a secret: only the caller of the original call can use it. */
function writeHandle({ id, index, offset }: Place): string {
  return Buffer.from(JSON.stringify([id, index, offset])).toString('base64url')
}

/** Undefined for a text that is not exactly a handle. */
function readHandle(handle: string): Place | undefined {
  const text = Buffer.from(handle, 'base64url').toString()
  const [, id = '', index, offset] = /^\["([\da-f-]{36})",(\d{1,9}),(\d{1,9})\]$/.exec(text) ?? []
  const place = { id, index: Number(index), offset: Number(offset) }
  return writeHandle(place) === handle ? place : undefined
}

function pieceOf(text: string, { id, index, offset }: Place, maxBytes: number): string {
  const end = Math.max(pieceEnd(text, offset, maxBytes), afterCharacter(text, offset))
  const piece = text.slice(offset, end)
  if (end >= text.length) return piece
  const bytesLeft = Buffer.byteLength(text.slice(end))
  return `${piece}\n${noteOf([`${bytesLeft} bytes follow, read on by ${writeHandle({ id, index, offset: end })}`])}`
}

/** A piece has at least one character, however small the limit is. */
function afterCharacter(text: string, offset: number): number {
  return offset + (isHighSurrogate(text.charCodeAt(offset)) ? 2 : 1)
}
