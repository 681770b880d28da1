import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { nameKey } from '../domain/names.ts'
import { type FileBase, keepDocument, keepMasked, unresolveEntry } from './file-base.ts'
import { mergeAt, type Path, renameKey, sameJson, setAt } from './jsonc-edit.ts'
import type { SettingsText } from './settings-text.ts'
import { readGroupEntry, writeMembers, writeSelector } from './shape/group.ts'
import { ALIASES, countsSeconds, MOST_SECONDS, readServerEntry, standsFor } from './shape/server.ts'
import { splitKey } from './shape/settings.ts'

/** The API's defaults: not written to an entry that does not have the field. */
const DEFAULTS: Readonly<Record<string, JsonValue>> = {
  visibility: 'private',
  enabled: true,
  timeout: 60_000,
  maxTimeout: 600_000,
  maxResultBytes: 10_485_760,
  start: 'eager',
  isolate: false,
  healthCheck: { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 },
  logging: { callErrors: true },
  naming: 'auto',
}

/** Response fields of the API that are not part of an entry. */
const NOT_WRITTEN = new Set([
  ...['name', 'owner', 'members', 'id', 'ref', 'origin', 'revision', 'createdAt', 'updatedAt', 'status', 'problem'],
])

/**
 * Changes one server's entry to `body`; null removes it. Only differing fields are touched; the rest keeps its
 * spelling. A new server is added; `body.name` renames.
 */
export function editServer(
  settings: SettingsText,
  base: FileBase,
  owner: string | undefined,
  name: string,
  body: JsonObject | null,
): string {
  const { text, document, state } = settings
  const index = state.file.servers.findIndex(server => sameOwner(server.owner, owner) && sameName(server.name, name))
  const path = state.places.servers[index]
  if (body === null) return path ? setAt(text, path, undefined) : text
  const known = state.file.servers[index]?.name ?? name
  const newName = typeof body.name === 'string' ? body.name : known
  if (!path) return addServer(text, document, base, owner, newName, body)
  const present = valueAtPath(document, path)
  const { name: _, ...shape } = (isJsonObject(present) && state.file.servers[index]?.body) || {}
  const wanted = unresolveEntry(keepDocument(keepMasked(body, shape), shape), shape, base)
  const entry = mergeEntry(isJsonObject(present) ? present : {}, shape, wanted)
  keepMeaning(entry, shape, wanted)
  const edited = mergeAt(text, path, present, entry)
  return newName === known ? edited : rename(edited, path, isJsonObject(present) ? present : {}, newName)
}

function addServer(
  text: string,
  document: JsonObject,
  base: FileBase,
  owner: string | undefined,
  name: string,
  body: JsonObject,
): string {
  const entry = mergeEntry({}, {}, unresolveEntry(keepMasked(body, {}), {}, base))
  const section = document.mcpServers === undefined && isJsonObject(document.servers) ? 'servers' : 'mcpServers'
  const list = document[section]
  const key = owner === undefined ? name : `${owner}::${name}`
  if (Array.isArray(list)) return setAt(text, [section, list.length], { name: key, ...entry })
  return setAt(text, [section, key], entry)
}

/** The same for one group; a new one is added to the existing list or map. */
export function editGroup(
  settings: SettingsText,
  owner: string | undefined,
  name: string,
  body: JsonObject | null,
): string {
  const { text, document } = settings
  const { path, known = name } = findGroup(settings, { owner, name })
  if (body === null) return path ? setAt(text, path, undefined) : text
  const newName = typeof body.name === 'string' ? body.name : name
  if (!path) return addGroup(text, document.groups, owner, newName, body)
  const present = valueAtPath(document, path)
  const old: JsonObject = isJsonObject(present) ? present : { servers: Array.isArray(present) ? present : [] }
  const entry = mergeGroup(old, readGroupEntry(name, present ?? null), body)
  const onlyMembers = Array.isArray(present) && Object.keys(entry).length === 1
  const edited = mergeAt(text, path, present, onlyMembers ? (entry.servers ?? []) : entry)
  return newName === known ? edited : rename(edited, path, old, newName)
}

