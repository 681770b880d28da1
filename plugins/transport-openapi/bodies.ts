import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { multipart, type Part } from './multipart.ts'
import type { References } from './references.ts'
import { isBinary } from './schema-keywords.ts'
import { pairs, type Style } from './styles.ts'
import { bytesOf, isObject, misplaced, scalarText } from './values.ts'

type Form = 'json' | 'urlencoded' | 'multipart' | 'text' | 'bytes'

/** Serialization of one member of a form. */
interface Entry {
  readonly style: Style | undefined
  readonly explode: boolean | undefined
  readonly allowReserved: boolean
  readonly contentType: string | undefined
  readonly binary: boolean
}

/** The body of an operation, as a call needs it. */
export interface Body {
  readonly form: Form
  readonly contentType: string
  readonly required: boolean
  /** Members of a form with other than the default serialization. */
  readonly entries: ReadonlyMap<string, Entry>
}

/** The schema and description of a body, for the tool's definition. */
export interface BodyText {
  readonly schema: JsonValue | undefined
  readonly description: string | undefined
}

const PLAIN: Entry = {
  style: undefined,
  explode: undefined,
  allowReserved: false,
  contentType: undefined,
  binary: false,
}

/** The body of an operation in the media type that loses least; undefined when it has none. */
export function readBody(
  definition: JsonObject,
  {
    method,
    version,
    references,
  }: { readonly method: string; readonly version: '3.0' | '3.1'; readonly references: References },
): readonly [Body, BodyText] | undefined {
  const body = references.follow(definition.requestBody)
  if (!body || !isJsonObject(body.content) || !mayHaveBody(method, version)) return undefined
  const offered = Object.entries(body.content).map(([type, media]) => {
    const followed = references.follow(media) ?? {}
    // Nothing is known of a body whose schema is missing.
    references.proveTarget(followed.schema)
    return { type, media: followed, schema: references.follow(followed.schema), form: formOf(type) }
  })
  const uploads = offered.some(({ form, schema }) => form === 'multipart' && hasBinary(schema, references))
  const order: readonly Form[] = uploads
    ? ['multipart', 'json', 'urlencoded', 'text', 'bytes']
    : ['json', 'urlencoded', 'multipart', 'text', 'bytes']
  const chosen = order.map(form => offered.find(one => one.form === form)).find(one => one !== undefined)
  if (!chosen) return undefined
  const { type, media, schema, form } = chosen
  const text = typeof body.description === 'string' ? body.description : undefined
  return [
    {
      form,
      contentType: contentTypeOf(type, form),
      required: body.required === true,
      entries:
        form === 'urlencoded' || form === 'multipart' ? readEntries(schema, media.encoding, references) : new Map(),
    },
    { schema: bodySchema(form, media.schema), description: text },
  ]
}

/** Serializes an argument as the body. Throws `params_invalid` for a value that cannot be. */
export function writeBody(
  body: Body,
  value: JsonValue,
): { readonly contentType: string; readonly content: string | Uint8Array } {
  const { form, contentType } = body
  switch (form) {
    case 'json':
      return { contentType, content: JSON.stringify(value) }
    case 'text':
      return { contentType, content: typeof value === 'string' ? value : scalarText(value, 'body') }
    case 'bytes':
      return { contentType, content: bytesOf(value, 'body') }
    case 'urlencoded':
      return { contentType, content: urlencoded(body, membersOf(value)) }
    case 'multipart':
      return multipart(contentType, partsOf(body, membersOf(value)))
  }
}

/**
 * True when an operation may have a body. OpenAPI 3.0 ignores the body of a GET or HEAD, 3.1 permits it. HTTP forbids one in
 * TRACE.
 */
function mayHaveBody(method: string, version: '3.0' | '3.1'): boolean {
  if (method === 'trace') return false
  return version === '3.1' || (method !== 'get' && method !== 'head')
}

