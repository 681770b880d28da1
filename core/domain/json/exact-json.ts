import type { JsonObject, JsonValue } from '../../contract/json.ts'

interface SourceAccess {
  rawJSON(text: string): JsonValue
  isRawJSON(value: unknown): boolean
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: JsonValue, context: { readonly source?: string }) => JsonValue,
  ): JsonValue
}
// The TypeScript library does not describe these members of JSON yet; Bun and Deno have them.
const json = JSON as unknown as SourceAccess

/** Numbers of fewer digits, and of smaller exponents, are the same before and after. */
const MAY_LOSE = /[\d.]{16}|\d[eE][+-]?\d{3}/
const LARGE_EXPONENT = /[eE][+-]?\d{3}/

function keepSource(this: unknown, _key: string, value: JsonValue, context: { readonly source?: string }): JsonValue {
  const source = context.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return source.length >= 16 || LARGE_EXPONENT.test(source) ? json.rawJSON(source) : value
}

/**
 * Parses a text so that `JSON.stringify` writes its numbers as they were: beyond 2⁵³, of more digits than a double has, and
 * beyond its range. Such a number is an object (see {@link isRawNumber}); all others are numbers. Throws SyntaxError.
 */
export function parseExact(text: string): JsonValue {
  return MAY_LOSE.test(text) ? json.parse(text, keepSource) : (JSON.parse(text) as JsonValue)
}

/** May hold a number that JSON writes in another way: a zero at the end of a fraction, an exponent, `-0`, a tiny fraction. */
const MAY_CHANGE = /\.\d*0(?!\d)|\d[eE]|-0|0\.000000/

function keepAllSources(
  this: unknown,
  _key: string,
  value: JsonValue,
  context: { readonly source?: string },
): JsonValue {
  const source = context.source
  return typeof value !== 'number' || source === undefined || String(value) === source ? value : json.rawJSON(source)
}

/**
 * Parses a text so that `JSON.stringify` writes each of its numbers exactly as it was: what {@link parseExact} keeps, and also
 * `1.0`, `1e3` and `-0`, which some programs tell from `1`, `1000` and `0`. Throws SyntaxError.
 */
export function parseAsWritten(text: string): JsonValue {
  return MAY_LOSE.test(text) || MAY_CHANGE.test(text)
    ? json.parse(text, keepAllSources)
    : (JSON.parse(text) as JsonValue)
}

/** A number that is kept as its source text. */
export function isRawNumber(value: unknown): boolean {
  // Asked of nearly every object; none but these has the member, and looking for it takes a third of the time.
  return typeof value === 'object' && value !== null && 'rawJSON' in value && json.isRawJSON(value)
}

/** The nearest double of a number, kept as its source text or not; undefined for what is none. */
export function asDouble(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(JSON.stringify(value)) : undefined
}

/** True for a JSON object that is not a number kept as its source text. */
export function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}
