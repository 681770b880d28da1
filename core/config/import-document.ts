import { type FieldCode, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { cutShort } from '../domain/cut-short.ts'
import { guardJson } from '../domain/json/json-guard.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { mustHoldMore, scanShape } from '../domain/json/json-shape.ts'
import { nameKey } from '../domain/names.ts'
import { shellWords } from '../domain/program/shell-words.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import { visibleText } from '../domain/text/visible-text.ts'
import { validationError } from '../domain/validation-error.ts'
import { parseImportText } from './import-text.ts'
import { JsoncError, readJsonc } from './jsonc.ts'
import { fittingName, nameOfCommand, nameOfUrl } from './shape/entry-names.ts'
import { inRightForm, leftWithClient, readEntry } from './shape/right-form.ts'
import { ALIASES, readServerEntry, standsFor } from './shape/server.ts'
import { describedServer, serverDescription } from './shape/server-json-entry.ts'
import { splitKey } from './shape/settings.ts'

/** One server in a document, as the flat body of the API. */
export interface ImportedEntry {
  readonly name: string
  /** The name in the document, if it cannot be used as a server's name. */
  readonly writtenName?: string
  readonly body: JsonObject
  /** The "owner" in the document, a user of the hub that it was exported from. */
  readonly from?: string
  /** Sentences about the parts that are left out. */
  readonly warnings?: readonly string[]
  /** Position in the document, for a JSON document. */
  readonly place?: EntryPlace
  /** Reason why the entry is invalid; `pointer` points into the document. `body` then has only the readable fields. */
  readonly problem?: { readonly message: string; readonly pointer?: string; readonly code?: FieldCode }
}

interface EntryPlace {
  /** JSON Pointer of the entry, from `#` on. */
  readonly pointer: string
  /** The document's names of body fields, where they differ. '' for a name that is the entry's key. */
  readonly written: Readonly<Record<string, string>>
}

/** Converts a pointer into an entry's body to one into the document. */
export function placeInDocument({ place }: ImportedEntry, pointer: string): string {
  if (!place) return pointer
  const [, field = '', ...rest] = pointer.split('/')
  const written = Object.hasOwn(place.written, field) ? place.written[field] : field
  return [place.pointer, ...(written === '' ? [] : [written]), ...rest].join('/')
}

/** The servers found in a document, at most {@link MOST_ENTRIES}. */
export interface ImportedDocument {
  readonly entries: readonly ImportedEntry[]
}

/** Most servers in one document; each is validated and saved separately. */
export const MOST_ENTRIES = 500
/** Limit of all command lines in one document together. */
const LINES_CHARACTERS = 1024 * 1024
/** JSON with comments is limited, as its parser is slower and keeps a node for each value. */
const COMMENTED_CHARACTERS = 1024 * 1024

/** Paths of the server map in the settings of known programs. */
const MAPS: readonly (readonly string[])[] = [
  ['mcpServers'],
  ['servers'],
  ['mcp', 'servers'],
  ['mcp', 'mcpServers'],
  ['context_servers'],
  ['mcp_servers'],
  ['amp.mcpServers'],
]

/**
 * Parses pasted text: the settings of Claude Desktop, Cursor, VS Code, Windsurf and other hubs (comments and trailing
 * commas allowed), one entry of such a file, a command line, or a URL. Throws validation_failed when it is none of
 * these or names more than 500 servers, and what {@link guardJson} throws. A text of 16 MiB takes up to a second, so
 * call it in a worker.
 */
export function importDocument(text: string): ImportedDocument {
  const trimmed = text.replace(/^\ufeff/, '').trim()
  if (trimmed === '') throw refused('The document is empty')
  if (/^[{["]|^\/[/*]/.test(trimmed) && !beginsWithQuotedWord(trimmed)) return { entries: distinct(fromJson(trimmed)) }
  return { entries: [fromText(trimmed)] }
}

/** True for a command line whose first word is in quotes, such as `"C:\Program Files\x.exe" --flag`. */
function beginsWithQuotedWord(text: string): boolean {
  if (!text.startsWith('"')) return false
  if (/^"(?:[A-Za-z]:|\\\\[\w.-]+)\\(?!\\)/.test(text)) return true
  // A member of an object, or a text in a JSON string.
  return !/^"(?:[^"\\]|\\.)*"\s*(?::|$)/.test(text) && /^"[^"\n]*"(?:\s+[^\s:]|$)/.test(text)
}

/**
 * The same for a text that may be YAML, as the settings of LibreChat, Continue and LiteLLM are. Throws validation_failed for YAML
 * that cannot be read.
 */
export async function importText(text: string): Promise<ImportedDocument> {
  const looksLikeYaml = /^(?:---|[^\s:=#{["]{1,64}:(?:\s|$))/m.test(text) && !/^\s*(?:[{["]|\/[/*])/.test(text)
  if (!looksLikeYaml) return importDocument(text)
  const read = await parseImportText(text, 'yaml')
  if ('problem' in read) throw refused(`The document is no YAML: ${read.problem}`)
  try {
    return importDocument(JSON.stringify(read.value))
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'validation_failed') throw error
    // For YAML without servers, the error about the text is more helpful than that about its value.
    return importDocument(text)
  }
}

/** Longest command line: a program gets at most 128 KiB of arguments, each character of which may be escaped. */
const COMMAND_LINE_CHARACTERS = 256 * 1024

/** Parses a URL or a command line. Common paste mistakes get a specific problem text. */
function fromText(text: string): ImportedEntry {
  if (/^https?:\/\/\S+$/i.test(text)) return fromUrl(text)
  const problem = pastedByMistake(text)
  if (problem !== undefined) return { name: 'server', body: { name: 'server' }, problem: { message: problem } }
  return fromCommandLine(text)
}

function pastedByMistake(text: string): string | undefined {
  if (/^\s*[{[]/.test(text)) return 'This is JSON inside a JSON string; paste the inner JSON itself'
  // Such files have readers of their own for known programs; as a command line, the first word would be run.
  if (/^[^\s:=]{1,64}:\s/.test(text))
    return 'This looks like YAML; of such files, those of Goose are read by POST /api/import'
  if (/^[^\s:=]{1,64}[ \t]{1,8}=\s/.test(text))
    return 'This looks like TOML; of such files, those of Codex are read by POST /api/import'
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/\S*$/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === 'file') return 'This is the address of a file; paste what the file holds'
  return scheme === undefined ? undefined : `An address with ${scheme}:// cannot be imported; http and https can`
}

function refused(detail: string) {
  const hint = 'settings of an MCP client, one entry of them, a command line, or a URL'
  return validationError([{ pointer: '#', code: 'import_invalid', detail: `${detail}; wanted: ${hint}` }])
}

function fromUrl(url: string): ImportedEntry {
  if (!URL.canParse(url)) {
    return { name: 'server', body: { name: 'server', url }, problem: { message: `"${url.slice(0, 64)}" is no URL` } }
  }
  const name = nameOfUrl(new URL(url))
  return { name, body: { name, url } }
}

function fromCommandLine(line: string): ImportedEntry {
  if (line.length > COMMAND_LINE_CHARACTERS) {
    const message = `A command line has at most ${COMMAND_LINE_CHARACTERS} characters, this one ${line.length}`
    return { name: 'server', body: { name: 'server' }, problem: { message } }
  }
  const read = shellWords(line)
  if (!read.ok)
    return { name: 'server', body: { name: 'server' }, problem: { message: `The command line: ${read.problem}` } }
  const [command = '', ...args] = read.words
  const env = Object.keys(read.variables).length > 0 ? { env: { ...read.variables } } : {}
  const { body, warnings } = inRightForm({ command, args, ...env })
  const name = nameOfBody(body)
  return { name, body: { name, ...body }, ...(warnings.length === 0 ? {} : { warnings }) }
}

function fromJson(text: string): ImportedEntry[] {
  const value = parse(text)
  if (typeof value === 'string') return [fromText(value)]
  if (Array.isArray(value)) return fromMap(value, '#')
  if (!isJsonObject(value)) throw refused('The document is neither an object nor a list')
  if (serverDescription(value)) return [fromEntry(undefined, value, '#')]
  for (const path of MAPS) {
    const map = path.reduce<JsonValue | undefined>(
      (inner, key) => (isJsonObject(inner) ? inner[key] : undefined),
      value,
    )
    if (map !== undefined && (isJsonObject(map) || Array.isArray(map))) return fromMap(map, `#/${path.join('/')}`)
  }
  if (looksLikeEntry(value)) return [fromEntry(undefined, value, '#')]
  if (Object.values(value).some(looksLikeEntry)) return fromMap(value, '#')
  throw refused('The document names no server')
}

function parse(text: string): JsonValue {
  // One entry of a file is often copied without the surrounding braces.
  const whole = /^"(?:[^"\\]|\\.)*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, '')}}` : text
  const shape = scanShape(whole)
  const large = mustHoldMore(shape, SERVER_JSON.members) || whole.length > COMMENTED_CHARACTERS
  const value = large ? strict(whole) : jsonc(whole)
  try {
    const named = guardJson(value, SERVER_JSON)
    // JSON.parse keeps only the last of two equal keys.
    if (large && named !== shape.colons) throw refused('An object of the document names a key twice')
  } catch (error) {
    if (!(error instanceof HubError) || error.code === 'validation_failed') throw error
    throw error.errors ? validationError(error.errors) : refused(error.message)
  }
  return value
}

/** Parses a large text without comments: it holds OpenAPI documents, or is rejected. */
function strict(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    throw refused('A document of this size must be plain JSON, without comments or trailing commas, and this is none')
  }
}

function jsonc(text: string): JsonValue {
  try {
    return readJsonc(text).value
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    throw refused(`The document is no JSON: line ${error.line}, column ${error.column}: ${error.message}`)
  }
}

function looksLikeEntry(value: JsonValue): boolean {
  return (
    isJsonObject(value) && ['command', 'url', ...(ALIASES.url ?? []), 'openapi'].some(key => Object.hasOwn(value, key))
  )
}

function fromMap(map: JsonObject | JsonValue[], pointer: string): ImportedEntry[] {
  refuseTooMany(Object.values(map))
  if (Array.isArray(map)) return map.map((entry, index) => fromEntry(undefined, entry, `${pointer}/${index}`))
  return Object.entries(map).map(([key, entry]) => fromEntry(key, entry, `${pointer}/${pointerToken(key)}`))
}

function refuseTooMany(entries: readonly JsonValue[]): void {
  if (entries.length > MOST_ENTRIES) {
    throw refused(`The document names ${entries.length} servers; at most ${MOST_ENTRIES} are taken over at a time`)
  }
  const characters = entries.reduce<number>((sum, entry) => sum + (typeof entry === 'string' ? entry.length : 0), 0)
  if (characters > LINES_CHARACTERS) throw refused(`The command lines have more than ${LINES_CHARACTERS} characters`)
}

/** An "owner" in another hub's file is a user of that hub: the imported servers belong to the importing user. */
function fromEntry(key: string | undefined, entry: JsonValue, pointer: string): ImportedEntry {
  if (typeof entry === 'string') return fromLine(key, entry)
  const description = serverDescription(entry)
  if (description) return fromDescription(description, description === entry ? pointer : `${pointer}/server`)
  const fields = isJsonObject(entry) ? entry : {}
  const given = splitKey(key ?? (typeof fields.name === 'string' ? fields.name : nameOfEntry(fields)))
  const { owner } = given
  const name = fittingName(given.name)
  const written: Pick<ImportedEntry, 'writtenName'> = name === given.name ? {} : { writtenName: shownName(given.name) }
  const mine = owner === undefined ? {} : { owner }
  if (!isJsonObject(entry)) {
    return {
      name,
      ...written,
      body: { name, ...mine },
      problem: { message: `The entry "${name}" is not an object`, pointer },
    }
  }
  const from = typeof entry.owner === 'string' ? { from: entry.owner } : {}
  const place = { pointer, written: { ...writtenNames(entry), ...(key === undefined ? {} : { name: '' }) } }
  const { body, warnings: unread } = readEntry(name, entry)
  const renamed = written.writtenName === undefined ? [] : [renamedTo(name, written.writtenName)]
  const warnings = [...renamed, ...unread, ...leftWithClient(entry, body)]
  const left = warnings.length === 0 ? {} : { warnings }
  return { name, ...written, body: { ...mine, ...body, name }, ...from, ...left, place }
}

/** An address or a command line in the place of an entry. */
function fromLine(key: string | undefined, line: string): ImportedEntry {
  const read = fromText(line)
  if (key === undefined) return read
  const name = fittingName(key)
  const written = name === key ? {} : { writtenName: shownName(key) }
  return { ...read, name, ...written, body: { ...read.body, name } }
}

/** A `server.json` of the MCP Registry. */
function fromDescription(description: JsonObject, pointer: string): ImportedEntry {
  const { writtenName, problem, ...read } = describedServer(description)
  const place = { pointer, written: {} }
  const written = { writtenName: shownName(writtenName) }
  if (!problem) return { ...read, ...written, place }
  return { ...read, ...written, place, problem: { ...problem, pointer: `${pointer}${problem.pointer.slice(1)}` } }
}

/** A name of the document as people read it, at most 256 of its characters. */
function shownName(written: string): string {
  return visibleText(cutShort(written, 256))
}

function renamedTo(name: string, written: string): string {
  return `its name ${JSON.stringify(written)} cannot be one here: it becomes "${name}"`
}

function writtenNames(entry: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(ALIASES).flatMap(([field, aliases]) => {
      const alias = Object.hasOwn(entry, field) ? undefined : aliases.find(name => standsFor(name, field, entry))
      return alias === undefined ? [] : [[field, alias]]
    }),
  )
}

function nameOfEntry(entry: JsonObject): string {
  return nameOfBody(readServerEntry('', entry).body)
}

function nameOfBody(body: JsonObject): string {
  if (typeof body.url === 'string' && URL.canParse(body.url)) return nameOfUrl(new URL(body.url))
  const args = Array.isArray(body.args) ? body.args.filter(arg => typeof arg === 'string') : []
  return typeof body.command === 'string' ? nameOfCommand(body.command, args) : 'server'
}

/** Numbers duplicate names: a list of unnamed entries often has one program twice. */
function distinct(entries: readonly ImportedEntry[]): ImportedEntry[] {
  const taken = new Set<string>()
  // Next number to try for each name, so that a thousand equal names do not cost a million look-ups.
  const next = new Map<string, number>()
  return entries.map(entry => {
    let { name } = entry
    const key = keyOf(entry, name)
    if (taken.has(key)) {
      let count = next.get(key) ?? 2
      while (taken.has(keyOf(entry, `${entry.name}-${count}`))) count += 1
      name = `${entry.name}-${count}`
      next.set(key, count + 1)
    }
    taken.add(keyOf(entry, name))
    return name === entry.name ? entry : { ...entry, name, body: { ...entry.body, name } }
  })
}

function keyOf(entry: ImportedEntry, name: string): string {
  return `${typeof entry.body.owner === 'string' ? nameKey(entry.body.owner) : ''}\u0000${nameKey(name)}`
}
