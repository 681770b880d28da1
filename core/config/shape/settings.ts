import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { Role } from '../../contract/records.ts'
import { nameKey } from '../../domain/names.ts'
import { wordIn } from '../../domain/spelling/words.ts'
import type { Path } from '../jsonc-edit.ts'
import { type FileAdditions, NO_ADDITIONS } from './additions.ts'
import { type EntryExtras, extrasOf, withoutExtras } from './extras.ts'
import { readGroupEntry } from './group.ts'
import { readHubSettings } from './hub-settings.ts'
import { readRecords } from './records.ts'
import { type FileRecords, readSection } from './sections.ts'
import { readServerEntry } from './server.ts'

/** One configured plugin. `use` is a package, a path relative to the file's folder, or a bundled plugin's name. */
export interface PluginUse {
  readonly use: string
  readonly isolate?: boolean
  readonly required?: boolean
  readonly enabled?: boolean
  readonly config?: JsonValue
  readonly limits?: Readonly<Record<string, number>>
}

/**
 * Users, servers and groups of the file. The registry's FileState has the same shape and is not imported, because configuration
 * is a layer below the registry.
 */
export interface FileEntries {
  readonly users: readonly (Pick<EntryExtras, 'attached'> & {
    readonly name: string
    readonly passwordHash?: string
    readonly role: Role
  })[]
  /** `owner` absent: the first user. `body` as for `POST /api/servers`. */
  readonly servers: readonly (EntryExtras & {
    readonly owner?: string
    readonly name: string
    readonly body: JsonObject
  })[]
  /** `body` as for `POST /api/groups`. */
  readonly groups: readonly (EntryExtras & { readonly owner?: string; readonly body: JsonObject })[]
}

/** The content of one settings file. */
export interface SettingsState {
  readonly file: FileEntries
  readonly systemConfig: JsonObject
  /** Owned records, by their kind. */
  readonly records: FileRecords
  /** Default health check of the file's servers. */
  readonly healthCheck: JsonObject
  readonly plugins: readonly PluginUse[]
  /** Ignored or suspicious parts, as sentences; they do not prevent the use of the file. Never contains a secret. */
  readonly warnings: readonly string[]
  /** The path of each server and group in the text, in the order of `file`. */
  readonly places: { readonly servers: readonly Path[]; readonly groups: readonly Path[] }
}

/** Two entries of one owner have the same name. */
export class DuplicateEntry extends Error {
  override readonly name = 'DuplicateEntry'
  readonly path: Path

  constructor(message: string, path: Path) {
    super(message)
    this.path = path
  }
}

const KNOWN = new Set([
  ...[
    'mcpServers',
    'servers',
    'users',
    'groups',
    'systemConfig',
    'logRotation',
    'logging',
    'healthCheck',
    'records',
    'plugins',
    'inputs',
    'version',
  ],
])
const SERVER_MAPS = ['mcpServers', 'servers'] as const

/**
 * `additions`: what features and plugins add. Throws DuplicateEntry; other problems are warnings, or entries that the registry
 * will reject.
 */
export function readSettings(document: JsonObject, additions: FileAdditions = NO_ADDITIONS): SettingsState {
  const { sections, settings, fields, attached } = additions
  const warnings: string[] = []
  const recordKeys = sections.flatMap(({ keys }) => keys)
  for (const key of Object.keys(document)) {
    if (!KNOWN.has(key) && !recordKeys.includes(key) && key !== '$schema')
      warnings.push(`${quoted(key)} is not a section that is known here; it is kept`)
  }
  if (document.healthCheck !== undefined && !isJsonObject(document.healthCheck))
    warnings.push('"healthCheck" is not an object; it is not used')
  const users = readUsers(document.users, attached, warnings)
  const servers = readServers(document, { fields, attached }, warnings)
  const groups = readGroups(document.groups, attached, warnings)
  return {
    file: { users, servers: servers.map(item => item.value), groups: groups.map(item => item.value) },
    systemConfig: readHubSettings(document, warnings, recordKeys, settings),
    records: new Map([
      ...sections.map(section => [section.kind, readSection(document, section, warnings)] as const),
      ...readRecords(document.records, warnings),
    ]),
    healthCheck: usualHealthCheck(document),
    plugins: readPlugins(document.plugins, warnings),
    warnings,
    places: { servers: servers.map(item => item.path), groups: groups.map(item => item.path) },
  }
}

interface Placed<T> {
  readonly value: T
  readonly path: Path
}

/** Splits `owner::name`; a plain key belongs to the first user. With an empty half the key stays whole, for the
 * registry to reject. */
