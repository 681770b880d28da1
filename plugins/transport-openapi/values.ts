import { HubError, isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'

/** The error for an argument that does not fit its place in the request; nothing was sent. */
export function misplaced(argument: string, why: string): HubError {
  const shown = JSON.stringify(argument.slice(0, 64))
  return new HubError('params_invalid', `The argument ${shown} ${why}; nothing was sent`)
}

/** The error for arguments that violate the tool's schema; nothing was sent. */
export function wrongArguments(
  tool: string,
  faults: readonly { readonly at: string; readonly why: string }[],
): HubError {
  const list = faults.map(({ at, why }) => `${JSON.stringify(at.slice(0, 200))} ${why}`).join('; ')
  return new HubError(
    'params_invalid',
    `Wrong arguments for the tool ${JSON.stringify(tool)}, nothing was sent: ${list}`,
  )
}

/** The source text of a number, so that digits beyond 2⁵³ are sent as they were written. */
function exactNumber(value: JsonValue): string | undefined {
  // The TypeScript library does not describe this member of JSON yet.
  const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean }
  return isRawJSON(value) ? JSON.stringify(value) : undefined
}

/** The nearest double of a number, kept as its source or not; infinite beyond the range, otherwise undefined. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'object' || value === null) return undefined
  const exact = exactNumber(value)
  return exact === undefined ? undefined : Number(exact)
}

/** True for an object that is neither an array nor a number kept as its source. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && exactNumber(value) === undefined
}

/** A text, number or boolean as text. Throws for an object or array. */
export function scalarText(value: JsonValue, argument: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const exact = exactNumber(value)
  if (exact !== undefined) return exact
  throw misplaced(argument, 'holds a list or an object where only a single value has a place')
}

/** The elements of a list that are not null, as texts. */
export function scalarTexts(values: readonly JsonValue[], argument: string): string[] {
  return values.filter(value => value !== null).map(value => scalarText(value, argument))
}

/** The members of an object that are not null, as pairs of texts. */
export function scalarMembers(value: JsonObject, argument: string): (readonly [name: string, text: string])[] {
  return Object.entries(value)
    .filter(([, member]) => member !== null)
    .map(([name, member]) => [name, scalarText(member, argument)] as const)
}

/** Bytes from base64, in either alphabet, or from a `data:` URL. Throws for anything else. */
export function bytesOf(value: JsonValue, argument: string): Uint8Array {
  if (typeof value !== 'string') throw misplaced(argument, 'must be a string with bytes in base64')
  const text = value.replace(/^data:[^,]*;base64,/, '').replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text) || text.replace(/=+$/, '').length % 4 === 1) {
    throw misplaced(argument, 'must be bytes in base64')
  }
  return Buffer.from(text.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
}
