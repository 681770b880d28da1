import { definePlugin, type JsonObject } from 'patchbay/contract'
import type { ClientConfig, EndpointInfo } from 'patchbay/features'
import { AGENTS } from './agents.ts'
import { bearer, headers } from './fields.ts'
import { OTHER_CLIENTS } from './other-clients.ts'
import { words } from './words.zh.ts'

/** The configurations of known clients. */
export default definePlugin({
  name: 'client-config',
  contract: 1,
  words,
  setup(context) {
    for (const [client, config] of Object.entries(CLIENTS)) context.contribute('clientConfig', client, config)
    return undefined
  },
})

const CLIENTS: Readonly<Record<string, ClientConfig>> = {
  'claude-desktop': {
    label: 'Claude Desktop',
    places: [
      { os: 'mac', path: '~/Library/Application Support/Claude/claude_desktop_config.json' },
      { os: 'windows', path: '%APPDATA%/Claude/claude_desktop_config.json' },
      { os: 'linux', path: '~/.config/Claude/claude_desktop_config.json' },
    ],
    format: 'json',
    note: 'The file is opened by Settings, Developer, Edit Config. Node.js must be installed, for npx.',
    entry: bridgedEntry,
  },
  'claude-code': {
    label: 'Claude Code',
    places: [{ path: '.mcp.json' }, { path: '~/.claude.json' }],
    format: 'json',
    note: 'Claude Code writes ~/.claude.json itself: close it before that file is changed, or use its command.',
    entry: endpoint => ({
      mcpServers: { [endpoint.name]: { type: 'http', url: endpoint.url, headers: headers(endpoint) } },
    }),
    command: endpoint => [
      ...['claude', 'mcp', 'add', '--transport', 'http', '--scope', 'user', endpoint.name, endpoint.url],
      ...['--header', `Authorization: ${bearer(endpoint)}`],
    ],
  },
  cursor: {
    label: 'Cursor',
    places: [{ path: '~/.cursor/mcp.json' }, { path: '.cursor/mcp.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { url: endpoint.url, headers: headers(endpoint) } } }),
    deepLink: endpoint => installLink('cursor://anysphere.cursor-deeplink/mcp/install', endpoint, CURSOR_KEY),
  },
  vscode: {
    label: 'VS Code',
    places: [
      { path: '.vscode/mcp.json' },
      { os: 'mac', path: '~/Library/Application Support/Code/User/mcp.json' },
      { os: 'windows', path: '%APPDATA%/Code/User/mcp.json' },
      { os: 'linux', path: '~/.config/Code/User/mcp.json' },
    ],
    format: 'json',
    entry: endpoint => ({
      servers: { [endpoint.name]: { type: 'http', url: endpoint.url, headers: headers(endpoint) } },
    }),
    command({ name, url, key }) {
      return ['code', '--add-mcp', JSON.stringify({ name, type: 'http', url, headers: headers({ key }) })]
    },
    deepLink({ name, url }) {
      const inputs = [{ type: 'promptString', id: 'patchbay_key', description: 'Access key', password: true }]
      const server = { name, type: 'http', url, headers: headers({ key: VSCODE_KEY }), inputs }
      return `vscode:mcp/install?${encodeURIComponent(JSON.stringify(server))}`
    },
  },
  windsurf: {
    label: 'Windsurf',
    places: [{ path: '~/.codeium/windsurf/mcp_config.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { serverUrl: endpoint.url, headers: headers(endpoint) } } }),
  },
  codex: {
    label: 'Codex',
    places: [{ path: '~/.codex/config.toml' }, { path: '.codex/config.toml' }],
    format: 'toml',
    note: 'To keep the key out of the file, replace http_headers by bearer_token_env_var = "NAME_OF_A_VARIABLE".',
    // A TOML basic string has the same escapes as JSON.
    entry: endpoint =>
      `[mcp_servers.${endpoint.name}]\nurl = ${JSON.stringify(endpoint.url)}\n` +
      `http_headers = { "Authorization" = ${JSON.stringify(bearer(endpoint))} }\n`,
    command: ({ name, url }) => ['codex', 'mcp', 'add', name, '--url', url, '--bearer-token-env-var', 'PATCHBAY_KEY'],
  },
  gemini: {
    label: 'Gemini CLI',
    places: [{ path: '~/.gemini/settings.json' }, { path: '.gemini/settings.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { httpUrl: endpoint.url, headers: headers(endpoint) } } }),
    command: endpoint => [
      ...['gemini', 'mcp', 'add', '--scope', 'user', '--transport', 'http'],
      ...['--header', `Authorization: ${bearer(endpoint)}`, endpoint.name, endpoint.url],
    ],
  },
  zed: {
    label: 'Zed',
    places: [
      { path: '~/.config/zed/settings.json' },
      { os: 'windows', path: '%APPDATA%/Zed/settings.json' },
      { path: '.zed/settings.json' },
    ],
    format: 'json',
    entry: endpoint => ({ context_servers: { [endpoint.name]: { url: endpoint.url, headers: headers(endpoint) } } }),
  },
  'lm-studio': {
    label: 'LM Studio',
    places: [{ path: '~/.lmstudio/mcp.json' }],
    format: 'json',
    entry: endpoint => ({ mcpServers: { [endpoint.name]: { url: endpoint.url, headers: headers(endpoint) } } }),
    // LM Studio has nothing that stands for a key: the person writes it.
    deepLink: endpoint => installLink('lmstudio://add_mcp', endpoint, '<ACCESS_KEY>'),
  },
  ...AGENTS,
  ...OTHER_CLIENTS,
  curl: { label: 'curl', places: [], format: 'shell', entry: curlText },
}

// A link holds no key: Cursor reads a variable, VS Code asks.
// biome-ignore lint/suspicious/noTemplateCurlyInString: Cursor fills the variable in, not this program.
const CURSOR_KEY = '${env:PATCHBAY_KEY}'
// biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code fills the input in, not this program.
const VSCODE_KEY = '${input:patchbay_key}'
// biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote fills the variable in, not this program.
const HEADER_FROM_VARIABLE = 'Authorization:${AUTHORIZATION}'

/** Pinned: what is started with a key in its environment is not whatever was published last. */
const BRIDGE = 'mcp-remote@0.15.1'

/**
 * Claude Desktop's file can only start programs, so a stdio bridge is needed. The header comes from a variable because
 * Claude Desktop on Windows cuts arguments at spaces.
 */
function bridgedEntry(endpoint: EndpointInfo): JsonObject {
  const { name, url } = endpoint
  const flags = bridgeRefuses(url) ? ['--allow-http'] : []
  const args = ['-y', BRIDGE, url, '--header', HEADER_FROM_VARIABLE, ...flags]
  return { mcpServers: { [name]: { command: 'npx', args, env: { AUTHORIZATION: bearer(endpoint) } } } }
}

/** mcp-remote accepts plain http for these two names only, without a flag. */
function bridgeRefuses(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !['localhost', '127.0.0.1'].includes(hostname)
}

/** Base64 of the text's UTF-8 bytes. */
function installLink(begin: string, { name, url }: EndpointInfo, key: string): string {
  const config = Buffer.from(JSON.stringify({ url, headers: headers({ key }) })).toString('base64')
  return `${begin}?name=${encodeURIComponent(name)}&config=${encodeURIComponent(config)}`
}

function curlText(endpoint: EndpointInfo): string {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
  }
  return [
    `curl -i ${quote(endpoint.url)}`,
    `-H ${quote(`Authorization: ${bearer(endpoint)}`)}`,
    `-H 'Content-Type: application/json'`,
    `-H 'Accept: application/json, text/event-stream'`,
    `-d ${quote(JSON.stringify(initialize))}\n`,
  ].join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
