import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { shellWords } from '../../domain/program/shell-words.ts'
import { COMMON_FIELDS } from '../../domain/server/server-table.ts'
import { transportWord } from '../../domain/server/transport-name.ts'
import { type EntryFields, NO_ENTRY_FIELDS, type ReadableForms } from './entry-fields.ts'
import { isToolFilter, readToolLists, TOOL_LISTS } from './tool-lists.ts'

/** An entry as the body of `POST /api/servers`, without `name` and `owner`, and warnings about ignored fields. */
export interface ServerShape {
  readonly body: JsonObject
  readonly owner?: string
  readonly warnings: readonly string[]
}

/** The own fields of the bundled transports: a file is read before the plugins run that have their schemas. */
const BUNDLED_FIELDS = [
  ...['command', 'args', 'env', 'cwd', 'sandbox', 'network', 'extraArguments'],
  ...['url', 'headers', 'openapi', 'tls'],
]
/** Fields of the API that files write differently, or do not have. */
const NOT_IN_FILES: ReadonlySet<string> = new Set(['name', 'owner', 'disabled', 'reviewed'])

/** Fields of the hub itself with the same meaning in a file and in the API. */
const SAME = [...BUNDLED_FIELDS, ...COMMON_FIELDS.filter(field => !NOT_IN_FILES.has(field))]

/**
 * Other programs' names for our fields. Writing a field removes its aliases from the entry, so that the two cannot
 * contradict each other.
 */
export const ALIASES: Readonly<Record<string, readonly string[]>> = {
  transport: ['type', 'transportType'],
  enabled: ['disabled', 'isActive'],
  url: ['serverUrl', 'httpUrl', 'baseUrl', 'endpoint', 'uri'],
  openapi: ['url'],
  timeout: ['options'],
  maxTimeout: ['options'],
  tools: [...TOOL_LISTS, 'options'],
  toolsDefault: [...TOOL_LISTS, 'options'],
}

/** Members of `options`, by the hub's name of the field. */
const IN_OPTIONS: Readonly<Record<string, string>> = {
  timeout: 'timeout',
  maxTimeout: 'maxTotalTimeout',
  tools: 'toolFilter',
  toolsDefault: 'toolFilter',
}

/** True when this alias sets the field in this entry. */
export function standsFor(alias: string, field: string, entry: JsonObject): boolean {
  if (field === 'openapi') return isApi(entry) && Object.hasOwn(entry, alias)
  if (alias !== 'options') return Object.hasOwn(entry, alias)
  const inner = IN_OPTIONS[field]
  return inner !== undefined && isJsonObject(entry.options) && Object.hasOwn(entry.options, inner)
}

/** Fields without a meaning here that are ignored without a warning. */
const SILENT = new Set(['name', 'owner', 'options', 'alwaysAllow', 'autoApprove', '$schema', 'gallery', 'id', 'shares'])

/** Words for an address whose transport is detected, as for one without a word. */
const FOUND_OUT: ReadonlySet<string> = new Set(['remote', 'url', 'mcp', 'auto'])

/** Transports whose fields are in the list above. */
const KNOWN_HERE: ReadonlySet<string> = new Set(['stdio', 'sse', 'streamable-http', 'openapi'])

/**
 * Reads one entry of `mcpServers` as Claude Desktop, Cursor, VS Code, Windsurf, Cline, Gemini and other hubs write it.
 * Invalid values are passed on unchanged, so that the registry reports them.
 */
export function readServerEntry(name: string, entry: JsonObject, fields: EntryFields = NO_ENTRY_FIELDS): ServerShape {
  const body: Record<string, JsonValue> = {}
  const warnings: string[] = []
  const same = [...SAME, ...fields.names]
  const used = new Set<string>(same)
  // Programs that write every field have null in those without a value.
  for (const field of same) if (entry[field] !== undefined && entry[field] !== null) body[field] = entry[field]
  for (const aliases of Object.values(ALIASES)) for (const alias of aliases) used.add(alias)

  readTransport(entry, body)
  readAddress(entry, body)
  readHeaders(entry, body, used)
  readForms(entry, body, fields)
  readEnabled(entry, body)
  readTimeouts(entry, body)
  readCommand(body)
  readArguments(body)
  for (const field of ['env', 'headers', 'variables']) readTexts(body, field)
  readTools(name, entry, body, warnings)

  if (typeof body.transport === 'string' && !KNOWN_HERE.has(body.transport)) readOwnFields(entry, body, used)
  const dropped = Object.keys(entry).filter(key => !used.has(key) && !SILENT.has(key))
  if (dropped.length > 0) warnings.push(`not known here and left out: ${dropped.join(', ')}`)
  const owner = typeof entry.owner === 'string' && entry.owner !== '' ? { owner: entry.owner } : {}
  return { body, ...owner, warnings }
}

