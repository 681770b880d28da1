import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'
import { MOST_ENTRIES } from '../import-text.ts'
import type { EntryFields } from '../shape/entry-fields.ts'
import { leftWithClient, readEntry } from '../shape/right-form.ts'
import { describedServer, serverDescription } from '../shape/server-json-entry.ts'
import { splitKey } from '../shape/settings.ts'
import { type Container, containersIn, looksLikeEntry } from './containers.ts'
import { type ImportedEntry, namedAs, nameOfBody, refused, shownName, unreadable } from './entry.ts'

/** Limit of all command lines in one document together. */
const LINES_CHARACTERS = 1024 * 1024
/** Members that name an entry of a list, in the order in which they count. */
const NAMES = ['name', 'server_label', 'serverName', 'server_name', 'id', 'key', 'title', 'label']

/** Reads an address or a command line in the place of an entry. */
export type LineReader = (line: string) => ImportedEntry

/** The way in which entries of a document are read. */
export interface Reading {
  readonly fields: EntryFields
  /** Reads an entry that is a text. Default: such an entry is invalid. */
  readonly line?: LineReader
}

const NO_LINES: LineReader = () => unreadable('The entry is not an object')

/** The servers of a JSON value. Throws validation_failed where it names none, or more than 500. */
export function fromValue(value: JsonValue, pointer: string, reading: Reading): ImportedEntry[] {
  if (Array.isArray(value)) return fromContainers([{ map: value, pointer }], reading)
  if (!isJsonObject(value)) throw refused('The document is neither an object nor a list')
  if (serverDescription(value)) return [fromEntry(undefined, value, pointer, reading)]
  if (isOpenapi(value)) return [fromOpenapi(value)]
  if (looksLikeEntry(value)) return [fromEntry(undefined, value, pointer, reading)]
  const containers = containersIn(value)
  if (containers) return fromContainers(containers, reading)
  if (Object.values(value).some(looksLikeEntry)) return fromContainers([{ map: value, pointer }], reading)
  throw refused(`The document names no server${membersOf(value)}`)
}

function membersOf(value: JsonObject): string {
  const names = Object.keys(value).map(key => JSON.stringify(shownName(key).slice(0, 32)))
  if (names.length === 0) return ''
  return `; it has ${names.slice(0, 5).join(', ')}${names.length > 5 ? ' and more' : ''}, and no "mcpServers"`
}

/** A description of an HTTP API, whose `servers` are no servers of MCP. */
function isOpenapi({ openapi, swagger, paths, info }: JsonObject): boolean {
  const isVersion = [openapi, swagger].some(version => /^[23](?:\.\d+)*$/.test(String(version ?? '')))
  return isVersion && (isJsonObject(paths) || isJsonObject(info))
}

function fromOpenapi(schema: JsonObject): ImportedEntry {
  const title = isJsonObject(schema.info) && typeof schema.info.title === 'string' ? schema.info.title : 'api'
  const as = namedAs(title)
  return { ...as, body: { name: as.name, openapi: { schema } } }
}

function fromContainers(containers: readonly Container[], reading: Reading): ImportedEntry[] {
  refuseTooMany(containers.flatMap(({ map }) => Object.values(map)))
  return containers.flatMap(({ map, pointer, isList }) =>
    Object.entries(map).map(([key, entry]) =>
      fromEntry(Array.isArray(map) || isList ? undefined : key, entry, `${pointer}/${pointerToken(key)}`, reading),
    ),
  )
}

function refuseTooMany(entries: readonly JsonValue[]): void {
  if (entries.length > MOST_ENTRIES) {
    throw refused(`The document names ${entries.length} servers; at most ${MOST_ENTRIES} are taken over at a time`)
  }
  const characters = entries.reduce<number>((sum, entry) => sum + (typeof entry === 'string' ? entry.length : 0), 0)
  if (characters > LINES_CHARACTERS) throw refused(`The command lines have more than ${LINES_CHARACTERS} characters`)
}

/** An "owner" in another hub's file is a user of that hub: the imported servers belong to the importing user. */
function fromEntry(key: string | undefined, entry: JsonValue, pointer: string, reading: Reading): ImportedEntry {
  if (typeof entry === 'string') return fromLineEntry(key, (reading.line ?? NO_LINES)(entry))
  const description = serverDescription(entry)
  if (description) return fromDescription(description, description === entry ? pointer : `${pointer}/server`)
  if (isJsonObject(entry)) return fromObject(key, entry, pointer, reading)
  const { owner, name: given } = splitKey(key ?? 'server')
  const as = namedAs(given)
  const body = { name: as.name, ...(owner === undefined ? {} : { owner }) }
  return { ...as, body, problem: { message: `The entry "${as.name}" is not an object`, pointer } }
}

function fromObject(key: string | undefined, entry: JsonObject, pointer: string, { fields }: Reading): ImportedEntry {
  const naming = key === undefined ? namingMember(entry) : undefined
  const { owner, name: given } = splitKey(
    key ?? (naming === undefined ? nameOfEntry(entry, fields) : String(entry[naming])),
  )
  const { name, ...written } = namedAs(given)
  const read = readEntry(name, naming === undefined ? entry : withoutMember(entry, naming), pointer, fields)
  const place = { pointer, written: { ...read.written, ...placeOfName(key, naming) } }
  const renamed = written.writtenName === undefined ? [] : [renamedTo(name, written.writtenName)]
  const warnings = [...renamed, ...read.warnings, ...leftWithClient(entry)]
  const from = typeof entry.owner === 'string' ? { from: entry.owner } : {}
  const body = { ...(owner === undefined ? {} : { owner }), ...read.body, name }
  return { name, ...written, body, ...from, ...(warnings.length === 0 ? {} : { warnings }), place }
}

function namingMember(entry: JsonObject): string | undefined {
  const keys = Object.keys(entry)
  const written = NAMES.map(name => (Object.hasOwn(entry, name) ? name : keys.find(key => key.toLowerCase() === name)))
  return written.find(key => key !== undefined && typeof entry[key] === 'string' && entry[key] !== '')
}

/** The member with the name of an entry: that of a list, or the key of the entry. */
function placeOfName(key: string | undefined, naming: string | undefined): { readonly name?: string } {
  if (key !== undefined) return { name: '' }
  return naming === undefined ? {} : { name: naming }
}

function withoutMember(entry: JsonObject, member: string): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => key !== member))
}

/** An address or a command line in the place of an entry. */
function fromLineEntry(key: string | undefined, read: ImportedEntry): ImportedEntry {
  if (key === undefined) return read
  const as = namedAs(key)
  return { ...read, ...as, body: { ...read.body, name: as.name } }
}

/** A `server.json` of the MCP Registry. */
function fromDescription(description: JsonObject, pointer: string): ImportedEntry {
  const { writtenName, problem, ...read } = describedServer(description)
  const place = { pointer, written: {} }
  const written = { writtenName: shownName(writtenName) }
  if (!problem) return { ...read, ...written, place }
  return { ...read, ...written, place, problem: { ...problem, pointer: `${pointer}${problem.pointer.slice(1)}` } }
}

function renamedTo(name: string, written: string): string {
  return `its name ${JSON.stringify(written)} cannot be one here: it becomes "${name}"`
}

function nameOfEntry(entry: JsonObject, fields: EntryFields): string {
  return nameOfBody(readEntry('', entry, '#', fields).body)
}
