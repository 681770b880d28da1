/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True when two JSON values are equal, whatever the order of their keys. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((one, at) => isSame(one, right[at]))
  if (!isObject(left) || !isObject(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every(key => Object.hasOwn(right, key) && isSame(left[key], right[key]))
  )
}

/** The merge patch (RFC 7396) that makes the first object the second; empty: they are the same. */
export function mergePatch(from: JsonObject, to: JsonObject): JsonObject {
  const patch: [string, unknown][] = []
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) patch.push([key, null])
  for (const [key, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, key) ? from[key] : undefined
    if (isSame(before, value)) continue
    patch.push([key, isObject(before) && isObject(value) ? mergePatch(before, value) : value])
  }
  return Object.fromEntries(patch)
}

/** An object after a merge patch. */
export function patched(target: JsonObject, patch: JsonObject): JsonObject {
  const result = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    const before = result.get(key)
    if (value === null) result.delete(key)
    else result.set(key, isObject(value) ? patched(isObject(before) ? before : {}, value) : value)
  }
  return Object.fromEntries(result)
}

/** A field that differs, with both values. */
export interface Difference {
  readonly pointer: string
  readonly before: unknown
  readonly after: unknown
}

/** Differences between two objects, by JSON pointer, at most 200. */
export function differences(
  before: JsonObject,
  after: JsonObject,
  path = '',
  found: Difference[] = [],
): readonly Difference[] {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (found.length >= 200) break
    const pointer = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const [left, right] = [before[key], after[key]]
    if (isSame(left, right)) continue
    if (isObject(left) && isObject(right)) differences(left, right, pointer, found)
    else found.push({ pointer, before: left, after: right })
  }
  return found
}