function formOf(type: string): Form {
  const media = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (/^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(media) || media === '*/*' || media === 'application/*')
    return 'json'
  if (media === 'application/x-www-form-urlencoded') return 'urlencoded'
  if (media.startsWith('multipart/')) return 'multipart'
  if (media.startsWith('text/') || /[/+](?:xml|yaml|x-yaml|javascript|graphql|x-ndjson|csv)$/.test(media)) return 'text'
  return 'bytes'
}

function contentTypeOf(type: string, form: Form): string {
  if (!type.includes('*') && /^[\x20-\x7e]+$/.test(type)) return type
  return form === 'json' ? 'application/json' : form === 'text' ? 'text/plain' : 'application/octet-stream'
}

function bodySchema(form: Form, schema: JsonValue | undefined): JsonValue | undefined {
  if (form === 'bytes') return { type: 'string', format: 'binary' }
  return form === 'text' ? { type: 'string' } : schema
}

function hasBinary(schema: JsonObject | undefined, references: References): boolean {
  return Object.values(propertiesOf(schema)).some(member => isBinaryMember(member, references))
}

/** A file, or a list of files. */
function isBinaryMember(member: JsonValue, references: References): boolean {
  const schema = references.follow(member)
  return isBinary(schema) || (schema !== undefined && isBinary(references.follow(schema.items)))
}

function readEntries(
  schema: JsonObject | undefined,
  encoding: JsonValue | undefined,
  references: References,
): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>()
  for (const [name, member] of Object.entries(propertiesOf(schema))) {
    if (isBinaryMember(member, references)) entries.set(name, { ...PLAIN, binary: true })
  }
  for (const [name, value] of Object.entries(isJsonObject(encoding) ? encoding : {})) {
    if (isJsonObject(value)) entries.set(name, readEntry(value, entries.get(name)?.binary ?? false))
  }
  return entries
}

function readEntry({ style, explode, allowReserved, contentType }: JsonObject, binary: boolean): Entry {
  const known = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'].find(one => one === style)
  const type = typeof contentType === 'string' ? contentType.split(',')[0]?.trim() : undefined
  return {
    style: known as Style | undefined,
    explode: typeof explode === 'boolean' ? explode : undefined,
    allowReserved: allowReserved === true,
    contentType: type !== undefined && /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(type) ? type : undefined,
    binary,
  }
}

function propertiesOf(schema: JsonObject | undefined): JsonObject {
  return isJsonObject(schema?.properties) ? schema.properties : {}
}

function membersOf(value: JsonValue): JsonObject {
  if (isObject(value)) return value
  throw misplaced('body', 'must be an object, whose members become the fields of a form')
}

function urlencoded(body: Body, members: JsonObject): string {
  const written: (readonly [string, string])[] = []
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue
    const { style, explode, allowReserved } = body.entries.get(name) ?? PLAIN
    const how = { name, argument: `body.${name}`, style: style ?? 'form', explode: explode ?? true, allowReserved }
    // Without a style an object is one value, which OpenAPI defines to be JSON.
    const whole = isObject(value) && style === undefined && explode === undefined
    const nested = Array.isArray(value) && value.some(item => typeof item === 'object' && item !== null)
    written.push(
      ...pairs(how, whole ? JSON.stringify(value) : nested ? value.map(item => JSON.stringify(item)) : value),
    )
  }
  return written.map(pair => pair.join('=')).join('&')
}

function partsOf(body: Body, members: JsonObject): readonly Part[] {
  return Object.entries(members).flatMap(([name, value]) => {
    if (value === null) return []
    const entry = body.entries.get(name) ?? PLAIN
    return (Array.isArray(value) ? value : [value]).map(item => part(name, item, entry))
  })
}

function part(name: string, value: JsonValue, { binary, contentType }: Entry): Part {
  if (binary) {
    const content = bytesOf(value, `body.${name}`)
    return { name, content, contentType: contentType ?? 'application/octet-stream', filename: name }
  }
  if (isObject(value) || Array.isArray(value)) {
    return { name, content: JSON.stringify(value), contentType: contentType ?? 'application/json' }
  }
  const content = value === null ? '' : scalarText(value, `body.${name}`)
  return { name, content, ...(contentType === undefined ? {} : { contentType }) }
}
