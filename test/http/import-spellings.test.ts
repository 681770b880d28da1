/** Entries of other programs' settings as people paste them: each is taken, and what was changed is shown. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

// biome-ignore lint/suspicious/noExplicitAny: verdicts as the API has them
const read = async (document: unknown): Promise<any[]> =>
  (await admin.ok('POST', '/api/servers/import?dryRun=true', { document })).entries
const one = async (name: string, entry: object) => (await read({ mcpServers: { [name]: entry } }))[0]

test.each([
  ['@modelcontextprotocol/server-github', 'modelcontextprotocol-server-github'],
  ['[prod] db', 'prod-db'],
  [' files ', 'files'],
  ['a:b', 'a-b'],
  ['io.github.ada/tools', 'io.github.ada-tools'],
  ['$smart', 'smart'],
  ['🙂', 'server'],
  ['x'.repeat(80), 'x'.repeat(64)],
])('the name %p is taken as %p, and both are shown', async (written, name) => {
  expect(await one(written, { command: 'x' })).toMatchObject({ verdict: 'new', name, writtenName: written })
})

test('a name that fits is taken as it is, and two that become one are numbered', async () => {
  expect((await one('my files', { command: 'x' })).writtenName).toBeUndefined()
  const entries = await read({ mcpServers: { 'a/b': { command: 'x' }, 'a@b': { command: 'y' } } })
  expect(entries.map(({ name, verdict }) => [name, verdict])).toEqual([
    ['a-b', 'new'],
    ['a-b-2', 'new'],
  ])
  const made = await admin.ok('POST', '/api/servers/import', {
    mcpServers: { '@x/y': { command: 'x', enabled: false } },
  })
  expect(made.entries).toMatchObject([{ verdict: 'created', name: 'x-y', writtenName: '@x/y' }])
})

test.each<[object, object]>([
  [{ command: 'x', args: ['--port', 8080, true, null] }, { args: ['--port', '8080', 'true'] }],
  [{ command: 'x', args: '-y "two words" --n 5' }, { args: ['-y', 'two words', '--n', '5'] }],
  [{ command: 'x', args: null, env: null, url: null, cwd: null, type: null }, { command: 'x' }],
  [{ url: 'https://a.example/mcp', command: null, headers: { A: null, B: 1 } }, { url: 'https://a.example/mcp' }],
  ...['http-stream', 'http_stream', 'streamableHttp', 'StreamableHTTP', 'streaming-http', 'streamable', 'HTTP'].map(
    (type): [object, object] => [{ type, url: 'https://a.example/mcp' }, { transport: 'streamable-http' }],
  ),
  ...['baseUrl', 'serverUrl', 'httpUrl', 'endpoint', 'uri'].map((key): [object, object] => [
    { [key]: 'https://a.example/mcp' },
    { url: 'https://a.example/mcp' },
  ]),
])('%j is read', async (entry, body) => {
  const found = await one('a', entry)
  expect(found).toMatchObject({ verdict: 'new', body })
})

test.each<[object, object]>([
  [{ command: 'npx', args: ['-y', 'mcp-remote', 'https://a.example/mcp'] }, { url: 'https://a.example/mcp' }],
  [
    { command: 'npx', args: ['mcp-remote@latest', 'https://a.example/sse', '--transport', 'sse-only'] },
    { url: 'https://a.example/sse', transport: 'sse' },
  ],
  [
    {
      command: 'cmd',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the bridge
      args: ['/c', 'npx', '-y', 'mcp-remote', 'https://a.example/mcp', '--header', 'X-Team:${TEAM}', '--debug'],
      env: { TEAM: 'red' },
    },
    { url: 'https://a.example/mcp', headers: { 'X-Team': 'red' } },
  ],
  [
    { command: 'npx', args: ['-y', 'supergateway', '--streamableHttp', 'https://a.example/mcp'] },
    { url: 'https://a.example/mcp', transport: 'streamable-http' },
  ],
  [{ command: 'npx -y mcp-remote https://a.example/mcp' }, { url: 'https://a.example/mcp' }],
])('a bridge to an address becomes the address: %j', async (entry, body) => {
  const found = await one('far', entry)
  expect(found).toMatchObject({ verdict: 'new', body })
  expect(found.body.command).toBeUndefined()
  expect(found.body.args).toBeUndefined()
})

test('a program that only has such a word among its arguments stays a program', async () => {
  expect(await one('a', { command: 'node', args: ['log.js', 'mcp-remote'] })).toMatchObject({
    body: { command: 'node' },
  })
})

test.each<[string, string]>([
  ['LibreChat', 'version: 1.2.1\nmcpServers:\n  far:\n    type: streamable-http\n    url: https://a.example/mcp\n'],
  [
    'Continue',
    'name: mine\nversion: 0.0.1\nmcpServers:\n  - name: far\n    type: sse\n    url: https://a.example/mcp\n',
  ],
  ['LiteLLM', 'model_list: []\nmcp_servers:\n  far:\n    url: "https://a.example/mcp"\n    transport: "http"\n'],
  ['one entry', 'far:\n  url: https://a.example/mcp\n'],
])('YAML of %s is read', async (_, text) => {
  expect(await read(text)).toMatchObject([{ verdict: 'new', name: 'far', body: { url: 'https://a.example/mcp' } }])
})

test('broken YAML says where', async () => {
  const answer = await admin.request('POST', '/api/servers/import?dryRun=true', { document: 'mcpServers: {\n' })
  expect(answer.status).toBe(400)
  expect(answer.text).toMatch(/line \d/)
})
