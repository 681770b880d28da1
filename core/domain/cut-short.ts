import type { JsonObject } from '../contract/json.ts'

/**
 * Truncates foreign text for a message to `most` UTF-16 code units, with `…` where it was cut. The mark lets redaction recognize
 * the beginning of a cut secret.
 */
export function cutShort(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** Longest text in an error, in UTF-16 code units: a name or a key in a request may have megabytes. */
export const LONGEST_ERROR_TEXT = 16_384

/** The data of an error, with its own texts cut to {@link LONGEST_ERROR_TEXT}; nested values are returned as they are. */
export function cutTexts(data: JsonObject): JsonObject {
  const entries = Object.entries(data)
  if (!entries.some(([, value]) => typeof value === 'string' && value.length > LONGEST_ERROR_TEXT)) return data
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? cutShort(value, LONGEST_ERROR_TEXT) : value]),
  )
}
