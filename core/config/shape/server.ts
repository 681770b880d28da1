import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'

/** An entry as the body of `POST /api/servers`, without `name` and `owner`, and warnings about ignored fields. */
export interface ServerShape {
  readonly body: JsonObject
  readonly owner?: string
  readonly warnings: readonly string[]
}

/** Fields with the same meaning in a file and in the API. */
const SAME = [
  ...['description', 'command', 'args', 'env', 'cwd', 'sandbox', 'network', 'url', 'headers', 'openapi'],
  ...[
    'timeout',
    'maxTimeout',
    'maxResultBytes',
    'visibility',
    'variables',
    'enabled',
    'session',
    'era',
    'start',
    'idleTimeout',
    'isolate',
  ],
  ...['healthCheck', 'passthroughHeaders', 'tools', 'definitionPolicy', 'prompts', 'resources', 'secrets', 'transport'],
] as const

/**
 * Other programs' names for our fields. Writing a field removes its aliases from the entry, so that the two cannot
 * contradict each other.
 */
export const ALIASES: Readonly<Record<string, readonly string[]>> = {
  transport: ['type', 'transportType'],
  enabled: ['disabled', 'isActive'],
  url: ['serverUrl', 'httpUrl'],
  timeout: ['options'],
  maxTimeout: ['options'],
  tools: ['disabledTools', 'excludeTools'],
}

/** Fields without a meaning here that are ignored without a warning. */
const SILENT = new Set(['name', 'owner', 'options', 'alwaysAllow', 'autoApprove', '$schema', 'gallery', 'id'])

const TRANSPORTS: Readonly<Record<string, string>> = {
  stdio: 'stdio',
  local: 'stdio',
  sse: 'sse',
  openapi: 'openapi',
  http: 'streamable-http',
  streamablehttp: 'streamable-http',
  remote: 'streamable-http',
}

/** Transports whose fields are in the list above. */
const KNOWN_HERE: ReadonlySet<string> = new Set(Object.values(TRANSPORTS))

/**
 * Reads one entry of `mcpServers` as Claude Desktop, Cursor, VS Code, Windsurf, Cline, Gemini and other hubs write it.
 * Invalid values are passed on unchanged, so that the registry reports them.
 */
export function readServerEntry(name: string, entry: JsonObject): ServerShape {
  const body: Record<string, JsonValue> = {}
  const warnings: string[] = []
  const used = new Set<string>(SAME)
  for (const field of SAME) if (Object.hasOwn(entry, field)) body[field] = entry[field] ?? null
  for (const aliases of Object.values(ALIASES)) for (const alias of aliases) used.add(alias)

  readTransport(entry, body)
  readAddress(entry, body)
  readEnabled(entry, body)
  readTimeouts(entry, body)
  readCommand(body)
  for (const field of ['env', 'headers', 'variables']) readTexts(body, field)
  readTools(name, entry, body, warnings)

  if (typeof body.transport === 'string' && !KNOWN_HERE.has(body.transport)) readOwnFields(entry, body, used)
  const dropped = Object.keys(entry).filter(key => !used.has(key) && !SILENT.has(key))
  if (dropped.length > 0) warnings.push(`not known here and left out: ${dropped.join(', ')}`)
  const owner = typeof entry.owner === 'string' && entry.owner !== '' ? { owner: entry.owner } : {}
  return { body, ...owner, warnings }
}

/** A plugin's transport has fields of its own, which the registry knows. */
function readOwnFields(entry: JsonObject, body: Record<string, JsonValue>, used: Set<string>): void {
  for (const [field, value] of Object.entries(entry)) {
    if (used.has(field) || SILENT.has(field)) continue
    used.add(field)
    body[field] = value
  }
}

function readTransport(entry: JsonObject, body: Record<string, JsonValue>): void {
  const written = entry.transport ?? entry.type ?? entry.transportType
  if (written === undefined) return
  const key = typeof written === 'string' ? written.toLowerCase().replaceAll(/[-_ ]/g, '') : ''
  body.transport = Object.hasOwn(TRANSPORTS, key) ? (TRANSPORTS[key] ?? written) : written
}

function readAddress(entry: JsonObject, body: Record<string, JsonValue>): void {
  if (body.url !== undefined) return
  const url = entry.serverUrl ?? entry.httpUrl
  if (url === undefined) return
  body.url = url
  if (entry.httpUrl !== undefined) body.transport ??= 'streamable-http'
}

function readEnabled(entry: JsonObject, body: Record<string, JsonValue>): void {
  const { disabled, isActive } = entry
  if (disabled === true || isActive === false) body.enabled = false
  else if (disabled !== undefined && typeof disabled !== 'boolean') body.enabled = disabled
}

/** Clients that keep a list of approved tools in the entry count its timeout in seconds; all others in milliseconds. */
function readTimeouts(entry: JsonObject, body: Record<string, JsonValue>): void {
  const options = isJsonObject(entry.options) ? entry.options : {}
  if (typeof options.timeout === 'number') body.timeout ??= options.timeout
  if (typeof options.maxTotalTimeout === 'number') body.maxTimeout ??= options.maxTotalTimeout
  const inSeconds = Array.isArray(entry.alwaysAllow) || Array.isArray(entry.autoApprove)
  if (inSeconds && typeof body.timeout === 'number' && body.timeout <= 3_600) body.timeout *= 1_000
}

/** Splits a command given as one list with its arguments. */
function readCommand(body: Record<string, JsonValue>): void {
  if (!Array.isArray(body.command) || body.args !== undefined) return
  const [command = '', ...args] = body.command
  body.command = command
  if (args.length > 0) body.args = args
}

/** Converts numbers and booleans, which files often have in place of strings. */
function readTexts(body: Record<string, JsonValue>, field: string): void {
  const map = body[field]
  if (!isJsonObject(map)) return
  const texts = Object.entries(map)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => [key, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value])
  body[field] = Object.fromEntries(texts) as JsonObject
}

/** Reads overrides by tool. Some hubs prefix the tool's name with the server's: such a key is read in both spellings. */
function readTools(name: string, entry: JsonObject, body: Record<string, JsonValue>, warnings: string[]): void {
  const overrides: [string, JsonValue][] = []
  if (isJsonObject(entry.tools)) {
    for (const [tool, override] of Object.entries(entry.tools)) {
      overrides.push([tool, override])
      const prefix = [`${name}-`, `${name}::`].find(start => tool.startsWith(start) && tool.length > start.length)
      if (prefix) overrides.push([tool.slice(prefix.length), override])
    }
  } else if (Array.isArray(entry.tools)) {
    delete body.tools
    if (!entry.tools.includes('*')) warnings.push('"tools" as a list is left out: every tool of the server is on')
  } else return readDisabledTools(entry, body, overrides)
  readDisabledTools(entry, body, overrides)
}

function readDisabledTools(entry: JsonObject, body: Record<string, JsonValue>, overrides: [string, JsonValue][]): void {
  for (const list of [entry.disabledTools, entry.excludeTools]) {
    if (!Array.isArray(list)) continue
    for (const tool of list) if (typeof tool === 'string') overrides.push([tool, { enabled: false }])
  }
  if (overrides.length > 0) body.tools = Object.fromEntries(overrides)
}