export function splitKey(key: string): { readonly owner?: string; readonly name: string } {
  const at = key.indexOf('::')
  return at > 0 && at + 2 < key.length ? { owner: key.slice(0, at), name: key.slice(at + 2) } : { name: key }
}

/** A map's members or a list's items with their paths. `key` is absent in a list. */
function* membersOf(
  section: JsonValue | undefined,
  path: Path,
): Generator<{ key?: string; entry: JsonValue; path: Path }> {
  if (Array.isArray(section)) {
    for (const [index, entry] of section.entries()) yield { entry, path: [...path, index] }
  } else if (isJsonObject(section)) {
    for (const [key, entry] of Object.entries(section)) yield { key, entry, path: [...path, key] }
  }
}

function warnInvalidSection(section: JsonValue | undefined, name: string, warnings: string[]): void {
  if (section === undefined || (typeof section === 'object' && section !== null)) return
  warnings.push(`${quoted(name)} is neither a map nor a list; it is not used`)
}

type FileServer = FileEntries['servers'][number]
/** Names of settings of plugins. */
type Names = readonly string[]
/** Additions of plugins to entries of servers. */
type OfServers = Pick<FileAdditions, 'fields' | 'attached'>

function readServers(document: JsonObject, of: OfServers, warnings: string[]): Placed<FileServer>[] {
  const found: Placed<FileServer>[] = []
  const seen = new Set<string>()
  const usual = usualHealthCheck(document)
  for (const section of SERVER_MAPS) {
    warnInvalidSection(document[section], section, warnings)
    for (const { key, entry, path } of membersOf(document[section], [section])) {
      const where = `${section}[${quoted(key ?? String(path.at(-1)))}]`
      const value = withHealthCheck(readServer(key, entry, { where, ...of }, warnings), usual)
      rejectDuplicate(seen, 'server', value.owner, value.name, path)
      found.push({ value, path })
    }
  }
  return found
}

/** The section `healthCheck`, at the top level or in `systemConfig`: what entries without a member of it have. */
function usualHealthCheck({ healthCheck, systemConfig }: JsonObject): JsonObject {
  const inner = isJsonObject(systemConfig) ? systemConfig.healthCheck : undefined
  return { ...(isJsonObject(inner) ? inner : {}), ...(isJsonObject(healthCheck) ? healthCheck : {}) }
}

function withHealthCheck(server: FileServer, usual: JsonObject): FileServer {
  if (Object.keys(usual).length === 0) return server
  const { healthCheck = {} } = server.body
  // A value that is not an object is kept: the registry rejects it.
  if (!isJsonObject(healthCheck)) return server
  return { ...server, body: { ...server.body, healthCheck: { ...usual, ...healthCheck } } }
}

function readServer(
  key: string | undefined,
  entry: JsonValue,
  { where, fields, attached }: OfServers & { readonly where: string },
  warnings: string[],
): FileServer {
  const named = key === undefined && isJsonObject(entry) && typeof entry.name === 'string' ? entry.name : (key ?? '')
  const { owner, name } = splitKey(named)
  const mine = owner === undefined ? {} : { owner }
  if (typeof entry === 'string') return { ...mine, name, body: { name, url: entry } }
  if (!isJsonObject(entry)) {
    warnings.push(`${where} is not an object`)
    return { ...mine, name, body: { name } }
  }
  const shape = readServerEntry(name, withoutExtras(entry, attached), fields)
  warnings.push(...shape.warnings.map(warning => `${where}: ${warning}`))
  const theirs = owner ?? shape.owner
  if (owner !== undefined && shape.owner !== undefined && nameKey(owner) !== nameKey(shape.owner)) {
    warnings.push(`${where}: "owner" says otherwise than the key; the key counts`)
  }
  return {
    ...(theirs === undefined ? {} : { owner: theirs }),
    name,
    body: { name, ...shape.body },
    ...extrasOf(entry, attached),
  }
}

function readGroups(
  section: JsonValue | undefined,
  attached: Names,
  warnings: string[],
): Placed<FileEntries['groups'][number]>[] {
  warnInvalidSection(section, 'groups', warnings)
  const found: Placed<FileEntries['groups'][number]>[] = []
  const seen = new Set<string>()
  for (const { key: mapKey, entry, path } of membersOf(section, ['groups'])) {
    const given = mapKey ?? (isJsonObject(entry) && typeof entry.name === 'string' ? entry.name : undefined)
    if (given === undefined) {
      warnings.push(`groups[${String(path.at(-1))}] has no name; it is not used`)
      continue
    }
    const { owner, name } = groupNames(given, isJsonObject(entry) ? entry : {})
    if (entry === null || typeof entry !== 'object') warnings.push(`groups[${quoted(given)}] is not an object`)
    rejectDuplicate(seen, 'group', owner, name, path)
    const mine = owner === undefined ? {} : { owner }
    found.push({ value: { ...mine, body: readGroupEntry(name, entry), ...extrasOf(entry, attached) }, path })
  }
  return found
}

