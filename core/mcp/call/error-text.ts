import { isJsonObject, type JsonValue } from '../../contract/json.ts'
import { cutShort } from '../../domain/cut-short.ts'
import { type JsonText, partsOf } from '../../domain/json/long-text.ts'

/**
 * Characters of a result that are read for its text, and of an error that are kept for a record. More than a record shows: the
 * record is cut after its secrets are redacted.
 */
const READ = 8 * 1024
const FIRST_TEXT = /"text"\s*:\s*"((?:[^"\\]|\\.)*)/

/** The text of a result with `isError`: its text blocks, else its structured content, else the result as it is. */
export function errorTextOfResult(text: JsonText): string {
  const isShort = typeof text === 'string' && text.length <= READ
  const words = isShort ? textsOf(text) : firstTextOf(headOf(text))
  return cutShort(words, READ)
}

/** The message of an error, cut as the text of a result is. */
export function errorText(message: string): string {
  return cutShort(message, READ)
}

function textsOf(text: string): string {
  const result = parsed(text)
  if (!isJsonObject(result)) return text
  const { content, structuredContent } = result
  const blocks = Array.isArray(content) ? content : []
  const texts = blocks.flatMap(block => (isJsonObject(block) && typeof block.text === 'string' ? [block.text] : []))
  if (texts.length > 0) return texts.join('\n')
  return structuredContent === undefined ? text : JSON.stringify(structuredContent)
}

/** A long result is not parsed as a whole. */
function firstTextOf(head: string): string {
  const [, written] = FIRST_TEXT.exec(head) ?? []
  const decoded = written === undefined ? undefined : parsed(`"${written}"`)
  return typeof decoded === 'string' ? decoded : head
}

function headOf(text: JsonText): string {
  if (typeof text === 'string') return text.slice(0, READ)
  const [first] = partsOf(text)
  return first ? Buffer.from(first.buffer, first.byteOffset, Math.min(first.byteLength, READ)).toString() : ''
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}
