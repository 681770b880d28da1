import { readSettings, type SettingsState } from '../config/shape/settings.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import type { NotCarried } from '../features/imports.ts'
import { type RecordKind, type RecordKinds, sectionsOf } from '../registry/record-kinds.ts'
import { extrasOfEntry } from './extras/read-extras.ts'
import { besideRecords, kindOfSection, readHubRecords } from './import-hub-records.ts'
import type { ImportContent, ImportItem } from './import-items.ts'
import type { ImportAdditions } from './import-sources.ts'

/** Sections that are not carried, and what to do instead; plugins add others. */
const LEFT: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  prompts: ['prompts of the hub', 'Offer them by an MCP server.'],
  resources: ['resources of the hub', 'Offer them by an MCP server.'],
  records: ['records of plugins', 'POST below /api/plugins/{plugin} makes them.'],
  plugins: ['plugins', 'Name them in this hub’s settings file.'],
  logging: ['settings of logs', 'Set them in this hub’s settings file.'],
  logRotation: ['settings of logs', 'Set them in this hub’s settings file.'],
  healthCheck: ['the usual health check', 'It is set in each server that it was for.'],
}
const CARRIED = new Set(['mcpServers', 'servers', 'users', 'groups', 'bearerKeys', 'systemConfig', 'userConfigs'])
const MODELSCOPE = 'modelscope'
const LABEL_CHARACTERS = 100
const SEPARATOR_CHARACTERS = 16

/** True when a document is the settings file of a hub: it names users, groups or access keys beside its servers. */
export function isHubDocument(document: JsonValue): document is JsonObject {
  if (!isJsonObject(document)) return false
  const has = (name: string) => document[name] !== null && typeof document[name] === 'object'
  return has('users') || has('bearerKeys') || has('groups') || (has('mcpServers') && has('systemConfig'))
}

/** Number of users, servers, groups and keys that a hub's document names, counted before any of them is read. */
export function namedIn(document: JsonObject): number {
  const { users, mcpServers, servers, groups, bearerKeys } = document
  return [users, mcpServers ?? servers, groups, bearerKeys].reduce<number>(
    (sum, section) => sum + (typeof section === 'object' && section !== null ? Object.keys(section).length : 0),
    0,
  )
}

/** Reads everything in the settings file of a hub. Throws DuplicateEntry. */
export function readHubDocument(document: JsonObject, kinds: RecordKinds, additions: ImportAdditions): ImportContent {
  const state = readSettings(document, { ...additions, sections: sectionsOf(kinds.all()) })
  const firstAdmin = state.file.users.find(({ role }) => role === 'admin')?.name
  const ownerOf = (owner: string | undefined) => {
    const named = owner ?? firstAdmin
    return named === undefined ? {} : { owner: named }
  }
  const groups = groupNames(document.groups)
  const keys = readKeys(document, groups)
  const records = readHubRecords(state, kinds.all(), ownerOf, groups)
  const items: ImportItem[] = [
    ...state.file.users.map((user, at): ImportItem => ({ kind: 'user', pointer: `#/users/${at}`, ...user })),
    ...readServers(state, ownerOf),
    ...readGroups(document, state, ownerOf),
    ...keys.items,
    ...readSecrets(document),
    ...records.items,
    ...readExtras(state, ownerOf),
  ]
  return {
    ...{ source: 'hub', items, warnings: [...state.warnings, ...records.warnings] },
    notCarried: [...keys.notCarried, ...records.notCarried, ...leftBehind(document, kinds.all(), additions)],
  }
}

type OwnerOf = (owner: string | undefined) => { readonly owner?: string }

function pointerOf(path: readonly (string | number)[]): string {
  return ['#', ...path.map(part => pointerToken(String(part)))].join('/')
}

function readServers({ file, places }: SettingsState, ownerOf: OwnerOf): ImportItem[] {
  return file.servers.map(({ owner, name, body }, at) => {
    // The other hub also had servers private to a group of users; here they are private to their owner.
    const visibility = body.visibility === 'group' ? { visibility: 'private' } : {}
    const pointer = pointerOf(places.servers[at] ?? [])
    return { kind: 'server', pointer, name, ...ownerOf(owner), body: { ...body, ...visibility }, references: 'plain' }
  })
}

