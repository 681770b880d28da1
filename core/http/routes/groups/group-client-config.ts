/** Clients for which a configuration can be generated. */
export const CLIENTS = [
  'claude-desktop',
  'claude-code',
  'cursor',
  'vscode',
  'windsurf',
  'codex',
  'gemini',
  'curl',
] as const
/** The clients for which a configuration can be written. */
export type Client = (typeof CLIENTS)[number]

/** What a user adds to a client so that it connects to a group. */
export interface ClientConfig {
  readonly client: Client
  readonly endpoint: string
  readonly format: 'json' | 'toml' | 'shell'
  /** The file for the text; absent for a command. */
  readonly path?: string
  /** Text to paste, with `<ACCESS_KEY>` for the key. JSON texts are whole files, to be merged into an existing one. */
  readonly text: string
  /** The equivalent command of the client's CLI, if it has one. */
  readonly command?: string
  readonly note?: string
}

/** Stands for the access key, which the hub cannot show again. */
export const KEY_PLACEHOLDER = '<ACCESS_KEY>'
const AUTHORIZATION = `Bearer ${KEY_PLACEHOLDER}`
const headers = { Authorization: AUTHORIZATION }

/** The configuration with which a client connects to one endpoint of this hub. `name` is the group's name. */
export function clientConfig(client: Client, name: string, endpoint: string): ClientConfig {
  return { client, endpoint, ...MAKERS[client](entryName(name), endpoint) }
}

/**
 * The clients' rules for entry names differ; letters, digits, dash and underscore are valid everywhere (Claude Code
 * rejects others, and they need no quotes in TOML).
 */
export function entryName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return plain === '' ? 'patchbay' : plain
}

type Made = Omit<ClientConfig, 'client' | 'endpoint'>

const MAKERS: Readonly<Record<Client, (name: string, endpoint: string) => Made>> = {
  'claude-desktop': claudeDesktop,
  'claude-code': (name, url) => ({
    format: 'json',
    path: '.mcp.json',
    text: json({ mcpServers: { [name]: { type: 'http', url, headers } } }),
    command: `claude mcp add --transport http ${name} ${quote(url)} --header ${quote(`Authorization: ${AUTHORIZATION}`)}`,
  }),
  cursor: (name, url) => ({
    format: 'json',
    path: '~/.cursor/mcp.json',
    text: json({ mcpServers: { [name]: { url, headers } } }),
  }),
  vscode: (name, url) => ({
    format: 'json',
    path: '.vscode/mcp.json',
    text: json({ servers: { [name]: { type: 'http', url, headers } } }),
  }),
  windsurf: (name, url) => ({
    format: 'json',
    path: '~/.codeium/windsurf/mcp_config.json',
    text: json({ mcpServers: { [name]: { serverUrl: url, headers } } }),
  }),
  codex: (name, url) => ({
    format: 'toml',
    path: '~/.codex/config.toml',
    text: `[mcp_servers.${name}]\nurl = ${tomlText(url)}\nhttp_headers = { "Authorization" = ${tomlText(AUTHORIZATION)} }\n`,
    note: 'To keep the key out of the file, replace http_headers by bearer_token_env_var = "NAME_OF_A_VARIABLE".',
  }),
  gemini: (name, url) => ({
    format: 'json',
    path: '~/.gemini/settings.json',
    text: json({ mcpServers: { [name]: { httpUrl: url, headers } } }),
    command: `gemini mcp add --scope user --transport http --header ${quote(`Authorization: ${AUTHORIZATION}`)} ${name} ${quote(url)}`,
  }),
  curl: (_name, url) => ({ format: 'shell', text: curlText(url) }),
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote fills the variable in, not this program.
const HEADER_FROM_VARIABLE = 'Authorization:${AUTHORIZATION}'

/** Its file can only start programs, so a stdio bridge is needed. */
function claudeDesktop(name: string, url: string): Made {
  const args = [
    '-y',
    'mcp-remote',
    url,
    '--header',
    HEADER_FROM_VARIABLE,
    ...(bridgeRefuses(url) ? ['--allow-http'] : []),
  ]
  return {
    format: 'json',
    path: 'claude_desktop_config.json',
    // The header comes from a variable because Claude Desktop on Windows cuts arguments at spaces.
    text: json({ mcpServers: { [name]: { command: 'npx', args, env: { AUTHORIZATION } } } }),
    note: 'The file is opened by Settings, Developer, Edit Config. Node.js must be installed, for npx.',
  }
}

/** mcp-remote accepts plain http for these two names only, without a flag. */
function bridgeRefuses(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !['localhost', '127.0.0.1'].includes(hostname)
}

function curlText(url: string): string {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
  }
  return [
    `curl -i ${quote(url)}`,
    `-H ${quote(`Authorization: ${AUTHORIZATION}`)}`,
    `-H 'Content-Type: application/json'`,
    `-H 'Accept: application/json, text/event-stream'`,
    `-d ${quote(JSON.stringify(initialize))}\n`,
  ].join(' \\\n  ')
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** A TOML basic string has the same escapes as JSON. */
function tomlText(text: string): string {
  return JSON.stringify(text)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
