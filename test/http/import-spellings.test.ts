// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of other programs
/** Entries of other programs' settings as people paste them: each is accepted, and changes to it are shown. */
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

test.each<[string, string]>([
  [
    'Continue',
    'mcpServers:\n  - name: far\n    url: https://a.example/mcp\n    requestOptions:\n      headers: {X-Team: red}\n',
  ],
  ['LiteLLM', 'mcp_servers:\n  far:\n    url: https://a.example/mcp\n    static_headers: {X-Team: red}\n'],
])('the headers of %s come along', async (_, text) => {
  expect((await read(text))[0].body.headers).toEqual({ 'X-Team': 'red' })
})

test('broken YAML says where', async () => {
  const answer = await admin.request('POST', '/api/servers/import?dryRun=true', { document: 'mcpServers: {\n' })
  expect(answer.status).toBe(400)
  expect(answer.text).toMatch(/line \d/)
})

const WEATHER = {
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'io.github.ada/weather',
  description: 'Tells the weather',
  version: '1.2.0',
  packages: [
    {
      ...{ registryType: 'npm', identifier: '@ada/weather', version: '1.2.0', transport: { type: 'stdio' } },
      runtimeHint: 'npx',
      runtimeArguments: [{ type: 'positional', value: '-y' }],
      packageArguments: [
        { type: 'named', name: '--units', default: 'metric', isRequired: true },
        { type: 'named', name: '--cache', valueHint: 'folder' },
      ],
      environmentVariables: [
        { name: 'WEATHER_KEY', isRequired: true, isSecret: true },
        { name: 'REGION', default: 'eu' },
        { name: 'PROXY' },
      ],
    },
  ],
  remotes: [{ type: 'streamable-http', url: 'https://weather.example/mcp' }],
}
const REMOTE = {
  name: 'io.github.ada/far',
  version: '1.0.0',
  remotes: [
    {
      type: 'streamable-http',
      url: 'https://{tenant}.far.example/mcp',
      variables: { tenant: { isRequired: true } },
      headers: [
        { name: 'Authorization', value: 'Bearer {token}', variables: { token: { isRequired: true, isSecret: true } } },
        { name: 'X-Trace' },
      ],
    },
  ],
}
/** The spelling of the first versions of the format. */
const FORMER = {
  name: 'io.github.ada/former',
  version: '1.0.0',
  packages: [
    {
      ...{ registry_type: 'pypi', identifier: 'mcp-former', version: '0.3.0' },
      package_arguments: [{ type: 'positional', value_hint: 'folder', is_required: true }],
      environment_variables: [{ name: 'FORMER_KEY', is_required: true, is_secret: true }],
    },
  ],
}

test('server.json: its package, with what must be filled in as variables', async () => {
  const [found] = await read(JSON.stringify(WEATHER))
  expect(found).toMatchObject({ name: 'weather', writtenName: 'io.github.ada/weather' })
  expect(found.body).toMatchObject({
    ...{ transport: 'stdio', command: 'npx', description: 'Tells the weather' },
    args: ['-y', '@ada/weather@1.2.0', '--units', `\${UNITS}`],
    env: { WEATHER_KEY: `\${WEATHER_KEY}`, REGION: `\${REGION}` },
    variables: { UNITS: 'metric', REGION: 'eu' },
  })
  expect(found.body.env.PROXY).toBeUndefined()
  expect(found.body.variables.WEATHER_KEY).toBeUndefined()
  // The paste box of the console asks for missing values, and recognises them by this code alone.
  expect(found.error.errors.map(({ code }: { code: string }) => code)).toEqual(['variable_unknown'])
})

test('server.json: POST /api/import says what is missing, and takes the answer', async () => {
  const plan = async (answers: object) =>
    (await admin.ok('POST', '/api/import?dryRun=true', { document: JSON.stringify(WEATHER), answers })).items[0]
  const asked = await plan({})
  expect([asked.verdict, asked.missing]).toEqual(['new', [{ name: 'WEATHER_KEY', secret: true }]])
  expect(asked.warnings.join()).toContain('https://weather.example/mcp')
  const filled = await plan({ WEATHER_KEY: 'abc' })
  expect([filled.verdict, filled.missing, filled.body.enabled]).toEqual(['new', undefined, undefined])
  const wanted = { document: WEATHER, answers: { WEATHER_KEY: 'abc' }, off: true }
  const { planHash } = await admin.ok('POST', '/api/import?dryRun=true', wanted)
  const made = await admin.ok('POST', '/api/import', { ...wanted, planHash })
  const server = await admin.ok('GET', `/api/servers/${made.items[0].ref}`)
  expect(server.env.WEATHER_KEY).toBe(`\${WEATHER_KEY}`)
  expect(server.variables.WEATHER_KEY).toMatch(/^••••/)
})

test('server.json: a remote with variables in its address and headers', async () => {
  const [found] = await read(REMOTE)
  expect(found.body).toMatchObject({
    ...{ transport: 'streamable-http', url: `https://\${TENANT}.far.example/mcp` },
    headers: { Authorization: `Bearer \${TOKEN}` },
  })
  expect(found.body.headers['X-Trace']).toBeUndefined()
  expect(found.places).toBeUndefined()
})

test.each<[string, unknown]>([
  ['the former spelling', FORMER],
  ['the answer of a registry', { server: FORMER, _meta: {} }],
  ['a page of a registry', { servers: [{ server: FORMER, _meta: {} }], metadata: { count: 1 } }],
])('server.json: %s', async (_, document) => {
  expect((await read(document))[0]).toMatchObject({
    ...{ name: 'former', writtenName: 'io.github.ada/former' },
    body: { command: 'uvx', args: ['mcp-former==0.3.0', `\${FOLDER}`], env: { FORMER_KEY: `\${FORMER_KEY}` } },
  })
})

test('server.json: a package that the hub cannot start is named', async () => {
  const packages = [{ registryType: 'oci', identifier: 'docker.io/ada/x:1', transport: { type: 'stdio' } }]
  const [found] = await read({ name: 'io.github.ada/box', version: '1.0.0', packages })
  expect(found).toMatchObject({ verdict: 'invalid', name: 'box', pointer: '#/packages' })
  expect(found.error.errors[0].detail).toContain('oci')
})

test('a reference to a secret of another program is asked for, and its text is no value', async () => {
  const url = 'https://a.example/mcp'
  for (const [entry, body] of [
    [{ url, auth_type: 'api_key', auth_value: 'os.environ/MY_KEY' }, { headers: { 'X-API-Key': '${MY_KEY}' } }],
    [{ command: 'x', env: { API_KEY: '${{ secrets.MY_KEY }}' } }, { env: { API_KEY: '${MY_KEY}' } }],
    [{ url, headers: { Authorization: 'Bearer {{MY_KEY}}' } }, { headers: { Authorization: 'Bearer ${MY_KEY}' } }],
  ] as const) {
    const found = await one('a', entry)
    expect([found.verdict, found.error.errors.map(({ code }: { code: string }) => code)]).toEqual([
      ...['invalid', ['variable_unknown']],
    ])
    // The console fills in the reference itself, not a mask that stands for a text of the document.
    expect(found.body).toMatchObject(body)
    expect(found.places).toBeUndefined()
  }
})
