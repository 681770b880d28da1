import type { JsonValue } from 'patchbay/contract'

interface SourceAccess {
  rawJSON(text: string): JsonValue
  isRawJSON(value: unknown): boolean
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: JsonValue, context: { readonly source?: string }) => JsonValue,
  ): JsonValue
}
// TypeScript does not describe these members of JSON yet.
const json = JSON as unknown as SourceAccess
/** Numbers that would be written otherwise than they were read. */
const MAY_CHANGE = /[\d.]{16}|\.\d*0(?!\d)|\d[eE]|-0|0\.000000/

/** Parses a text so that its numbers are written again as they were. */
export function parseWritten(text: string): JsonValue {
  if (!MAY_CHANGE.test(text)) return JSON.parse(text) as JsonValue
  return json.parse(text, (_, value, { source }) =>
    typeof value !== 'number' || source === undefined || String(value) === source ? value : json.rawJSON(source),
  )
}

/** True for a number that is kept as it was written. */
export function isRawNumber(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'rawJSON' in value && json.isRawJSON(value)
}