/** The key of a group may name its owner too; the owner of the key counts before the field's, the name after it. */
function groupNames(given: string, fields: JsonObject): { readonly owner: string | undefined; readonly name: string } {
  const key = splitKey(given)
  const written = typeof fields.owner === 'string' && fields.owner !== '' ? fields.owner : undefined
  const name = typeof fields.name === 'string' ? splitKey(fields.name).name : key.name
  return { owner: key.owner ?? written, name }
}

const PASSWORD_HASH = /^\$(?:argon2(?:id|i|d)\$|2[abxy]\$\d\d\$)/

function readUsers(section: JsonValue | undefined, names: Names, warnings: string[]): FileEntries['users'] {
  warnInvalidSection(section, 'users', warnings)
  const users: FileEntries['users'][number][] = []
  const seen = new Set<string>()
  for (const { key, entry, path } of membersOf(section, ['users'])) {
    const fields = isJsonObject(entry) ? entry : {}
    const name = key ?? fields.username ?? fields.name
    if (typeof name !== 'string' || !isJsonObject(entry)) {
      warnings.push(`users[${quoted(String(path.at(-1)))}] is not an object with "username"; it is not used`)
      continue
    }
    rejectDuplicate(seen, 'user', undefined, name, path)
    const role = typeof fields.role === 'string' ? wordIn(['admin', 'user'], fields.role) : undefined
    const admin = fields.isAdmin === true || role === 'admin'
    const { attached } = extrasOf(entry, names)
    const extras = attached === undefined ? {} : { attached }
    users.push({ name, ...readPassword(name, fields, warnings), role: admin ? 'admin' : 'user', ...extras })
  }
  return users
}

function readPassword(name: string, fields: JsonObject, warnings: string[]): { readonly passwordHash?: string } {
  const password = fields.passwordHash ?? fields.password
  if (typeof password === 'string' && PASSWORD_HASH.test(password)) return { passwordHash: password }
  if (password !== undefined) {
    warnings.push(`users[${quoted(name)}]: "password" is no argon2id or bcrypt hash; it is not used`)
  }
  return {}
}

function readPlugins(section: JsonValue | undefined, warnings: string[]): PluginUse[] {
  if (section === undefined) return []
  if (!Array.isArray(section)) {
    warnings.push('"plugins" is not a list; it is not used')
    return []
  }
  return section.flatMap((item, index) => {
    const fields = typeof item === 'string' ? { use: item } : isJsonObject(item) ? item : {}
    if (typeof fields.use !== 'string' || fields.use === '') {
      warnings.push(`plugins[${index}] has no "use"; it is not used`)
      return []
    }
    const flags = (['isolate', 'required', 'enabled'] as const).filter(flag => typeof fields[flag] === 'boolean')
    const config = fields.config === undefined ? {} : { config: fields.config }
    const limits = readLimits(fields.limits, `plugins[${index}].limits`, warnings)
    return [{ use: fields.use, ...Object.fromEntries(flags.map(flag => [flag, fields[flag]])), ...config, ...limits }]
  })
}

function readLimits(section: JsonValue | undefined, where: string, warnings: string[]): Pick<PluginUse, 'limits'> {
  if (section === undefined) return {}
  const entries = isJsonObject(section) ? Object.entries(section) : []
  const whole = entries.flatMap(([name, value]) =>
    Number.isSafeInteger(value) && Number(value) >= 0 ? [[name, Number(value)] as const] : [],
  )
  if (!isJsonObject(section) || whole.length < entries.length)
    warnings.push(`${where} holds a value that is no whole number; it is not used`)
  return { limits: Object.fromEntries(whole) }
}

function rejectDuplicate(seen: Set<string>, kind: string, owner: string | undefined, name: string, path: Path): void {
  const key = `${owner === undefined ? '' : nameKey(owner)}\u0000${nameKey(name)}`
  if (seen.has(key)) {
    const ofOwner = owner === undefined ? '' : ` of ${quoted(owner)}`
    throw new DuplicateEntry(`two ${kind}s${ofOwner} are named ${quoted(name)}, letter case and width aside`, path)
  }
  seen.add(key)
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}