/** Place of a group in the file, and its name as the file writes it; empty if it is not there. */
function findGroup({ state }: SettingsText, { owner, name }: EntryName): { path?: Path; known?: string } {
  for (const [index, group] of state.file.groups.entries()) {
    const { name: known } = group.body
    const path = state.places.groups[index]
    const same = typeof known === 'string' && sameName(known, name) && sameOwner(group.owner, owner)
    if (same && path) return { path, known }
  }
  return {}
}

/** Returns the entry of a group with the differences of `body` applied; its members stay under the key that the file uses. */
function mergeGroup(old: JsonObject, shape: JsonObject, { members, ...rest }: JsonObject): Record<string, JsonValue> {
  const entry = mergeEntry(old, shape, rest)
  if (entry.selector !== undefined && entry.selector !== old.selector) entry.selector = writeSelector(entry.selector)
  if (members !== undefined && !sameJson(writeMembers(members), writeMembers(shape.members))) {
    entry[old.members === undefined ? 'servers' : 'members'] = writeMembers(members)
  }
  return entry
}

/** An entry by its owner, if the file names one, and its name. */
export interface EntryName {
  readonly owner: string | undefined
  readonly name: string
}

/** Renames one member of a group. Returns the text unchanged when the file does not have it. */
export function renameMember(settings: SettingsText, group: EntryName, member: EntryName, newName: string): string {
  const { document } = settings
  const { path } = findGroup(settings, group)
  const present = path && valueAtPath(document, path)
  if (!path || present === undefined) return settings.text
  const text = renameSelected(settings, path, member, newName)
  const listPath = Array.isArray(present)
    ? path
    : [...path, isJsonObject(present) && present.members ? 'members' : 'servers']
  const list = valueAtPath(document, listPath)
  if (!Array.isArray(list)) return text
  return list.reduce<string>((edited, item, at) => {
    const key = isJsonObject(item) ? [item.server === undefined ? 'name' : 'server'] : []
    const ref = isJsonObject(item) ? (item.server ?? item.name) : item
    const renamed = typeof ref === 'string' ? renamedRef(ref, member, newName) : undefined
    return renamed === undefined ? edited : setAt(edited, [...listPath, at, ...key], renamed)
  }, text)
}

function renameSelected({ text, document }: SettingsText, path: Path, member: EntryName, newName: string): string {
  const membersPath = [...path, 'selector', 'members']
  const members = valueAtPath(document, membersPath)
  return Object.entries(isJsonObject(members) ? members : {}).reduce<string>((edited, [value, ref]) => {
    const renamed = typeof ref === 'string' ? renamedRef(ref, member, newName) : undefined
    return renamed === undefined ? edited : setAt(edited, [...membersPath, value], renamed)
  }, text)
}

/** `name`, `owner::name` or `owner~name` with the new name, if it refers to this member. */
function renamedRef(ref: string, member: EntryName, newName: string): string | undefined {
  const [, owner, divider = '', name = ''] = /^(?:(.*?)(::|~))?(.*)$/s.exec(ref) ?? []
  if (!sameName(name, member.name) || (owner !== undefined && !sameOwner(owner, member.owner))) return undefined
  return `${owner ?? ''}${divider}${newName}`
}

function addGroup(
  text: string,
  section: JsonValue | undefined,
  owner: string | undefined,
  name: string,
  body: JsonObject,
): string {
  const { members, ...rest } = body
  const entry: Record<string, JsonValue> = { ...mergeEntry({}, {}, rest), servers: writeMembers(members) }
  if (entry.selector !== undefined) entry.selector = writeSelector(entry.selector)
  const mine = owner === undefined ? {} : { owner }
  if (isJsonObject(section)) return setAt(text, ['groups', name], { ...mine, ...entry })
  const added = { name, ...mine, ...entry }
  return Array.isArray(section) ? setAt(text, ['groups', section.length], added) : setAt(text, ['groups'], [added])
}

