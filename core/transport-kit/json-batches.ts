import type { JsonObject } from '../contract/json.ts'

/** The JSON object that a text is; an empty one for any other text. */
export function objectOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}

/** The first items whose texts have at most this many bytes together, with `extraBytes` for each; at least one item. */
export function firstWithin<T>(
  items: readonly T[],
  maxBytes: number,
  extraBytes: number,
  textOf: (item: T) => string,
): readonly T[] {
  let bytes = 0
  const end = items.findIndex((item, index) => {
    bytes += Buffer.byteLength(textOf(item)) + extraBytes
    return bytes > maxBytes && index > 0
  })
  return end < 0 ? items : items.slice(0, end)
}
