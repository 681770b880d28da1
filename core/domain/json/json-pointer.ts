import { isJsonObject, type JsonValue } from '../../contract/json.ts'

/** Escapes one member name for a JSON Pointer (RFC 6901). */
export function pointerToken(name: string | number): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The member names of a pointer such as `/env/API_KEY`; undefined for a text that is no pointer to a member. */
export function pointerPath(pointer: string): string[] | undefined {
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The value that a pointer names, or undefined. Own members and array elements only. */
export function valueAt(root: JsonValue, pointer: string): JsonValue | undefined {
  const path = pointerPath(pointer)
  if (!path) return undefined
  let value: JsonValue | undefined = root
  for (const name of path) {
    if (Array.isArray(value)) value = /^(?:0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined
    else if (isJsonObject(value)) value = Object.hasOwn(value, name) ? value[name] : undefined
    else return undefined
  }
  return value
}

type Replace = (text: string, pointer: string) => string

const NOTHING: ReadonlySet<string> = new Set()

/**
 * A copy in which every string is what `replace` makes of it. Pointers begin with `/`; the root string has `''`. What stands
 * at a pointer of `left` is not copied and stays as it is.
 */
export function mapStrings<T extends JsonValue>(root: T, replace: Replace, pointer = '', left = NOTHING): T {
  return walk(root, replace, pointer, left) as T
}

function walk(value: JsonValue, replace: Replace, pointer: string, left: ReadonlySet<string>): JsonValue {
  if (left.has(pointer)) return value
  if (typeof value === 'string') return replace(value, pointer)
  if (Array.isArray(value)) return value.map((item, index) => walk(item, replace, `${pointer}/${index}`, left))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, walk(item, replace, `${pointer}/${pointerToken(name)}`, left)]),
  )
}