/** Applies the changes from `shape` to `wanted` to `present`, the entry as written in the file. */
function mergeEntry(present: JsonObject, shape: JsonObject, wanted: JsonObject): Record<string, JsonValue> {
  const entry = new Map(Object.entries(present))
  for (const key of new Set([...Object.keys(shape), ...Object.keys(wanted)])) {
    if (NOT_WRITTEN.has(key) || !differs(key, shape, wanted)) continue
    for (const alias of ALIASES[key] ?? []) if (standsFor(alias, key, present)) entry.delete(alias)
    setOrDelete(entry, key, ownMember(wanted, key))
  }
  // An alias may set several fields: all of them are written separately when it is removed.
  const removed = Object.keys(present).filter(name => !entry.has(name))
  for (const [key, aliases] of Object.entries(ALIASES)) {
    const value = ownMember(wanted, key)
    const wasSaid = aliases.some(alias => removed.includes(alias) && standsFor(alias, key, present))
    if (wasSaid && value !== undefined) entry.set(key, value)
  }
  return Object.fromEntries(entry)
}

/**
 * Adjusts a new entry so that it is read as intended: some fields of other programs have two meanings (`httpUrl` is also the
 * transport), and some are in seconds.
 */
function keepMeaning(entry: Record<string, JsonValue>, shape: JsonObject, wanted: JsonObject): void {
  const { transport, timeout } = wanted
  const { body } = readServerEntry('', entry)
  if (transport !== undefined && shape.transport === transport && body.transport !== transport) {
    entry.transport = transport
  }
  const isOtherUnit = entry.timeout === timeout && body.timeout !== timeout && countsSeconds(entry)
  if (isOtherUnit && typeof timeout === 'number' && timeout <= MOST_SECONDS * 1_000) entry.timeout = timeout / 1_000
}

function differs(key: string, shape: JsonObject, wanted: JsonObject): boolean {
  const value = ownMember(wanted, key)
  const before = filled(key, ownMember(shape, key))
  return !sameJson(before, value) && (before !== undefined || !isDefaultValue(key, value, wanted))
}

/** Completes a partial object with the defaults of its other members. */
function filled(key: string, value: JsonValue | undefined): JsonValue | undefined {
  const rest = DEFAULTS[key]
  return isJsonObject(value) && isJsonObject(rest) ? { ...rest, ...value } : value
}

function setOrDelete(entry: Map<string, JsonValue>, key: string, value: JsonValue | undefined): void {
  if (value === undefined) entry.delete(key)
  else entry.set(key, value)
}

function ownMember(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

function isDefaultValue(key: string, value: JsonValue | undefined, wanted: JsonObject): boolean {
  if (value === undefined || value === null) return true
  // Writing an inferred transport would disable the fallback from streamable HTTP to SSE.
  if (key === 'transport') return value === (wanted.url === undefined ? 'stdio' : 'streamable-http')
  if (typeof value === 'object' && Object.keys(value).length === 0) return true
  return sameJson(DEFAULTS[key], value)
}

function rename(text: string, path: Path, entry: JsonObject, newName: string): string {
  const keyed = (written: string) => {
    const { owner } = splitKey(written)
    return owner === undefined ? newName : `${owner}::${newName}`
  }
  const key = path.at(-1)
  const named = typeof entry.name === 'string' ? setAt(text, [...path, 'name'], keyed(entry.name)) : text
  return typeof key === 'string' ? renameKey(named, path, keyed(key)) : named
}

function valueAtPath(document: JsonObject, path: Path): JsonValue | undefined {
  let value: JsonValue | undefined = document
  for (const key of path) {
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value
}

function sameOwner(left: string | undefined, right: string | undefined): boolean {
  return left === undefined || right === undefined ? left === right : sameName(left, right)
}

function sameName(left: string, right: string): boolean {
  return nameKey(left) === nameKey(right)
}
