import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'
import { annotations, COMMON, flag, mend, object, oneOf, size, text } from '../lists/keep.ts'
import type { TakenCall } from './call-table.ts'

/** A result: its JSON, and the same parsed. */
export interface ReadResult {
  readonly text: string
  readonly value: JsonObject
}

/** Normalizes a value; returns the same reference when nothing was to change. */
type Normalize = (result: JsonObject, uri: () => string) => JsonObject

/** Members of a tool's result that say nothing to a model. */
const NOT_SAID: ReadonlySet<string> = new Set([
  ...['_meta', 'isError', 'content', 'structuredContent', 'resultType', 'ttlMs', 'cacheScope'],
])
const METHOD = '"method":"'
const CACHING = { cacheScope: oneOf('public', 'private'), ttlMs: size }
const RESULT = { _meta: object, resultType: text, ...CACHING }

const NORMALIZERS: Readonly<Record<string, Normalize>> = {
  'tools/call': toolResult,
  'tasks/result': toolResult,
  'tasks/get': taskResult,
  'prompts/get': promptResult,
  'resources/read': resourceResult,
  'completion/complete': completionResult,
}

/**
 * Returns the parts of a call that are needed to normalize its result. `text` is the request as the hub wrote it. A
 * `tools/call`, which nearly every request is, is not parsed.
 */
export function formOf(text: string): Pick<TakenCall, 'method' | 'uri'> {
  const at = text.indexOf(METHOD) + METHOD.length
  const method = text.slice(at, text.indexOf('"', at))
  if (method !== 'resources/read') return Object.hasOwn(NORMALIZERS, method) ? { method } : {}
  const { params } = JSON.parse(text) as { params?: JsonObject }
  return { method, uri: typeof params?.uri === 'string' ? params.uri : '' }
}

/**
 * A result in a form that every client can read, since most clients reject a result as a whole when one member is invalid.
 * Optional members that are invalid are removed; numbers, objects and null in place of a text are written as text; content
 * that is missing or not a list is written as a list. Undefined: the result is valid as it is. `text` is its JSON, of which
 * numbers stay as written, `value` the parsed text, `uri` the address that was read.
 */
export function normalizedResult(
  method: string,
  json: string,
  value: JsonObject,
  uri: () => string,
): ReadResult | undefined {
  const normalize = NORMALIZERS[method]
  if (!normalize || normalize(value, uri) === value) return undefined
  const normalized = normalize(parseExact(json) as JsonObject, uri)
  return { text: JSON.stringify(normalized), value: normalized }
}

/** A tool's result that the server wrote as a text or as a list of its content; undefined for all that says nothing. */
export function bareResult(method: string | undefined, value: JsonValue): ReadResult | undefined {
  const isSaid = typeof value === 'string' || (Array.isArray(value) && value.length > 0)
  if (method !== 'tools/call' || !isSaid) return undefined
  const result = { content: [...blocksOf(value)] }
  return { text: JSON.stringify(result), value: result }
}

function toolResult(result: JsonObject): JsonObject {
  const { content, isError, structuredContent } = result
  // A created task has no content.
  if (content === undefined && isPlainObject(result.task)) return result
  let kept = result
  if (!Array.isArray(content) || !content.every(isPlainText)) {
    const blocks = content === undefined || content === null ? said(result) : blocksOf(content)
    if (blocks !== content) kept = { ...kept, content: blocks as JsonValue[] }
  }
  if (structuredContent === null) kept = without(kept, 'structuredContent')
  if (isError !== undefined && typeof isError !== 'boolean') kept = withBoolean(kept, isError)
  return mend(kept, RESULT).item
}

/** A task that is over holds the result of its tool. */
function taskResult(task: JsonObject): JsonObject {
  const { result } = task
  if (!isPlainObject(result)) return task
  const normalized = toolResult(result)
  return normalized === result ? task : { ...task, result: normalized }
}

