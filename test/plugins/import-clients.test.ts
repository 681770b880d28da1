/** Files of clients as their programs write them, through a whole hub. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

/** A header that is secret by its name. */
const MASKED = expect.stringMatching(/^••••/)

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

interface Item {
  name: string
  verdict: string
  pointer: string
  body?: Record<string, unknown>
  asks?: { name: string }[]
  warnings: string[]
  error?: { detail: string; errors?: { pointer: string }[] }
}
interface Plan {
  source: string
  items: Item[]
  notCarried: { pointer: string; what: string }[]
}

const plan = (document: unknown, more: object = {}): Promise<Plan> =>
  admin.ok('POST', '/api/import?dryRun=true', { document, ...more })
const bodies = ({ items }: Plan) => Object.fromEntries(items.map(({ name, body }) => [name, body]))
const left = ({ notCarried }: Plan) => notCarried.map(({ pointer }) => pointer)

test('Codex: config.toml with local and remote servers', async () => {
  const found = await plan(
    `model = "gpt-5-codex"
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = ["-y", "@upstash/context7-mcp@1.0.0"]
env_vars = ["LOCAL_TOKEN"]
startup_timeout_sec = 20
tool_timeout_sec = 45
disabled_tools = ["slow"]

[mcp_servers.docs.env]
MY_ENV_VAR = "MY_ENV_VALUE"

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { "X-Team" = "TEAM" }
enabled = false
enabled_tools = ["open"]
disabled_tools = ["close"]

["mcp_servers"."with.dot"]
command = "x"
`,
    { answers: { LOCAL_TOKEN: 'local-1' } },
  )
  expect(found.source).toBe('codex')
  expect(bodies(found)).toMatchObject({
    docs: {
      ...{ command: 'npx', args: ['-y', '@upstash/context7-mcp@1.0.0'], timeout: 45_000 },
      ...{ env: { MY_ENV_VAR: 'MY_ENV_VALUE', LOCAL_TOKEN: `\${LOCAL_TOKEN}` }, tools: { slow: { enabled: false } } },
    },
    figma: {
      ...{ url: 'https://mcp.figma.example/mcp', enabled: false },
      headers: { 'X-Figma-Region': 'us-east-1', 'X-Team': `\${TEAM}`, Authorization: MASKED },
      ...{ tools: { open: { enabled: true }, close: { enabled: false } }, toolsDefault: 'off' },
    },
    'with.dot': { command: 'x' },
  })
  expect(
    found.items
      .find(({ name }) => name === 'figma')
      ?.asks?.map(({ name }) => name)
      .sort(),
  ).toEqual(['FIGMA_OAUTH_TOKEN', 'TEAM'])
  expect(found.items.find(({ name }) => name === 'docs')?.asks).toBeUndefined()
  expect(bodies(found).docs).not.toHaveProperty('toolsDefault')
  expect(left(found)).toEqual([])
})

test('Goose: config.yaml, without what is built in', async () => {
  const found = await plan(`GOOSE_PROVIDER: openai
extensions:
  developer:
    bundled: true
    display_name: Developer
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  fetch:
    args:
    - mcp-server-fetch
    available_tools: []
    cmd: uvx
    description: Fetches pages
    enabled: true
    env_keys:
    - FETCH_KEY
    envs: {}
    name: fetch
    timeout: 300
    type: stdio
  remote:
    enabled: false
    name: remote
    type: streamable_http
    uri: https://mcp.example/mcp
    available_tools: [read, list]
    headers:
      X-Team: a
`)
  expect(found.source).toBe('goose')
  expect(bodies(found)).toMatchObject({
    fetch: { command: 'uvx', args: ['mcp-server-fetch'], description: 'Fetches pages', timeout: 300_000 },
    remote: {
      url: 'https://mcp.example/mcp',
      transport: 'streamable-http',
      enabled: false,
      headers: { 'X-Team': 'a' },
      ...{ tools: { read: { enabled: true }, list: { enabled: true } }, toolsDefault: 'off' },
    },
  })
  expect(bodies(found).fetch).not.toHaveProperty('toolsDefault')
  expect(left(found)).toEqual(['#/extensions/developer'])
})

