import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { pieceEnd } from 'patchbay/transport-kit'
import { READ_RESULT } from './read-result.ts'
import type { Part } from './result-store.ts'

/** Most omitted blocks of one result that get a handle each; the others are only counted. */
const MOST_LEFT_OUT = 16
const APP_MEDIA_TYPE = /;\s*profile\s*=\s*"?mcp-app/i

/** Truncates one result: tracks the room that is left, and collects the parts that do not fit. */
export class ResultTruncator {
  readonly parts: Part[] = []
  #left: number
  readonly #handle: (index: number) => string
  readonly #notes: string[] = []
  #more = 0
  /** The text after the cut, joined, since it is read as one text. */
  #rest: string | undefined
  #totalBytes = 0
  #shownBytes = 0

  /** `handle`: returns the handle of a part, by its index. */
  constructor(maxBytes: number, handle: (index: number) => string) {
    this.#left = maxBytes
    this.#handle = handle
  }

  /** The shown part of a text: all, its beginning, or undefined behind the cut. `title`: of the following text. */
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

  /** True when a block that cannot be truncated is shown; otherwise it is stored, or counted. */
  block(block: JsonValue): boolean {
    const bytes = sizeOf(block)
    if (bytes <= this.#left || !isJsonObject(block)) {
      this.#left -= bytes
      return true
    }
    if (this.parts.length >= MOST_LEFT_OUT) {
      this.#more += 1
      return false
    }
    const { type, resource } = block
    const inside = isJsonObject(resource) && typeof resource.text === 'string' ? resource : undefined
    this.parts.push(inside ? { text: String(inside.text) } : { block: JSON.stringify(block) })
    const what = inside ? `${type} ${String(inside.uri).slice(0, 256)}` : String(type)
    this.#notes.push(`${what} of ${bytes} bytes is left out, read it by ${this.#handle(this.parts.length - 1)}`)
    return false
  }

  /** An object cannot be truncated: it is shown whole or omitted. For most tools the text has the same content. */
  structured(value: JsonValue): boolean {
    const bytes = sizeOf(value)
    if (bytes <= this.#left) {
      this.#left -= bytes
      return true
    }
    this.#notes.push(`structured content of ${bytes} bytes is left out`)
    return false
  }

  /** The note about all omitted parts, returned once; undefined if there is none. */
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

/** The sentence in brackets that explains how to read omitted parts. */
export function noteOf(notes: readonly string[]): string {
  return `[${notes.join('; ')}. A handle is read by the tool ${READ_RESULT} within 10 minutes.]`
}

/** Truncates a tool result. Undefined when its shape is unknown. */
export function cutTool(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  const { structuredContent, content, ...rest } = result
  if (!Array.isArray(content) && structuredContent === undefined) return undefined
  const keepsStructured = structuredContent !== undefined && cut.structured(structuredContent)
  const shown = Array.isArray(content) ? content.flatMap(block => cutBlock(block, cut)) : []
  const note = cut.note()
  if (note !== undefined) shown.push({ type: 'text', text: note })
  return { ...rest, content: shown, ...(keepsStructured ? { structuredContent } : {}) }
}

/** One block of a tool's content in its shown form, or nothing. */
function cutBlock(block: JsonValue, cut: ResultTruncator): JsonValue[] {
  const text = textOf(block)
  if (text === undefined) return cut.block(block) ? [block] : []
  const piece = cut.text(text)
  return piece !== undefined && (piece !== '' || text === '') ? [{ ...(block as JsonObject), text: piece }] : []
}

/** Truncates a prompt's messages; a message has one content, so that the note is appended to the last text. */
export function cutPrompt(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  if (!Array.isArray(result.messages)) return undefined
  if (!result.messages.every(isJsonObject)) return undefined
  const shown = result.messages.flatMap(message => cutMessage(message, cut))
  const note = cut.note()
  if (note === undefined) return result
  const last = shown.at(-1)
  const lastText = last && textOf(last.content ?? null)
  if (last && lastText !== undefined)
    shown[shown.length - 1] = { ...last, content: { type: 'text', text: behind(lastText, note) } }
  else shown.push({ role: 'user', content: { type: 'text', text: note } })
  return { ...result, messages: shown }
}

/** One message of a prompt in its shown form, or nothing. */
function cutMessage(message: JsonObject, cut: ResultTruncator): JsonObject[] {
  const text = textOf(message.content ?? null)
  if (text === undefined) return cut.block(message.content ?? null) ? [message] : []
  const piece = cut.text(text)
  return piece === undefined ? [] : [{ ...message, content: { ...(message.content as JsonObject), text: piece } }]
}

/**
 * Truncates a resource's contents. Only text is truncated: a client reads binary data because it needs all of it, and a page of
 * an app is not for a model. The note is part of the text itself, so that the text is not taken for the whole.
 */
export function cutResource(result: JsonObject, cut: ResultTruncator): JsonObject | undefined {
  if (!Array.isArray(result.contents)) return undefined
  const shown: JsonValue[] = []
  let cutAt = -1
  for (const item of result.contents) {
    if (!isJsonObject(item) || typeof item.text !== 'string' || isDrawn(item)) {
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
  // The handle is this caller's and expires soon, so the truncated result must not be cached like the whole one.
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
  return isJsonObject(block) && block.type === 'text' && typeof block.text === 'string' ? block.text : undefined
}

function sizeOf(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value))
}