/** "true" and 1 are what some languages write for a boolean. */
function withBoolean(result: JsonObject, isError: JsonValue): JsonObject {
  const isMeant = isError === 1 || (typeof isError === 'string' && /^true$/i.test(isError))
  return isMeant ? { ...result, isError: true } : without(result, 'isError')
}

/** Nearly every block is one, so that this check is all that most results cost. */
function isPlainText(block: JsonValue): boolean {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) return false
  const { type, text: said, annotations: notes, _meta } = block
  return type === 'text' && typeof said === 'string' && notes === undefined && _meta === undefined
}

/** The content of a result that has none: its structured content, else its other members. */
function said(result: JsonObject): readonly JsonValue[] {
  const { structuredContent } = result
  if (structuredContent !== undefined && structuredContent !== null) return [textBlock(asText(structuredContent))]
  const others = Object.entries(result).filter(([name, value]) => !NOT_SAID.has(name) && value !== null)
  if (others.length === 0) return []
  const [[, only] = []] = others
  return [textBlock(others.length === 1 && typeof only === 'string' ? only : asText(Object.fromEntries(others)))]
}

/** The blocks that a value in place of the content means; the same reference where it is valid. */
function blocksOf(content: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(content)) return block(content)
  const blocks = content.flatMap(block)
  return blocks.length === content.length && blocks.every((each, at) => each === content[at]) ? content : blocks
}

function block(value: JsonValue): readonly JsonValue[] {
  if (value === null) return []
  if (Array.isArray(value)) return value.flatMap(block)
  if (!isPlainObject(value)) return [textBlock(asText(value))]
  switch (kindOf(value)) {
    case 'text':
      return [ofType(mend(withText(value, 'text'), { annotations, _meta: object }).item, 'text')]
    case 'image':
      return [media(value, 'image')]
    case 'audio':
      return [media(value, 'audio')]
    case 'resource': {
      const resource = contents(value.resource ?? null, () => '')
      const fitting = resource === value.resource ? value : { ...value, resource: resource as JsonValue }
      return [ofType(mend(fitting, { annotations, _meta: object }).item, 'resource')]
    }
    case 'resource_link':
      return [link(value)]
    default:
      return [textBlock(asText(value))]
  }
}

/** The type of a block, by its members where it names none that MCP knows; undefined: it is none of them. */
function kindOf(value: JsonObject): string | undefined {
  const { type, data, resource, uri } = value
  const hasData = typeof data === 'string'
  switch (type) {
    case 'text':
      return type
    case 'image':
    case 'audio':
      return hasData ? type : undefined
    case 'resource':
      return isPlainObject(resource) ? type : undefined
    case 'resource_link':
      return typeof uri === 'string' ? type : undefined
  }
  if (typeof value.text === 'string') return 'text'
  if (type !== undefined && type !== null) return undefined
  if (hasData && typeof value.mimeType === 'string') return value.mimeType.startsWith('audio/') ? 'audio' : 'image'
  return isPlainObject(resource) ? 'resource' : undefined
}

function media(value: JsonObject, type: 'image' | 'audio'): JsonObject {
  const { data, mimeType } = value
  const kept = ofType(mend(value, { annotations, _meta: object }).item, type)
  const url = typeof data === 'string' ? /^data:([\w.+-]+\/[\w.+-]+)[^,]{0,100};base64,/.exec(data.slice(0, 256)) : null
  if (url) return { ...kept, data: String(data).slice(url[0].length), mimeType: url[1] ?? '' }
  return typeof mimeType === 'string' ? kept : { ...kept, mimeType: mimeTypeOf(String(data), type) }
}

const HEADS: readonly (readonly [string, string])[] = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lG', 'image/gif'],
  ['SUQz', 'audio/mpeg'],
  ['T2dn', 'audio/ogg'],
]

/** By the first bytes of the base64; RIFF holds WebP and WAVE. */
function mimeTypeOf(data: string, type: 'image' | 'audio'): string {
  if (data.startsWith('UklGR')) return type === 'image' ? 'image/webp' : 'audio/wav'
  const [, found = undefined] = HEADS.find(([head, mime]) => mime.startsWith(type) && data.startsWith(head)) ?? []
  return found ?? (type === 'image' ? 'image/png' : 'audio/wav')
}

