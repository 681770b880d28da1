import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { HubSetting } from '../../features/services/hub-settings.ts'
import type { KnownSettings } from '../known-settings.ts'

/**
 * The settings of the hub: `systemConfig`, which counts before the sections `logRotation` and `logging`. `recordKeys`: sections with
 * records, which may be in it too.
 */
export function readHubSettings(
  document: JsonObject,
  warnings: string[],
  recordKeys: readonly string[],
  settings: KnownSettings,
): JsonObject {
  const members = new Map([...DATABASE, ...membersOf('logging.database', settings)])
  const { systemConfig = {} } = document
  const inner = isJsonObject(systemConfig) ? systemConfig : {}
  if (inner !== systemConfig) warnings.push('"systemConfig" is not an object; it is not used')
  return {
    ...(isJsonObject(inner.logRotation) ? rotationSettings(inner.logRotation, warnings) : {}),
    ...databaseSettings(inner.logging, members, warnings),
    ...rotationSettings(document.logRotation, warnings),
    ...databaseSettings(document.logging, members, warnings),
    ...settingsIn(inner, recordKeys),
  }
}

/** Sections that may also be in `systemConfig`, without being settings of the hub. */
const ELSEWHERE = ['logRotation', 'logging', 'healthCheck']

/** Leaves sections out: `logRotation` is a setting as a text, and a section as an object. */
function settingsIn(systemConfig: JsonObject, recordKeys: readonly string[]): JsonObject {
  const elsewhere = new Set([...ELSEWHERE, ...recordKeys])
  const isSection = (key: string, value: JsonValue) => elsewhere.has(key) && typeof value === 'object' && value !== null
  return Object.fromEntries(Object.entries(systemConfig).filter(([key, value]) => !isSection(key, value)))
}

/** Members of the section `logRotation`, with the keys of `systemConfig` that mean the same. */
const ROTATION = new Map([
  ['interval', 'logRotation'],
  ['maxSize', 'logMaxSizeBytes'],
  ['maxFiles', 'logMaxFiles'],
  ['compress', 'logCompress'],
])
/** Members of `logging.database` of the hub itself, with their settings. */
const DATABASE = new Map([
  ['enabled', 'logDatabase'],
  ['retention', 'logRetentionMs'],
  ['table', 'logTable'],
  ['indexes', 'logIndexes'],
])

/** Members of a section that set plugin settings, with the keys of these settings. */
export function membersOf(
  section: NonNullable<HubSetting['member']>['section'],
  { ofPlugins }: KnownSettings,
): readonly (readonly [name: string, key: string])[] {
  return Object.entries(ofPlugins).flatMap(([key, { member }]) =>
    member?.section === section ? [[member.name, key] as const] : [],
  )
}

function rotationSettings(section: JsonValue | undefined, warnings: string[]): JsonObject {
  if (section === undefined) return {}
  if (!isJsonObject(section)) {
    warnings.push('"logRotation" is not an object; it is not used')
    return {}
  }
  const { enabled, ...rest } = section
  const settings = renamed(rest, 'logRotation', ROTATION, warnings)
  return enabled === false ? { ...settings, logRotation: 'none' } : settings
}

function databaseSettings(
  section: JsonValue | undefined,
  members: ReadonlyMap<string, string>,
  warnings: string[],
): JsonObject {
  if (section === undefined) return {}
  const { database = {}, ...rest } = isJsonObject(section) ? section : { section }
  for (const name of Object.keys(rest))
    warnings.push(`${JSON.stringify(name)} is not known in "logging"; it is not used`)
  if (isJsonObject(database)) return renamed(database, 'logging.database', members, warnings)
  warnings.push('"logging.database" is not an object; it is not used')
  return {}
}

/** The members of a section under the keys that the settings of the hub have. */
function renamed(section: JsonObject, name: string, keys: ReadonlyMap<string, string>, warnings: string[]): JsonObject {
  const settings: JsonObject = {}
  for (const [member, value] of Object.entries(section)) {
    const key = keys.get(member)
    if (key === undefined) warnings.push(`${JSON.stringify(member)} is not known in "${name}"; it is kept and not used`)
    else settings[key] = value
  }
  return settings
}
