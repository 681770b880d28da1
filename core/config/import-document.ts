import { type FieldCode, HubError } from '../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { guardJson, mustHoldMore, scanShape } from '../domain/json/json-guard.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { nameKey } from '../domain/names.ts'
import { SERVER_JSON } from '../domain/server/body.ts'
import { validationError } from '../domain/validation-error.ts'
import { JsoncError, readJsonc } from './jsonc.ts'
import { ALIASES, readServerEntry } from './shape-server.ts'
import { splitKey } from './shapes.ts'
import { shellWords } from './shell-words.ts'

/** One server that a document names, as the flat body of the API. */
export interface ImportedEntry {
  readonly name: string
  readonly body: JsonObject
  /** Whose it was where it comes from, as its "owner" says. */
  readonly from?: string
  /** Where it stands in the document, which is JSON. */
  readonly place?: EntryPlace
  /** Why the entry cannot be read; `pointer` is into the document. The body is then what could be. */
  readonly problem?: { readonly message: string; readonly pointer?: string; readonly code?: FieldCode }
}

interface EntryPlace {
  /** JSON Pointer of the entry, from `#` on. */
  readonly pointer: string
  /** What the document calls fields of the body, where it calls them otherwise. The name is the key of the entry then: ''. */
  readonly written: Readonly<Record<string, string>>
}

/** The pointer into the document for one into the body of an entry. */
export function placeInDocument({ place }: ImportedEntry, pointer: string): string {
  if (!place) return pointer
  const [, field = '', ...rest] = pointer.split('/')
  const written = Object.hasOwn(place.written, field) ? place.written[field] : field
  return [place.pointer, ...(written === '' ? [] : [written]), ...rest].join('/')
}

export interface ImportedDocument {
  readonly entries: readonly ImportedEntry[]
}

/** Servers that one document may name, each of which is judged and saved by itself. */
export const MOST_ENTRIES = 500
/** Of all command lines in one document together. */
const LINES_CHARACTERS = 1024 * 1024
/** Comments are read by a slower reader that keeps a node for each value. */
const COMMENTED_CHARACTERS = 1024 * 1024

/** Where known programs keep their map of servers. */
const MAPS: readonly (readonly string[])[] = [
  ['mcpServers'],
  ['servers'],
  ['mcp', 'servers'],
  ['mcp', 'mcpServers'],
  ['context_servers'],
]

/**
 * Reads what people paste: the settings of Claude Desktop, Cursor, VS Code, Windsurf and hubs like this one (comments and
 * trailing commas allowed), one entry of such a file, a command line, or a URL. Throws validation_failed when it is none or
 * names more than 500 servers, and what {@link guardJson} throws. A text of 16 MiB takes up to a second: call it where that
 * holds up nobody.
 */
