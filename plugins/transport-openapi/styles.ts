import type { JsonValue } from 'patchbay/contract'
import { isObject, misplaced, scalarMembers, scalarText, scalarTexts } from './values.ts'

/** The parameter styles of OpenAPI; `form` repeats or joins values, `deepObject` writes `name[key]`. */
export type Style = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject'

/** Serialization of one value, for a parameter or a member of a form. */
export interface Written {
  /** The name for the API. */
  readonly name: string
  /** The name in the tool's schema, for messages. */
  readonly argument: string
  readonly style: Style
  readonly explode: boolean
  readonly allowReserved: boolean
}

/** Encodes everything but what RFC 3986 calls unreserved, so that a value stays one value in any place. */
export function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Keeps reserved characters, except those that would end the value or split it. */
function encodeReserved(text: string): string {
  return encode(text).replace(/%(?:3A|2F|3F|5B|5D|40|21|24|27|28|29|2A|2C|3B|3D)/g, code => decodeURIComponent(code))
}

/** One expression of a path (RFC 6570: simple, label, matrix). */
export function pathText(written: Written, value: JsonValue): string {
  const { style, argument } = written
  const name = encode(written.name)
  if (Array.isArray(value)) return pathItems(written, name, scalarTexts(value, argument).map(encode))
  if (isObject(value)) {
    const members = scalarMembers(value, argument).map(([key, text]) => [encode(key), encode(text)] as const)
    return pathMembers(written, name, members)
  }
  const text = encode(scalarText(value, argument))
  if (text === '') return ''
  if (style === 'label') return `.${text}`
  return style === 'matrix' ? `;${name}=${text}` : text
}

function pathItems({ style, explode, argument }: Written, name: string, items: readonly string[]): string {
  if (items.some(item => item === '')) throw misplaced(argument, 'holds an empty value, which has no place in a path')
  if (style === 'label') return joined('.', items, explode ? '.' : ',')
  if (style !== 'matrix') return items.join(',')
  return explode ? items.map(item => `;${name}=${item}`).join('') : joined(`;${name}=`, items, ',')
}

function pathMembers(
  { style, explode }: Written,
  name: string,
  members: readonly (readonly [key: string, text: string])[],
): string {
  const parts = explode ? members.map(([key, text]) => `${key}=${text}`) : members.flat()
  if (style === 'label') return joined('.', parts, explode ? '.' : ',')
  if (style !== 'matrix') return parts.join(',')
  return explode ? parts.map(pair => `;${pair}`).join('') : joined(`;${name}=`, parts, ',')
}

/** The pairs of one value in a query, a form or a list of cookies: names and values, encoded. */
export function pairs(written: Written, value: JsonValue): (readonly [name: string, value: string])[] {
  const { style, explode, allowReserved, argument } = written
  const encodeValue = allowReserved ? encodeReserved : encode
  const name = encode(written.name)
  if (style === 'deepObject' && isObject(value)) return deepPairs(written.name, value, argument, encodeValue)
  if (Array.isArray(value)) {
    const items = scalarTexts(value, argument).map(encodeValue)
    if (explode || style === 'deepObject') return items.map(item => [name, item] as const)
    return items.length === 0 ? [] : [[name, items.join(separatorOf(style))]]
  }
  if (isObject(value)) {
    const members = scalarMembers(value, argument)
    if (explode) return members.map(([key, text]) => [encode(key), encodeValue(text)] as const)
    const flat = members.flatMap(([key, text]) => [encode(key), encodeValue(text)])
    return flat.length === 0 ? [] : [[name, flat.join(separatorOf(style))]]
  }
  return [[name, encodeValue(scalarText(value, argument))]]
}

/** The value of a header (style simple), which is not encoded. */
export function headerText({ explode, argument }: Written, value: JsonValue): string {
  const text = Array.isArray(value)
    ? scalarTexts(value, argument).join(',')
    : isObject(value)
      ? scalarMembers(value, argument)
          .map(pair => pair.join(explode ? '=' : ','))
          .join(',')
      : scalarText(value, argument)
  return checkedHeader(text, argument)
}

/** Returns the text; throws `params_invalid` when a header cannot hold it. */
export function checkedHeader(text: string, argument: string): string {
  if (/^[\t\x20-\x7e]*$/.test(text)) return text
  throw misplaced(argument, 'goes into a header, which takes printable ASCII only')
}

function deepPairs(
  name: string,
  value: JsonValue,
  argument: string,
  encodeValue: (text: string) => string,
  depth = 0,
): (readonly [string, string])[] {
  if (depth > 8) throw misplaced(argument, 'is nested too deeply for a query')
  if (value === null) return []
  if (Array.isArray(value)) return scalarTexts(value, argument).map(item => [encode(name), encodeValue(item)] as const)
  if (!isObject(value)) return [[encode(name), encodeValue(scalarText(value, argument))]]
  return Object.entries(value).flatMap(([key, member]) =>
    deepPairs(`${name}[${key}]`, member, argument, encodeValue, depth + 1),
  )
}

function separatorOf(style: Style): string {
  if (style === 'spaceDelimited') return '%20'
  return style === 'pipeDelimited' ? '%7C' : ','
}

function joined(prefix: string, items: readonly string[], separator: string): string {
  return items.length === 0 ? '' : prefix + items.join(separator)
}
