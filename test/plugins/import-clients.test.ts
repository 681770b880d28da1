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
  missing?: { name: string }[]
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
      ?.missing?.map(({ name }) => name)
      .sort(),
  ).toEqual(['FIGMA_OAUTH_TOKEN', 'TEAM'])
  expect(found.items.find(({ name }) => name === 'docs')?.missing).toBeUndefined()
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

test('opencode: switches of tools by name and by pattern', async () => {
  const found = await plan({
    mcp: {
      'my.docs': { type: 'local', command: ['docs'] },
      git: { type: 'remote', url: 'https://git.example/mcp' },
      other: { type: 'local', command: ['other'] },
      quiet: { type: 'local', command: ['quiet'] },
    },
    tools: { bash: false, 'my*': false, my_docs_search: true, git_push: false, 'git_delete_*': false, 'other_?': true },
    permission: { edit: 'ask', quiet_write: 'deny', quiet_read: 'allow', bash: { '*': 'ask' } },
    agent: { build: { tools: { 'git*': false } }, plain: { model: 'x' } },
  })
  expect(bodies(found)).toMatchObject({
    'my.docs': { toolsDefault: 'off', tools: { search: { enabled: true } } },
    git: { tools: { push: { enabled: false } } },
    quiet: { tools: { write: { enabled: false } } },
  })
  expect(bodies(found).git).not.toHaveProperty('toolsDefault')
  expect(bodies(found).other).not.toHaveProperty('tools')
  expect(left(found)).toEqual(['#/tools/git_delete_*', '#/agent/build/tools'])
  expect(found.notCarried[0]?.what).toContain('"git"')
})

test('opencode: a switch that is off by the order of the file or by its length is off', async () => {
  const local = { type: 'local', command: ['x'] }
  const found = await plan({
    mcp: { a: local, b: local, c: local },
    tools: { '*': true, a_one: true, 'a_*': false, 'b*': false, b_two: true, 'c_*': true },
  })
  expect(bodies(found)).toMatchObject({
    a: { toolsDefault: 'off' },
    b: { toolsDefault: 'off', tools: { two: { enabled: true } } },
  })
  expect(bodies(found).a).not.toHaveProperty('tools')
  expect(bodies(found).c).not.toHaveProperty('toolsDefault')
  const many = Array.from({ length: 3_000 }, (_, at) => [`${'*a'.repeat(60)}${at}`, false])
  const names = Array.from({ length: 3_000 }, (_, at) => [`a_${'a'.repeat(60)}${at}`, false])
  const document = { mcp: { a: local }, tools: Object.fromEntries([...many, ...names]) }
  const { status, json } = await admin.request('POST', '/api/import?dryRun=true', { document })
  expect([status, json.code]).toEqual([400, 'validation_failed'])
})

test('Claude Code, Gemini CLI and Crush: what the file says of servers beside their entries', async () => {
  const claude = await plan({
    mcpServers: { docs: { command: 'docs' }, git: { command: 'git' } },
    permissions: { allow: ['mcp__docs__read', 'Bash(ls:*)'], deny: ['mcp__git', 'mcp__docs__drop', 'mcp__docs__rm_*'] },
    projects: {
      '/p': { mcpServers: { own: { command: 'own' } }, disabledMcpServers: ['own', 'docs'], allowedTools: [] },
    },
  })
  expect(claude.source).toBe('claude-code')
  expect(bodies(claude)).toMatchObject({
    docs: { tools: { drop: { enabled: false } } },
    git: { toolsDefault: 'off' },
    own: { enabled: false },
  })
  expect(claude.items.find(({ name }) => name === 'docs')?.warnings.join()).toContain('"rm_*"')
  expect(left(claude)).toEqual(['#/permissions/allow', '#/projects/~1p/disabledMcpServers'])

  const gemini = await plan({
    mcp: { excluded: ['b'], allowed: ['a', 'b'] },
    mcpServers: {
      a: { httpUrl: 'https://a.example/mcp', url: 'https://a.example/sse' },
      b: { command: 'b' },
      c: { command: 'c' },
    },
  })
  expect(gemini.source).toBe('gemini')
  expect(bodies(gemini)).toMatchObject({
    a: { url: 'https://a.example/mcp', transport: 'streamable-http' },
    b: { enabled: false },
    c: { enabled: false },
  })

  const crush = await plan({
    $schema: 'https://charm.land/crush.json',
    mcp: { fs: { type: 'stdio', command: 'fs', timeout: 120, disabled: true, disabled_tools: ['rm'] } },
    options: { disabled_tools: ['bash', 'mcp_fs_write'] },
  })
  expect(crush.source).toBe('crush')
  expect(bodies(crush)).toMatchObject({ fs: { timeout: 120_000, enabled: false, tools: { rm: { enabled: false } } } })
  expect(left(crush)).toEqual(['#/options/disabled_tools'])
})

test('plain maps: approvals stay with the client, and a timeout of doubtful unit is named', async () => {
  const found = await plan({
    mcpServers: {
      cline: { command: 'x', autoApprove: ['a'], timeout: 60 },
      unsure: { command: 'y', timeout: 30 },
      far: { type: 'remote', url: 'https://far.example/mcp' },
    },
  })
  const [cline, unsure, far] = found.items
  expect(cline).toMatchObject({ body: { timeout: 60_000 }, warnings: [expect.stringContaining('autoApprove')] })
  expect(unsure).toMatchObject({
    body: { timeout: 30_000 },
    warnings: [expect.stringContaining('its timeout 30 counts as seconds')],
  })
  expect(far?.body).not.toHaveProperty('transport')
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
      "nested": {"command": {"path": "node", "args": ["b.js"], "env": {"K": "v"}, "timeout": 90}, "settings": {}},
      "extension": {"source": "extension", "settings": {"token": "x"}},
    },
    "agent": {"profiles": {"write": {"context_servers": {"flat": {"tools": {"a": false}}}}}},
  }`)
  expect(zed.source).toBe('zed')
  expect(bodies(zed)).toMatchObject({
    flat: { command: 'uvx', args: ['a'] },
    nested: { command: 'node', env: { K: 'v' }, timeout: 90_000 },
  })
  expect(left(zed)).toEqual([
    '#/context_servers/nested/settings',
    '#/context_servers/extension',
    '#/agent/profiles/write/context_servers',
  ])

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
      three: { type: 'SSE', url: 'https://three.example/sse', tags: ['EU', 'eu', 'a'.repeat(33), 5] },
      four: { type: 'SSE', url: 'https://four.example/sse', tags: 'EU, US' },
    },
  })
  expect(exported.source).toBe('hub-export')
  expect(bodies(exported)).toMatchObject({
    one: { transport: 'stdio', command: 'x', env: { SHARED: 'yes', OWN: '1' }, toolsDefault: 'off', tags: ['a'] },
    two: { transport: 'streamable-http', headers: { Authorization: MASKED } },
    three: { tags: ['EU'] },
  })
  expect(bodies(exported).four).not.toHaveProperty('tags')
  const warned = Object.fromEntries(exported.items.map(({ name, warnings }) => [name, warnings]))
  expect(warned).toEqual({
    ...{ one: [], two: [] },
    three: ['A tag is left out, and 1 more: A tag name has 1 to 32 characters, this one 33'],
    four: ['The tags are left out: they are not a list'],
  })
  expect(left(exported)).toEqual(['#/mcpTemplates'])
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
  expect(perplexity?.missing).toEqual([{ name: 'api-key', secret: true } as never])
  expect(wrong).toMatchObject({ verdict: 'invalid', error: { errors: [{ pointer: '#/servers/wrong/url' }] } })
})