test('opencode, Zed, Claude Code with projects, and exports of other hubs', async () => {
  const opencode = await plan({
    $schema: 'https://opencode.ai/config.json',
    mcp: {
      local: { type: 'local', command: ['bun', 'x', 'my-mcp'], environment: { A: '{env:MY_A}' }, enabled: true },
      far: {
        type: 'remote',
        url: 'https://far.example/mcp',
        headers: { Authorization: 'Bearer {env:FAR}' },
        oauth: {},
      },
    },
  })
  expect(opencode.source).toBe('opencode')
  expect(bodies(opencode)).toMatchObject({
    local: { command: 'bun', args: ['x', 'my-mcp'], env: { A: `\${MY_A}` } },
    far: { url: 'https://far.example/mcp', headers: { Authorization: MASKED } },
  })
  expect(left(opencode)).toEqual(['#/mcp/far/oauth'])

  const zed = await plan(`{
    // Zed settings
    "theme": "One Dark",
    "context_servers": {
      "flat": {"source": "custom", "command": "uvx", "args": ["a"], "env": {}},
      "nested": {"command": {"path": "node", "args": ["b.js"], "env": {"K": "v"}}, "settings": {}},
      "extension": {"source": "extension", "settings": {"token": "x"}},
    },
  }`)
  expect(zed.source).toBe('zed')
  expect(bodies(zed)).toMatchObject({
    flat: { command: 'uvx', args: ['a'] },
    nested: { command: 'node', env: { K: 'v' } },
  })
  expect(left(zed)).toEqual(['#/context_servers/nested/settings', '#/context_servers/extension'])

  const claude = await plan({
    numStartups: 12,
    mcpServers: { shared: { type: 'http', url: 'https://shared.example/mcp' } },
    projects: {
      '/home/me/one': {
        allowedTools: [],
        mcpServers: { db: { type: 'stdio', command: 'db', args: ['one'], env: {} } },
      },
      '/home/me/two': {
        mcpServers: {
          db: { type: 'stdio', command: 'db', args: ['two'], env: {} },
          shared: { type: 'http', url: 'https://shared.example/mcp' },
        },
      },
    },
  })
  expect(claude.source).toBe('claude-code')
  expect(claude.items.map(({ name, pointer }) => [name, pointer])).toEqual([
    ['shared', '#/mcpServers/shared'],
    ['db', '#/projects/~1home~1me~1one/mcpServers/db'],
    ['db-2', '#/projects/~1home~1me~1two/mcpServers/db'],
  ])

  const exported = await plan({
    serverDefaults: { env: { SHARED: 'yes' } },
    mcpTemplates: {},
    mcpServers: {
      one: { type: 'STDIO', command: 'x', env: { OWN: '1' }, tags: ['a'], enabledTools: ['t'] },
      two: { type: 'STREAMABLE_HTTP', url: 'https://two.example/mcp', bearerToken: 'token-of-two' },
    },
  })
  expect(exported.source).toBe('hub-export')
  expect(bodies(exported)).toMatchObject({
    one: { transport: 'stdio', command: 'x', env: { SHARED: 'yes', OWN: '1' }, toolsDefault: 'off' },
    two: { transport: 'streamable-http', headers: { Authorization: MASKED } },
  })
  expect(left(exported)).toEqual(['#/mcpServers/one/tags', '#/mcpTemplates'])
})

test('files with a plain map: references, what is left out by name, and pointers into the file', async () => {
  const vscode = await plan(`{
    "inputs": [{"type": "promptString", "id": "api-key", "description": "API Key", "password": true}],
    "servers": {
      "perplexity": {
        "type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask@1.0.0"],
        "env": {"PERPLEXITY_API_KEY": "\${input:api-key}"}, "dev": {"watch": "src"},
      },
      "wrong": {"type": "http", "url": "ftp://x.example/"},
    },
  }`)
  expect(vscode.source).toBe('client')
  expect(bodies(vscode).perplexity).toMatchObject({ env: { PERPLEXITY_API_KEY: `\${api-key}` }, enabled: false })
  const [perplexity, wrong] = vscode.items
  expect(perplexity?.warnings.join()).toContain('dev')
  expect(perplexity?.asks).toEqual([{ name: 'api-key', secret: true } as never])
  expect(wrong).toMatchObject({ verdict: 'invalid', error: { errors: [{ pointer: '#/servers/wrong/url' }] } })
})
