import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** Members of an entry that are no part of the body of its server, group or user. */
export interface EntryExtras {
  /** As for `PUT /api/servers/{ref}/shares`. */
  readonly shares?: JsonValue
  /** Settings of plugins, by name. */
  readonly attached?: JsonObject
}

/** The shares and plugin settings in an entry, which are not part of its body. `attached`: names of the plugin settings. */
export function extrasOf(entry: JsonValue, attached: readonly string[]): EntryExtras {
  if (!isJsonObject(entry)) return {}
  const found = attached.filter(name => entry[name] !== undefined).map(name => [name, entry[name] ?? null])
  return {
    ...(entry.shares === undefined ? {} : { shares: entry.shares }),
    ...(found.length === 0 ? {} : { attached: Object.fromEntries(found) }),
  }
}

/** The entry without the settings of plugins, which its body does not have. */
export function withoutExtras(entry: JsonObject, attached: readonly string[]): JsonObject {
  const isInside = ([name]: readonly [string, JsonValue]) => !attached.includes(name)
  return attached.some(name => entry[name] !== undefined)
    ? Object.fromEntries(Object.entries(entry).filter(isInside))
    : entry
}