/** Shares and settings of plugins: after all that they may name. */
function readExtras({ file, places }: SettingsState, ownerOf: OwnerOf): ImportItem[] {
  const entry = (of: 'server' | 'group', at: number) => ({ of, pointer: pointerOf(places[`${of}s`][at] ?? []) })
  const users = file.users.map((user, at) => ({ ...user, of: 'user' as const, pointer: `#/users/${at}` }))
  const servers = file.servers.map((one, at) => ({ ...one, ...entry('server', at), ...ownerOf(one.owner) }))
  const groups = file.groups.map((one, at) => ({ ...one, ...entry('group', at), ...ownerOf(one.owner) }))
  return [
    ...[...users, ...servers].flatMap(one => extrasOfEntry(one, one)),
    ...groups.flatMap(one => extrasOfEntry(one, { ...one, name: String(one.body.name ?? '') })),
  ]
}

function readGroups(document: JsonObject, { file, places }: SettingsState, ownerOf: OwnerOf): ImportItem[] {
  return file.groups.map(({ owner, body }, at) => {
    const path = places.groups[at] ?? []
    const [section, key] = path
    const entries = section === undefined ? undefined : document[section]
    const entry = Array.isArray(entries)
      ? entries[Number(key)]
      : isJsonObject(entries)
        ? entries[String(key)]
        : undefined
    const id = isJsonObject(entry) && typeof entry.id === 'string' && entry.id !== '' ? [entry.id] : []
    const name = typeof body.name === 'string' ? body.name : String(key)
    // The other hub always put the server's name before a tool's.
    const written = { naming: 'prefixed', ...body }
    const former = { formerPaths: id, formerSeparator: separatorOf(document) }
    return { kind: 'group', pointer: pointerOf(path), name, ...ownerOf(owner), body: written, ...former }
  })
}

/** Separator between a server's name and that of its tool, unless the hub was set to another one. */
function separatorOf({ systemConfig }: JsonObject): string {
  const set = isJsonObject(systemConfig) ? systemConfig.nameSeparator : undefined
  return typeof set === 'string' && set !== '' && set.length <= SEPARATOR_CHARACTERS ? set : '-'
}

function readKeys(
  document: JsonObject,
  groups: ReadonlyMap<string, string>,
): { readonly items: ImportItem[]; readonly notCarried: NotCarried[] } {
  const listed = Array.isArray(document.bearerKeys) ? document.bearerKeys : []
  const read = listed.map((key, at) => readKey(key, at, groups))
  const routing = isJsonObject(document.systemConfig) ? document.systemConfig.routing : undefined
  const shared = isJsonObject(routing) ? routing.bearerAuthKey : undefined
  return {
    items: [
      ...read.filter(item => 'kind' in item),
      ...(typeof shared === 'string' && shared !== '' ? [sharedKey(shared)] : []),
    ],
    notCarried: read.filter(item => 'what' in item),
  }
}

function sharedKey(secret: string): ImportItem {
  const pointer = '#/systemConfig/routing/bearerAuthKey'
  return { kind: 'key', pointer, name: 'bearerAuthKey', secret, scopes: ['mcp'] }
}

function readKey(key: JsonValue, at: number, groups: ReadonlyMap<string, string>): ImportItem | NotCarried {
  const pointer = `#/bearerKeys/${at}`
  if (!isJsonObject(key) || typeof key.token !== 'string') {
    return { pointer, what: 'an access key without its text', instead: 'Make a new one.' }
  }
  if (key.enabled === false) {
    return { pointer, what: 'an access key that was disabled', instead: 'Make a new one where it is needed.' }
  }
  const label = typeof key.name === 'string' ? key.name.trim().slice(0, LABEL_CHARACTERS) : ''
  const name = label === '' ? `key ${at + 1}` : label
  // A key of the system has no owner: the importing administrator gets it.
  const owner = typeof key.owner === 'string' && key.kind !== 'system' ? { owner: key.owner } : {}
  return { kind: 'key', pointer, name, ...owner, secret: key.token, scopes: scopesOf(key, groups) }
}

/** Names of groups by id and by name: keys name them by either. */
function groupNames(section: JsonValue | undefined): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const group of Array.isArray(section) ? section : []) {
    if (!isJsonObject(group) || typeof group.name !== 'string') continue
    names.set(group.name, group.name)
    if (typeof group.id === 'string') names.set(group.id, group.name)
  }
  return names
}

/** Never returns `api`: those keys opened only MCP. */
function scopesOf(key: JsonObject, groups: ReadonlyMap<string, string>): JsonValue[] {
  const texts = (value: JsonValue | undefined) =>
    Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
  if (key.accessType === undefined || key.accessType === 'all') return ['mcp']
  const named = texts(key.allowedGroups).map(group => ({ group: groups.get(group) ?? group }))
  const servers = texts(key.allowedServers).map(server => ({ server: server.replace('::', '~') }))
  if (key.accessType === 'groups') return named
  return key.accessType === 'servers' ? servers : [...named, ...servers]
}