/** Copies the other fields: a plugin's transport has its own fields, which the registry validates. */
function readOwnFields(entry: JsonObject, body: Record<string, JsonValue>, used: Set<string>): void {
  for (const [field, value] of Object.entries(entry)) {
    if (used.has(field) || SILENT.has(field)) continue
    used.add(field)
    body[field] = value
  }
}

function readTransport(entry: JsonObject, body: Record<string, JsonValue>): void {
  const written = entry.transport ?? entry.type ?? entry.transportType
  if (written === undefined || written === null) return
  if (typeof written === 'string' && FOUND_OUT.has(written.toLowerCase())) delete body.transport
  else body.transport = transportWord(written)
}

/** Reads the fields that other programs write in forms of their own. */
function readForms(entry: JsonObject, body: Record<string, JsonValue>, { forms }: EntryFields): void {
  for (const [field, form] of Object.entries(forms)) {
    const value = entry[field]
    if (isJsonObject(value)) body[field] = inOwnForm(value, form)
    else if (form.isSwitch && typeof value === 'boolean') delete body[field]
  }
}

/** The members that the field has here. */
function inOwnForm(value: JsonObject, { members, names = {}, words = [] }: ReadableForms): JsonObject {
  const renamed = Object.entries(value).flatMap(([member, given]): [string, JsonValue][] => {
    const own = Object.hasOwn(names, member) ? names[member] : undefined
    return own === undefined ? [] : [[own, given]]
  })
  const read = Object.entries({ ...Object.fromEntries(renamed), ...value }).filter(([member]) =>
    members.includes(member),
  )
  const listed = read.map(([member, given]): [string, JsonValue] => {
    const isText = words.includes(member) && typeof given === 'string'
    return [member, isText ? given.split(/\s+/).filter(word => word !== '') : given]
  })
  return Object.fromEntries(listed)
}

/** True for an entry of an HTTP API, whose `url` is the address of the document. */
function isApi(entry: JsonObject): boolean {
  return transportWord(entry.transport ?? entry.type ?? entry.transportType ?? null) === 'openapi'
}

/** Reads the address of an entry. Gemini CLI prefers `httpUrl` if both are present, and uses streamable HTTP with it. */
function readAddress(entry: JsonObject, body: Record<string, JsonValue>): void {
  const url = entry.httpUrl ?? body.url ?? entry.serverUrl ?? entry.baseUrl ?? entry.endpoint ?? entry.uri
  if (url === undefined || url === null) return
  if (isApi(entry) && (body.openapi === undefined || isJsonObject(body.openapi))) {
    delete body.url
    body.openapi = { url, ...body.openapi }
    return
  }
  body.url = url
  if (entry.httpUrl !== undefined) body.transport ??= 'streamable-http'
}

/** Continue and LiteLLM have headers under other names. */
function readHeaders(entry: JsonObject, body: Record<string, JsonValue>, used: Set<string>): void {
  const { requestOptions: options, static_headers: fixed } = entry
  const headers = isJsonObject(fixed) ? fixed : isJsonObject(options) ? options.headers : undefined
  if (body.headers !== undefined || !isJsonObject(headers)) return
  body.headers = headers
  used.add(headers === fixed ? 'static_headers' : 'requestOptions')
}

function readEnabled(entry: JsonObject, body: Record<string, JsonValue>): void {
  const [enabled, disabled, isActive] = [entry.enabled, entry.disabled, entry.isActive].map(switchOf)
  if (enabled !== undefined && enabled !== null) body.enabled = enabled
  if (disabled === true || isActive === false) body.enabled = false
  else if (disabled !== undefined && disabled !== null && typeof disabled !== 'boolean') body.enabled = disabled
}