export function importDocument(text: string): ImportedDocument {
  const trimmed = text.replace(/^\ufeff/, '').trim()
  if (trimmed === '') throw refused('The document is empty')
  if (/^[{["]|^\/[/*]/.test(trimmed)) return { entries: distinct(fromJson(trimmed)) }
  return { entries: [fromText(trimmed)] }
}

/** An address or a command line. What people paste by mistake, and no program could be, has its problem named. */
function fromText(text: string): ImportedEntry {
  if (/^https?:\/\/\S+$/i.test(text)) return fromUrl(text)
  const problem = pastedByMistake(text)
  if (problem !== undefined) return { name: 'server', body: { name: 'server' }, problem: { message: problem } }
  return fromCommandLine(text)
}

function pastedByMistake(text: string): string | undefined {
  if (/^\s*[{[]/.test(text)) return 'This is JSON inside a JSON string; paste the inner JSON itself'
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
  const read = shellWords(line)
  if (!read.ok)
    return { name: 'server', body: { name: 'server' }, problem: { message: `The command line: ${read.problem}` } }
  const [command = '', ...args] = read.words
  const name = nameOfCommand(command, args)
  const env = Object.keys(read.variables).length > 0 ? { env: { ...read.variables } } : {}
  return { name, body: { name, command, args, ...env } }
}

function fromJson(text: string): ImportedEntry[] {
  const value = parse(text)
  if (typeof value === 'string') return [fromText(value)]
  if (Array.isArray(value)) return fromMap(value, '#')
  if (!isJsonObject(value)) throw refused('The document is neither an object nor a list')
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
  // One entry of a file is often copied without the braces around it.
  const whole = /^"(?:[^"\\]|\\.)*"\s*:/.test(text) ? `{${text.replace(/,\s*$/, '')}}` : text
  const shape = scanShape(whole)
  const large = mustHoldMore(shape, SERVER_JSON.members) || whole.length > COMMENTED_CHARACTERS
  const value = large ? strict(whole) : jsonc(whole)
  try {
    const named = guardJson(value, SERVER_JSON)
    // Parsing keeps the last of two equal keys.
    if (large && named !== shape.colons) throw refused('An object of the document names a key twice')
  } catch (error) {
    if (!(error instanceof HubError) || error.code === 'validation_failed') throw error
    throw error.errors ? validationError(error.errors) : refused(error.message)
  }
  return value
}

/** A large text, which holds OpenAPI documents or is refused. */
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
    isJsonObject(value) && ['command', 'url', 'serverUrl', 'httpUrl', 'openapi'].some(key => Object.hasOwn(value, key))
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

/** The owner that another hub's file writes into an entry is a user there: the servers belong to whoever imports them. */
function fromEntry(key: string | undefined, entry: JsonValue, pointer: string): ImportedEntry {
  if (typeof entry === 'string') {
    const read = fromText(entry)
    return key === undefined ? read : { ...read, name: key, body: { ...read.body, name: key } }
  }
  const fields = isJsonObject(entry) ? entry : {}
  const { owner, name } = splitKey(key ?? (typeof fields.name === 'string' ? fields.name : nameOfEntry(fields)))
  const mine = owner === undefined ? {} : { owner }
  if (!isJsonObject(entry)) {
    return { name, body: { name, ...mine }, problem: { message: `The entry "${name}" is not an object`, pointer } }
  }
  const from = typeof entry.owner === 'string' ? { from: entry.owner } : {}
  const place = { pointer, written: { ...writtenNames(entry), ...(key === undefined ? {} : { name: '' }) } }
  return { name, body: { name, ...mine, ...readServerEntry(name, entry).body }, ...from, place }
}

function writtenNames(entry: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(ALIASES).flatMap(([field, aliases]) => {
      const alias = Object.hasOwn(entry, field) ? undefined : aliases.find(name => Object.hasOwn(entry, name))
      return alias === undefined ? [] : [[field, alias]]
    }),
  )
}

function nameOfEntry(entry: JsonObject): string {
  const { body } = readServerEntry('', entry)
  if (typeof body.url === 'string' && URL.canParse(body.url)) return nameOfUrl(new URL(body.url))
  const args = Array.isArray(body.args) ? body.args.filter(arg => typeof arg === 'string') : []
  return typeof body.command === 'string' ? nameOfCommand(body.command, args) : 'server'
}

/** `https://mcp.deepwiki.com/mcp` → `deepwiki`; addresses and local names keep their port. */
function nameOfUrl(url: URL): string {
  const labels = url.hostname.split('.')
  if (labels.length < 2 || /^[\d.]+$|^\[/.test(url.hostname)) {
    return legalName([url.hostname, url.port].filter(part => part !== '').join('-'))
  }
  const telling = labels.slice(0, -1).filter(label => !/^(www|api|mcp|sse|server)$/.test(label))
  // The longest label is the name: `co` of `example.co.uk` is not.
  return legalName(telling.toSorted((one, other) => other.length - one.length)[0] ?? labels[0] ?? '')
}

const RUNNERS = new Set([
  'npx',
  'bunx',
  'uvx',
  'pipx',
  'pnpm',
  'yarn',
  'npm',
  'bun',
  'node',
  'python',
  'python3',
  'uv',
  'docker',
  'podman',
  'deno',
])
const RUNNER_WORDS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
/** Options of those programs that take the next word. */
const TAKES_VALUE = new Set([
  '-p',
  '--package',
  '--from',
  '--with',
  '-e',
  '--env',
  '-v',
  '--volume',
  '--network',
  '--name',
  '--directory',
  '-m',
])

/** `npx -y @modelcontextprotocol/server-memory` → `memory`; otherwise the program's own name. */
function nameOfCommand(command: string, args: readonly string[]): string {
  const program = lastPart(command).replace(/\.(exe|cmd)$/i, '')
  if (!RUNNERS.has(program)) return legalName(program)
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (word === '-m') return shortName(args[at + 1] ?? program)
    if (TAKES_VALUE.has(word)) at += 1
    else if (!word.startsWith('-') && !RUNNER_WORDS.has(word)) return shortName(word)
  }
  return legalName(program)
}

function shortName(word: string): string {
  const bare = lastPart(word)
    .replace(/(.)@.*$/s, '$1')
    .replace(/:.*$/s, '')
    .replace(/\.(py|js|ts|mjs|cjs)$/, '')
  const short = bare.replace(/^(mcp[-_])?server[-_]|^mcp[-_]/, '').replace(/[-_](mcp|mcp[-_]server|server)$/, '')
  return legalName(short === '' ? bare : short)
}

function lastPart(path: string): string {
  return path.split(/[\\/]/).findLast(part => part !== '') ?? ''
}

/** So much of a text is looked at for a name of 64 characters: expressions for its ends are slow on endless ones. */
const LOOKED_AT = 1_024

function legalName(text: string): string {
  const name = text
    .slice(0, LOOKED_AT)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
  return [...name].slice(0, 64).join('') || 'server'
}

/** The second of one name gets a number: a list of unnamed entries often holds one program twice. */
function distinct(entries: readonly ImportedEntry[]): ImportedEntry[] {
  const taken = new Set<string>()
  // Where the search for a free number goes on, so that a thousand of one name are not a million looks.
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
