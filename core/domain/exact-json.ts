import type { JsonObject, JsonValue } from '../contract/json.ts'

interface SourceAccess {
  rawJSON(text: string): JsonValue
  isRawJSON(value: unknown): boolean
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: JsonValue, context: { readonly source?: string }) => JsonValue,
  ): JsonValue
}
// The TypeScript library does not describe these members of JSON yet; Bun has them.
const json = JSON as unknown as SourceAccess

const LONG_DIGITS = /\d{16}/

function keepSource(this: unknown, _key: string, value: JsonValue, context: { readonly source?: string }): JsonValue {
  const source = context.source
  if (typeof value !== 'number' || source === undefined || source.length < 16 || String(value) === source) return value
  return json.rawJSON(source)
}

/** Parses a text so that `JSON.stringify` writes its numbers as they were, beyond 2⁵³ too. Throws SyntaxError. */
export function parseExact(text: string): JsonValue {
  return LONG_DIGITS.test(text) ? json.parse(text, keepSource) : (JSON.parse(text) as JsonValue)
}

/** True for a number that is kept as its source text. */
export function isExactNumber(value: unknown): boolean {
  return json.isRawJSON(value)
}

/** True for a JSON object that is not a number kept as its source text. */
export function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !json.isRawJSON(value)
}