/** A switch as a word or a number; any other value is returned unchanged. */
function switchOf(value: JsonValue | undefined): JsonValue | undefined {
  const word = typeof value === 'string' || typeof value === 'number' ? String(value).trim().toLowerCase() : ''
  if (/^(?:true|yes|on|1)$/.test(word)) return true
  return /^(?:false|no|off|0)$/.test(word) ? false : value
}

/** Clients that keep a list of approved tools in the entry count its timeout in seconds; all others in milliseconds. */
export function countsSeconds(entry: JsonObject): boolean {
  return Array.isArray(entry.alwaysAllow) || Array.isArray(entry.autoApprove)
}

/** Most seconds that such an entry may have; a larger number is milliseconds, as Kiro counts them beside such a list. */
export const MOST_SECONDS = 3_600

function readTimeouts(entry: JsonObject, body: Record<string, JsonValue>): void {
  const options = isJsonObject(entry.options) ? entry.options : {}
  if (typeof options.timeout === 'number') body.timeout ??= options.timeout
  if (typeof options.maxTotalTimeout === 'number') body.maxTimeout ??= options.maxTotalTimeout
  if (!countsSeconds(entry) || typeof entry.timeout !== 'number' || entry.timeout > MOST_SECONDS) return
  body.timeout = Math.round(entry.timeout * 1_000)
}

/** Splits a command given as one list with its arguments. */
function readCommand(body: Record<string, JsonValue>): void {
  if (!Array.isArray(body.command) || body.args !== undefined) return
  const [command = '', ...args] = body.command
  body.command = command
  if (args.length > 0) body.args = args
}

/** Splits arguments given as one text, and writes numbers and switches among them as texts. */
function readArguments(body: Record<string, JsonValue>): void {
  const { args } = body
  if (typeof args === 'string') {
    const read = shellWords(args)
    if (read.ok && Object.keys(read.variables).length === 0) body.args = [...read.words]
  } else if (Array.isArray(args)) {
    body.args = args
      .filter(value => value !== null)
      .map(value => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value))
  }
}

/** Converts numbers and booleans, which files often have instead of strings. */
function readTexts(body: Record<string, JsonValue>, field: string): void {
  const map = body[field]
  if (!isJsonObject(map)) return
  const texts = Object.entries(map)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => [key, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value])
  body[field] = Object.fromEntries(texts) as JsonObject
}

/** Reads overrides by tool, and lists of tools that are on or off. */
function readTools(name: string, entry: JsonObject, body: Record<string, JsonValue>, warnings: string[]): void {
  const { only, off, warnings: patterns } = readToolLists(name, entry)
  warnings.push(...patterns)
  const overrides = readOverrides(name, entry, body)
  for (const tool of only ?? []) overrides.set(tool, { enabled: true, ...overrideIn(overrides, tool) })
  for (const tool of new Set([...overrides.keys(), ...off])) {
    if (off.has(tool) || only?.has(tool) === false)
      overrides.set(tool, { ...overrideIn(overrides, tool), enabled: false })
  }
  if (only) body.toolsDefault = 'off'
  if (overrides.size > 0) body.tools = Object.fromEntries(overrides)
}

/** Some hubs prefix the tool's name with the server's: such a key is read in both spellings. */
function readOverrides(name: string, { tools }: JsonObject, body: Record<string, JsonValue>): Map<string, JsonValue> {
  const overrides = new Map<string, JsonValue>()
  if (Array.isArray(tools) || (isJsonObject(tools) && isToolFilter(tools))) {
    delete body.tools
    return overrides
  }
  for (const [tool, override] of Object.entries(isJsonObject(tools) ? tools : {})) {
    overrides.set(tool, override)
    const prefix = [`${name}-`, `${name}::`].find(start => tool.startsWith(start) && tool.length > start.length)
    if (prefix) overrides.set(tool.slice(prefix.length), override)
  }
  return overrides
}

function overrideIn(overrides: ReadonlyMap<string, JsonValue>, tool: string): JsonObject {
  const override = overrides.get(tool)
  return isJsonObject(override) ? override : {}
}