/** The keys of hosted platforms that users have set. */
function readSecrets({ userConfigs }: JsonObject): ImportItem[] {
  if (!isJsonObject(userConfigs)) return []
  return Object.entries(userConfigs).flatMap(([owner, config]): ImportItem[] => {
    const section = isJsonObject(config) ? config[MODELSCOPE] : undefined
    const value = isJsonObject(section) ? section.apiKey : undefined
    if (typeof value !== 'string' || value === '') return []
    return [
      {
        kind: 'secret',
        pointer: pointerOf(['userConfigs', owner, MODELSCOPE, 'apiKey']),
        name: MODELSCOPE,
        owner,
        value,
      },
    ]
  })
}

function leftBehind(
  document: JsonObject,
  kinds: readonly RecordKind[],
  { leftBehind: ofPlugins }: ImportAdditions,
): NotCarried[] {
  const left = (name: string): readonly [what: string, instead: string] | undefined => {
    const theirs = Object.hasOwn(ofPlugins, name) ? ofPlugins[name] : undefined
    if (theirs) return [theirs.what, theirs.instead]
    return Object.hasOwn(LEFT, name) ? LEFT[name] : undefined
  }
  const ofRecords = (name: string): readonly [what: string, instead: string] | undefined => {
    const fromHub = kindOfSection(kinds, name)?.fromHub
    return fromHub && [fromHub.what, fromHub.instead]
  }
  const sections = Object.entries(document).flatMap(([name, value]): NotCarried[] => {
    const rest = besideRecords(kinds, name, value)
    if (CARRIED.has(name) || name === '$schema' || name === 'version' || isEmpty(rest)) return []
    const [what, instead] = left(name) ??
      ofRecords(name) ?? [`"${name.slice(0, 64)}"`, 'Nothing here is known by this name.']
    return [{ pointer: pointerOf([name]), what, instead }]
  })
  const config = isJsonObject(document.systemConfig) ? document.systemConfig : {}
  const settings = Object.entries(config).flatMap(([name, value]): NotCarried[] => {
    if (name === 'nameSeparator' || isEmpty(uncarried(kinds, name, value))) return []
    const [what, instead] = OF_THE_HUB[name] ??
      (carries(kinds, name) ? ofRecords(name) : undefined) ?? [
        `the setting "${name.slice(0, 64)}"`,
        'Settings of this hub: GET /api/admin/settings, or its settings file.',
      ]
    return [{ pointer: pointerOf(['systemConfig', name]), what, instead }]
  })
  return [...sections, ...settings, ...leftOfUsers(document)]
}

/** Settings of a hub that are configured elsewhere here. */
const OF_THE_HUB: Readonly<Record<string, readonly [what: string, instead: string]>> = {
  [MODELSCOPE]: [
    'the hub’s own key of ModelScope, for those who have none',
    'Name it in the settings file as "keys": {"modelscope": …} of the plugin hosted-keys, or let each user set one.',
  ],
}

/** True when an import carries the records of a section. */
function carries(kinds: readonly RecordKind[], name: string): boolean {
  return kindOfSection(kinds, name)?.fromHub?.carry !== undefined
}

/** Returns the part of a hub's setting that no other part of the import carries. */
function uncarried(kinds: readonly RecordKind[], name: string, value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value
  if (carries(kinds, name)) return besideRecords(kinds, name, value)
  if (name !== 'routing') return value
  const { bearerAuthKey: _, ...rest } = value
  return rest
}

/** Settings of users, but for the keys of hosted platforms. */
function leftOfUsers({ userConfigs }: JsonObject): NotCarried[] {
  return Object.entries(isJsonObject(userConfigs) ? userConfigs : {}).flatMap(([owner, config]) =>
    Object.entries(isJsonObject(config) ? config : {}).flatMap(([name, value]): NotCarried[] => {
      if (name === MODELSCOPE || isEmpty(value)) return []
      const pointer = pointerOf(['userConfigs', owner, name])
      const what = `the setting "${name.slice(0, 64)}" of the user "${owner.slice(0, 64)}"`
      return [{ pointer, what, instead: 'Users have settings of their own: PATCH /api/settings.' }]
    }),
  )
}

function isEmpty(value: JsonValue): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}
