import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { pieceEnd } from '../../domain/cut-text.ts'
import { READ_RESULT } from '../rpc/read-result.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { Part } from './result-store.ts'

/** Blocks that are left out of one result each have a handle, up to so many; of the others only the number is told. */
const MOST_LEFT_OUT = 16
const APP_MEDIA_TYPE = /;\s*profile\s*=\s*"?mcp-app/i

/** One cut through one result: how much room is left, and what does not fit. */
export class ResultTruncator {
  readonly parts: Part[] = []
  #left: number
  readonly #handle: (index: number) => string
  readonly #notes: string[] = []
  #more = 0
  /** Everything behind the place of the cut is read on as one text. */
  #rest: string | undefined
  #totalBytes = 0
  #shownBytes = 0

  /** `handle`: the one of a part, by its index. */
  constructor(maxBytes: number, handle: (index: number) => string) {
    this.#left = maxBytes
    this.#handle = handle
  }

  /** What is shown of a text: all of it, its beginning, or undefined when it comes behind the cut. `title`: of what follows. */
  text(text: string, title = ''): string | undefined {
    const bytes = Buffer.byteLength(text)
    this.#totalBytes += bytes
    if (this.#rest !== undefined) {
      this.#rest += `\n${title}${text}`
      return undefined
    }
    if (bytes <= this.#left) {
      this.#left -= bytes
      this.#shownBytes += bytes
      return text
    }
    const end = pieceEnd(text, 0, this.#left)
    this.#shownBytes += Buffer.byteLength(text.slice(0, end))
    this.#rest = text.slice(end)
    this.#left = 0
    return text.slice(0, end)
  }

  /** Whether something that cannot be cut is shown; else it is kept, or noted. */
  block(block: JsonValue): boolean {
    const bytes = sizeOf(block)
    if (bytes <= this.#left || !isPlainObject(block)) {
      this.#left -= bytes
      return true
    }
    if (this.parts.length >= MOST_LEFT_OUT) {
      this.#more += 1
      return false
    }
    const { type, resource } = block
    const inside = isPlainObject(resource) && typeof resource.text === 'string' ? resource : undefined
    this.parts.push(inside ? { text: String(inside.text) } : { block })
    const what = inside ? `${type} ${String(inside.uri).slice(0, 256)}` : String(type)
    this.#notes.push(`${what} of ${bytes} bytes is left out, read it by ${this.#handle(this.parts.length - 1)}`)
    return false
  }

  /** Half of an object is none: whole where it fits, else not at all. The text says the same for most tools. */
  structured(value: JsonValue): boolean {
    const bytes = sizeOf(value)
    if (bytes <= this.#left) {
      this.#left -= bytes
      return true
    }
    this.#notes.push(`structured content of ${bytes} bytes is left out`)
    return false
  }

  /** The words about all that is missing, once; undefined when nothing is. */
  note(): string | undefined {
    if (this.#more > 0) this.#notes.push(`${this.#more} more are left out`)
    if (this.#rest !== undefined) {
      this.parts.push({ text: this.#rest })
      const handle = this.#handle(this.parts.length - 1)
      this.#notes.unshift(`cut at ${this.#shownBytes} of ${this.#totalBytes} bytes, read on by ${handle}`)
    }
    return this.#notes.length > 0 ? noteOf(this.#notes) : undefined
  }
}

export function noteOf(notes: readonly string[]): string {
  return `[${notes.join('; ')}. A handle is read by the tool ${READ_RESULT} within 10 minutes.]`
}

/** What a tool answered. Undefined when it has no shape that could be cut. */
export function cutTool(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  const { structuredContent, content, ...rest } = result
  if (!Array.isArray(content) && structuredContent === undefined) return undefined
  const keepsStructured = structuredContent !== undefined && cut.structured(structuredContent)
  const shown: JsonValue[] = []
  for (const block of Array.isArray(content) ? content : []) {
    const text = textOf(block)
    if (text === undefined) {
      if (cut.block(block)) shown.push(block)
      continue
    }
    const piece = cut.text(text)
    if (piece !== undefined && (piece !== '' || text === '')) shown.push({ ...(block as JsonObject), text: piece })
  }
  const note = cut.note()
  if (note !== undefined) shown.push({ type: 'text', text: note })
  return { ...rest, content: shown, ...(keepsStructured ? { structuredContent } : {}) }
}

/** A prompt's messages; a message has one content, so that the words about the cut stand at the end of the last text. */
export function cutPrompt(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  if (!Array.isArray(result.messages)) return undefined
  const shown: JsonObject[] = []
  for (const message of result.messages) {
    if (!isPlainObject(message)) return undefined
    const text = textOf(message.content ?? null)
    const piece = text === undefined ? undefined : cut.text(text)
    if (piece !== undefined) shown.push({ ...message, content: { ...(message.content as JsonObject), text: piece } })
    else if (text === undefined && cut.block(message.content ?? null)) shown.push(message)
  }
  const note = cut.note()
  if (note === undefined) return result
  const last = shown.at(-1)
  const said = last && textOf(last.content ?? null)
  if (last && said !== undefined)
    shown[shown.length - 1] = { ...last, content: { type: 'text', text: behind(said, note) } }
  else shown.push({ role: 'user', content: { type: 'text', text: note } })
  return { ...result, messages: shown }
}

/**
 * What a resource holds. Only text is cut: a client reads bytes because it wants those very bytes, and what it draws (an app's
 * page) is not for a model. The words about the cut stand in the text itself, so that nobody takes it for the whole.
 */
export function cutResource(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  if (!Array.isArray(result.contents)) return undefined
  const shown: JsonValue[] = []
  let cutAt = -1
  for (const item of result.contents) {
    if (!isPlainObject(item) || typeof item.text !== 'string' || isDrawn(item)) {
      shown.push(item)
      continue
    }
    const piece = cut.text(item.text, `[${String(item.uri)}]\n`)
    if (piece === undefined) continue
    if (piece !== item.text) cutAt = shown.length
    shown.push({ ...item, text: piece })
  }
  const note = cut.note()
  const last = shown[cutAt] as JsonObject | undefined
  if (note === undefined || !last) return result
  shown[cutAt] = { ...last, text: behind(String(last.text), note) }
  // The handle is this caller's, and ends soon: it must not be kept as the whole could be.
  const { ttlMs: _, cacheScope: __, ...rest } = result
  return { ...rest, contents: shown }
}

function behind(text: string, note: string): string {
  return text === '' ? note : `${text}\n${note}`
}

function isDrawn({ uri, mimeType }: JsonObject): boolean {
  return /^(?:patchbay:\/\/[^/]*\/)?ui:\/\//.test(String(uri)) || APP_MEDIA_TYPE.test(String(mimeType))
}

function textOf(block: JsonValue): string | undefined {
  return isPlainObject(block) && block.type === 'text' && typeof block.text === 'string' ? block.text : undefined
}

function sizeOf(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value))
}
