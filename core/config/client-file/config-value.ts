import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { type Path, sameJson } from '../jsonc-edit.ts'
import { type ConfigChange, UnreadableConfig } from './config-syntax.ts'

/** The changed text, once it is certain that it means what was meant and nothing else. */
export function checked(
  before: JsonObject,
  parse: (text: string) => JsonObject,
  changes: readonly ConfigChange[],
  text: string,
): string {
  // Values are set first, then items of a list are removed from its end: so each path is still the one of the given text.
  const [removals, settings] = [changes.filter(isRemoval), changes.filter(change => !isRemoval(change))]
  const ordered = [...settings, ...removals.toSorted((one, other) => lastIndex(other) - lastIndex(one))]
  const meant = ordered.reduce<JsonValue>((value, change) => withValue(value, change.path, change.value), before)
  const after = parsed(parse, text)
  // A table that lost its last entry may be gone, and one that had no value may stay so.
  const parents = new Map(changes.map(({ path }) => [path.slice(0, -1).join('\0'), path.slice(0, -1)]))
  const stripped = (value: JsonValue): JsonValue => [...parents.values()].reduce(withoutEmpty, value)
  if (after !== undefined && sameJson(stripped(after), stripped(meant))) return text
  const [first] = changes
  const more = changes.length > 1 ? ` and ${changes.length - 1} more` : ''
  throw new UnreadableConfig(
    `"${first?.path.join('.')}"${more} cannot be changed without changing more: change it by hand`,
  )
}

function isRemoval({ value }: ConfigChange): boolean {
  return value === undefined
}

function lastIndex({ path }: ConfigChange): number {
  const last = path.at(-1)
  return typeof last === 'number' ? last : -1
}

function parsed(parse: (text: string) => JsonObject, text: string): JsonObject | undefined {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof UnreadableConfig) return undefined
    throw error
  }
}

/** A copy with another value at a path, or without it. */
function withValue(root: JsonValue, [first, ...rest]: Path, value: JsonValue | undefined): JsonValue {
  const changed = (inner: JsonValue | undefined) =>
    rest.length === 0 ? value : withValue(container(inner, rest[0]), rest, value)
  if (Array.isArray(root)) {
    const at = Number(first)
    const next = changed(root[at])
    return next === undefined ? root.toSpliced(at, 1) : root.toSpliced(at, 1, next)
  }
  const object = isJsonObject(root) ? root : {}
  const next = changed(Object.hasOwn(object, String(first)) ? object[String(first)] : undefined)
  const others = Object.entries(object).filter(([key]) => key !== first)
  return Object.fromEntries([...others, ...(next === undefined ? [] : [[String(first), next] as const])])
}

/** Returns the value at a path; an empty list or map when there is none. */
function container(present: JsonValue | undefined, key: string | number | undefined): JsonValue {
  if (present !== undefined && !isEmpty(present)) return present
  return typeof key === 'number' ? [] : {}
}

function isEmpty(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

/** Without the value at a path where that is empty. */
function withoutEmpty(root: JsonValue, path: Path): JsonValue {
  if (path.length === 0) return root
  const found = path.reduce<JsonValue | undefined>((value, part) => {
    if (Array.isArray(value)) return value[Number(part)]
    return isJsonObject(value) && Object.hasOwn(value, part) ? value[part] : undefined
  }, root)
  return found !== undefined && isEmpty(found) ? withValue(root, path, undefined) : root
}
