import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { UnreadableConfig } from './config-syntax.ts'

/** The only entry of the only table of a file. Throws UnreadableConfig. */
export function onlyEntry(document: JsonObject): [table: string, name: string, value: JsonObject] {
  const [table = '', entries] = Object.entries(document)[0] ?? []
  const [name = '', value] = isJsonObject(entries) ? (Object.entries(entries)[0] ?? []) : []
  if (!isJsonObject(value)) throw new UnreadableConfig('the hub gave no entry for a file')
  return [table, name, value]
}

/** Returns an entry of a table; undefined when there is none. Throws UnreadableConfig for a table that is no object. */
export function memberOf(document: JsonObject, table: string, name: string): JsonValue | undefined {
  const entries = document[table]
  if (entries === undefined) return undefined
  if (!isJsonObject(entries)) throw new UnreadableConfig(`"${table}" is no object`)
  return Object.hasOwn(entries, name) ? entries[name] : undefined
}
