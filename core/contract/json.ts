/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
/** A JSON object with any members. */
export type JsonObject = { [key: string]: JsonValue }

/** True for an object that is no array and not null; its members are not checked. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