function link(value: JsonObject): JsonObject {
  const { item } = mend(value, { ...COMMON, mimeType: text, size, annotations })
  return typeof item.name === 'string'
    ? item
    : { ...item, name: typeof item.title === 'string' ? item.title : item.uri! }
}

/** The contents of a resource; `uri`: its address where the contents name none. */
function contents(value: JsonValue, uri: () => string): JsonObject {
  if (!isPlainObject(value)) return { uri: uri(), text: asText(value) }
  const named = typeof value.uri === 'string' ? value : { ...value, uri: uri() }
  const hasBytes = typeof named.blob === 'string'
  const isOnlyBytes = hasBytes && (named.text === undefined || named.text === null)
  const whole = isOnlyBytes ? (named.text === null ? without(named, 'text') : named) : withText(named, 'text')
  return mend(whole, { mimeType: text, blob: text, _meta: object, annotations }).item
}

function resourceResult(result: JsonObject, uri: () => string): JsonObject {
  const { contents: given } = result
  const list = given === undefined || given === null ? bareContents(result) : given
  let kept = list as JsonValue[]
  if (Array.isArray(list)) {
    const each = list.filter(one => one !== null).map(one => contents(one, uri))
    if (each.length !== list.length || each.some((one, at) => one !== list[at])) kept = each
  } else kept = [contents(list, uri)]
  return mend(kept === given ? result : { ...result, contents: kept }, RESULT).item
}

/** A resource in place of the list of contents. */
function bareContents(result: JsonObject): JsonValue {
  const { text: said, blob, mimeType } = result
  if (typeof said !== 'string' && typeof blob !== 'string') return []
  return Object.fromEntries(
    Object.entries({ text: said, blob, mimeType }).filter(([, value]) => value !== undefined),
  ) as JsonObject
}

function promptResult(result: JsonObject): JsonObject {
  const { messages: given } = result
  const list = given === undefined || given === null ? [] : Array.isArray(given) ? given : [given]
  const each = list.flatMap(message)
  const isSame = given === list && each.length === list.length && each.every((one, at) => one === list[at])
  return mend(isSame ? result : { ...result, messages: each }, { ...RESULT, description: text }).item
}

/** A message with several blocks is several messages, since a prompt's message has one. */
function message(value: JsonValue): readonly JsonObject[] {
  if (value === null) return []
  if (!isPlainObject(value)) return [{ role: 'user', content: textBlock(asText(value)) }]
  const { role: given, content } = value
  const role = given === 'assistant' ? given : 'user'
  const blocks = content === undefined || content === null ? [textBlock('')] : blocksOf(content)
  const [first] = blocks
  if (blocks.length === 1 && first === content && role === given) return [value]
  return blocks.map(one => ({ ...value, role, content: one }))
}

function completionResult(result: JsonObject): JsonObject {
  const { completion: given } = result
  const bare = Array.isArray(given) ? { values: given } : isPlainObject(given) ? given : { values: [] }
  const values = Array.isArray(bare.values) ? bare.values : []
  const texts = values.every(one => typeof one === 'string') ? values : values.filter(one => one !== null).map(asText)
  const whole = texts === bare.values ? bare : { ...bare, values: texts }
  const completion = mend(whole, { total: size, hasMore: flag }).item
  return mend(completion === given ? result : { ...result, completion }, RESULT).item
}

function withText(value: JsonObject, name: string): JsonObject {
  const given = value[name]
  return typeof given === 'string' ? value : { ...value, [name]: asText(given ?? null) }
}

function ofType(value: JsonObject, type: string): JsonObject {
  return value.type === type ? value : { ...value, type }
}

function asText(value: JsonValue): string {
  if (typeof value === 'string') return value
  return value === null ? '' : JSON.stringify(value)
}

function textBlock(said: string): JsonObject {
  return { type: 'text', text: said }
}

function without(value: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = value
  return rest
}
