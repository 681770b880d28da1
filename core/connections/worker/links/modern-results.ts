import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { type Member, members } from '../members.ts'

/** Members that only modern results have. */
const MODERN_ONLY: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope'])

/**
 * Converts a modern result for a legacy client: drops what it does not know, and returns structured content that is no
 * object as text. All else stays as written, including numbers beyond 2^53. `value` is the parsed `text`.
 */
export function legacyResult(text: string, value: JsonObject): string {
  const { structuredContent } = value
  const unstructured = structuredContent !== undefined && !isJsonObject(structuredContent)
  const all = members(text)
  const kept = all.filter(({ key }) => !MODERN_ONLY.has(key) && !(unstructured && key === 'structuredContent'))
  if (!unstructured) return kept.length === all.length ? text : joined(kept.map(member => source(text, member)))
  const structured = all.findLast(({ key }) => key === 'structuredContent')
  const asText = structured ? text.slice(structured.valueFrom, structured.to).trim() : ''
  const parts = kept.filter(({ key }) => key !== 'content').map(member => source(text, member))
  const content = all.findLast(({ key }) => key === 'content')
  return joined([contentWith(text, content, value, asText), ...parts])
}

/** Converts the description of a task: the tool's result in it, which a legacy client gets, is converted as any. */
export function legacyTask(text: string, value: JsonObject): string {
  const { result } = value
  const member = members(text).findLast(({ key }) => key === 'result')
  if (!member || !isJsonObject(result)) return text
  const own = legacyResult(text.slice(member.valueFrom, member.to).trim(), result)
  return `${text.slice(0, member.valueFrom)}${own}${text.slice(member.to)}`
}

/** The content, followed by the structured content as text unless the content includes it already. */
function contentWith(text: string, content: Member | undefined, value: JsonObject, asText: string): string {
  const blocks = Array.isArray(value.content) ? value.content : []
  const block = JSON.stringify({ type: 'text', text: asText })
  if (!content || blocks.length === 0) return `"content":[${block}]`
  const same = blocks.some(one => isJsonObject(one) && one.type === 'text' && says(one.text, value.structuredContent))
  const list = text.slice(content.valueFrom, content.to).trim()
  return same ? `"content":${list}` : `"content":${list.slice(0, -1)},${block}]`
}

function says(text: unknown, value: unknown): boolean {
  if (typeof text !== 'string') return false
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value)
  } catch {
    return false
  }
}

function source(text: string, { from, to }: Member): string {
  return text.slice(from, to).trim()
}

function joined(parts: readonly string[]): string {
  return `{${parts.join(',')}}`
}
