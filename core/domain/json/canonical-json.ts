import { isJsonObject, type JsonValue } from '../../contract/json.ts'

/** One text for equal values, whatever the order of their members. */
export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map(name => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`).join(',')}}`
}
