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

/** Numbers with fewer digits and smaller exponents survive parsing and writing. */
const MAY_LOSE = /[\d.]{16}|\d[eE][+-]?\d{3}/
const LARGE_EXPONENT = /[eE][+-]?\d{3}/

function keepSource(this: unknown, _key: string, value: JsonValue, context: { readonly source?: string }): JsonValue {
  const source = context.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return source.length >= 16 || LARGE_EXPONENT.test(source) ? json.rawJSON(source) : value
}

/**
 * Parses a text so that `JSON.stringify` writes its numbers unchanged: beyond 2⁵³, with more digits than a double has,
 * and beyond its range. Such a number becomes an object (see {@link isRawNumber}); others are plain numbers. Throws
 * SyntaxError.
 */
export function parseExact(text: string): JsonValue {
  return MAY_LOSE.test(text) ? json.parse(text, keepSource) : (JSON.parse(text) as JsonValue)
}

/** Detects numbers that JSON.stringify would write differently: trailing zeros, exponents, `-0`, tiny fractions. */
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
 * Parses a text so that `JSON.stringify` writes every number exactly as it was: like {@link parseExact}, and also
 * `1.0`, `1e3` and `-0`, which some programs distinguish from `1`, `1000` and `0`. Throws SyntaxError.
 */
export function parseAsWritten(text: string): JsonValue {
  return MAY_LOSE.test(text) || MAY_CHANGE.test(text)
    ? json.parse(text, keepAllSources)
    : (JSON.parse(text) as JsonValue)
}

/** True when a value is a number kept as its source text. */
export function isRawNumber(value: unknown): boolean {
  // Called for nearly every object; the check for the member first saves two thirds of the time.
  return typeof value === 'object' && value !== null && 'rawJSON' in value && json.isRawJSON(value)
}

/** The nearest double of a number, whether kept as source text or not; undefined for other values. */
export function asDouble(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(JSON.stringify(value)) : undefined
}

/** True for a JSON object that is not a number kept as its source text. */
export function isPlainObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}
