import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../../domain/json/json-pointer.ts'

/** A map or list of servers in a document, and its place. */
export interface Container {
  readonly map: JsonObject | JsonValue[]
  readonly pointer: string
  /** True for a part of a list, whose keys are no names. */
  readonly isList?: true
}

/** Names of members with servers, by their letters and digits alone. */
const MAPS: ReadonlySet<string> = new Set([
  ...['mcpservers', 'servers', 'contextservers', 'ampmcpservers', 'mcpmcpservers', 'mcpserver', 'mcpserversconfig'],
])
/** Names of members around such members, which other programs also use for the servers themselves. */
const WRAPPERS: ReadonlySet<string> = new Set([
  ...['mcp', 'mcpconfig', 'config', 'configuration', 'settings', 'mcpsettings', 'projects', 'systemconfig', 'user'],
  ...['data', 'agent', 'agents', 'client', 'connections', 'workspace', 'global'],
])
const MOST_DEPTH = 4
const MOST_CONTAINERS = 50

/** Members with the address or the program of a server, by their letters alone. */
const TARGETS: ReadonlySet<string> = new Set([
  ...[
    'url',
    'serverurl',
    'httpurl',
    'baseurl',
    'endpoint',
    'endpointurl',
    'uri',
    'serveruri',
    'sseurl',
    'mcpurl',
    'openapi',
  ],
  ...['command', 'cmd'],
])
/** Members around the command or the address of an entry. */
const INNER = ['transport', 'config', 'connection', 'params', 'server', 'configuration']

/** True for an entry of a server: it names a program or an address, itself or one level below. */
export function looksLikeEntry(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && (names(value) || INNER.some(key => isJsonObject(value[key]) && names(value[key])))
}

function names(value: JsonObject): boolean {
  return Object.entries(value).some(([key, member]) => TARGETS.has(lettersOf(key)) && isSet(member))
}

function isSet(member: JsonValue): boolean {
  return member !== null && member !== ''
}

function lettersOf(key: string): string {
  return key.length > 64 ? '' : key.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/**
 * The maps and lists of servers in the settings of known programs, in the document's order. One that is null or empty hides no
 * other: it is the last resort. Undefined where no member has a known name.
 */
export function containersIn(document: JsonObject): readonly Container[] | undefined {
  const found: Container[] = []
  const empty: Container[] = []
  walk(document, '#', 0, { found, empty })
  if (found.length > 0) return found.slice(0, MOST_CONTAINERS)
  return empty.length > 0 ? empty.slice(0, 1) : undefined
}

interface Search {
  readonly found: Container[]
  readonly empty: Container[]
}

function walk(value: JsonObject, pointer: string, depth: number, search: Search): void {
  for (const [key, inner] of Object.entries(value)) {
    const at = `${pointer}/${pointerToken(key)}`
    const plain = lettersOf(key)
    if (MAPS.has(plain) && (isJsonObject(inner) || Array.isArray(inner))) readMap(inner, at, depth, search)
    else if (plain === 'tools' && Array.isArray(inner) && inner.some(isRemoteTool)) search.found.push(tools(inner, at))
    else if (plain === 'extensions' && isJsonObject(inner) && Object.values(inner).some(isExtension))
      search.found.push({ map: inner, pointer: at })
    else if (WRAPPERS.has(plain) && isJsonObject(inner)) readWrapper(plain, inner, at, depth, search)
  }
}

function readMap(map: JsonObject | JsonValue[], pointer: string, depth: number, search: Search): void {
  const [only, ...others] = Object.keys(map)
  // `{"mcpServers": {"mcpServers": {…}}}` of somebody who pasted a file into another.
  if (isJsonObject(map) && only !== undefined && others.length === 0 && isMapName(only) && !looksLikeEntry(map[only])) {
    walk(map, pointer, depth + 1, search)
    return
  }
  const target = only === undefined ? search.empty : search.found
  target.push({ map, pointer })
}

function isMapName(key: string): boolean {
  return MAPS.has(lettersOf(key))
}

function readWrapper(plain: string, inner: JsonObject, pointer: string, depth: number, search: Search): void {
  const before = search.found.length + search.empty.length
  if (plain === 'projects') {
    for (const [name, project] of Object.entries(inner)) {
      if (isJsonObject(project)) walk(project, `${pointer}/${pointerToken(name)}`, depth + 1, search)
    }
    return
  }
  if (depth < MOST_DEPTH) walk(inner, pointer, depth + 1, search)
  const isKnown = search.found.length + search.empty.length > before
  if (!isKnown && /^mcp/.test(plain) && Object.values(inner).some(looksLikeEntry)) {
    search.found.push({ map: inner, pointer })
  }
}

/** A server among the tools of a request to OpenAI: https://platform.openai.com/docs/guides/tools-connectors-mcp */
function isRemoteTool(tool: JsonValue): boolean {
  return isJsonObject(tool) && tool.type === 'mcp'
}

/** Without the tools that are no servers; each place stays that in the document. */
function tools(list: JsonValue[], pointer: string): Container {
  const servers = list.flatMap((tool, index) => (isRemoteTool(tool) ? [[String(index), tool] as const] : []))
  return { map: Object.fromEntries(servers), pointer, isList: true }
}

/** An MCP server among the extensions of Goose. */
function isExtension(extension: JsonValue): boolean {
  return isJsonObject(extension) && (typeof extension.cmd === 'string' || typeof extension.uri === 'string')
}
