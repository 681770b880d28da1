// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of other programs
/** Texts that people copy from pages, files and terminals, sent to both doors as it is. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

type Body = Record<string, unknown>
// biome-ignore lint/suspicious/noExplicitAny: verdicts as the API has them
const pasted = async (document: unknown): Promise<any[]> =>
  (await admin.ok('POST', '/api/servers/import?dryRun=true', { document })).entries
// biome-ignore lint/suspicious/noExplicitAny: items as the API has them
const planned = async (document: unknown): Promise<any> => admin.ok('POST', '/api/import?dryRun=true', { document })

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64')
const X = { command: 'x' }
const FAR = { url: 'https://a.example/mcp' }
const CURSOR = `cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=${encodeURIComponent(base64(X))}`

test.each<[string, unknown, Body]>([
  // Marks of editors and pages.
  ['YAML with a byte order mark', '\ufeffmcpServers:\n  a:\n    command: x\n', X],
  ['JSON with a byte order mark', '\ufeff{"mcpServers":{"a":{"command":"x"}}}', X],
  ['a fence', '```json\n{"mcpServers":{"a":{"command":"x"}}}\n```', X],
  ['half a fence', '```json\n{"mcpServers":{"a":{"command":"x"}}}', X],
  ['a page with a fence', 'Add this:\n\n```jsonc\n{"mcpServers":{"a":{"command":"x"}}} // mine\n```\nThen restart.', X],
  ['words around an object', 'Put it into ~/.cursor/mcp.json:\n{"mcpServers":{"a":{"command":"x"}}}\nThen restart.', X],
  ['single quotes', "{'mcpServers': {'a': {'command': 'x'}}}", X],
  ['quotes of a word processor', '{“mcpServers”: {“a”: {“command”: “x”}}}', X],
  ['keys without quotes', '{ mcpServers: { a: { command: "x", }, }, }', X],
  ['blanks that do not break', '{\u00a0"mcpServers":\u00a0{"a":{"command":"x"}}}', X],
  ['members without braces', '"mcpServers": {"a":{"command":"x"}}', X],
  ['members with braces of what was not copied', '"a": {"command":"x"}\n    }\n  }', X],
  ['a mail', '> {\n>   "mcpServers": {"a": {"command":"x"}}\n> }', X],
  ['a change', '+{\n+  "mcpServers": {"a": {"command":"x"}}\n+}', X],
  ['the source of a page', '{&quot;mcpServers&quot;:{&quot;a&quot;:{&quot;command&quot;:&quot;x&quot;}}}', X],
  ['JavaScript', 'const config = {\n  mcpServers: { a: { command: "x" } }\n};', X],
  ['Python', "client = MultiServerMCPClient({\n  'a': {'command': 'x', 'transport': 'stdio', 'env': None},\n})", X],
  ['an ellipsis', '{ "mcpServers": { ..., "a": { "command": "x" } } }', X],
  [
    'an installation before it',
    'First:\n```bash\nnpm install -g x\n```\nThen:\n```json\n{"mcpServers":{"a":{"command":"x"}}}\n```',
    X,
  ],
  ['YAML with quotes', '"mcpServers":\n  "a":\n    "command": "x"', X],
  ['a form', 'Name: a\nType: stdio\nCommand: x\nArgs: -y z', { ...X, args: ['-y', 'z'] }],
  ['a sentence', 'Run `claude mcp add a -- x` and restart.', X],
  // Containers.
  ['mcp.servers', { 'mcp.servers': { a: X } }, X],
  ['mcp.mcpServers', { 'mcp.mcpServers': { a: X } }, X],
  ['mcp-servers', { 'mcp-servers': { a: X } }, X],
  ['mcpservers', { mcpservers: { a: X } }, X],
  ['MCP_SERVERS', { MCP_SERVERS: { a: X } }, X],
  ['mcp_config', { mcp_config: { mcpServers: { a: X } } }, X],
  ['mcp_config with the servers', { mcp_config: { a: X } }, X],
  ['config.mcpServers', { config: { mcpServers: { a: X } } }, X],
  ['an empty map before another', { mcpServers: {}, servers: { a: X } }, X],
  ['null before another', { mcpServers: null, context_servers: { a: X } }, X],
  ['projects beside an empty map', { mcpServers: {}, projects: { '/p': { mcpServers: { a: X } } } }, X],
  ['a file in a file', { mcpServers: { mcpServers: { a: X } } }, X],
  ['opencode', { mcp: { a: { type: 'local', command: ['x', '-y'], enabled: true } } }, { ...X, args: ['-y'] }],
  ['Codex', '[mcp_servers.a]\ncommand = "x"\nstartup_timeout_sec = 20\n', { ...X, startTimeout: 20_000 }],
  [
    'Goose',
    'extensions:\n  a:\n    type: stdio\n    cmd: x\n    envs: {A: "1"}\n    timeout: 300\n',
    { ...X, timeout: 300_000 },
  ],
  ['Zed', { context_servers: { a: { command: { path: 'x', args: ['-y'] } } } }, { ...X, args: ['-y'] }],
  ['Anthropic', { mcp_servers: [{ type: 'url', name: 'a', ...FAR }] }, FAR],
  [
    'OpenAI',
    { model: 'm', tools: [{ type: 'function' }, { type: 'mcp', server_label: 'a', server_url: FAR.url }] },
    FAR,
  ],
  // Links and lines.
  ['a link of Cursor', CURSOR, X],
  ['a badge on a page', `Click [![Install](https://img.example/x.svg)](${CURSOR}) to begin.`, X],
  ['a link of cursor.com', `https://cursor.com/en/install-mcp?name=a&config=${base64(X)}`, X],
  ['a link of VS Code', `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'a', ...X }))}`, X],
  [
    'the page of VS Code',
    `https://insiders.vscode.dev/redirect/mcp/install?name=a&config=${encodeURIComponent(JSON.stringify(X))}&quality=insiders`,
    X,
  ],
  [
    'the redirect of VS Code',
    `https://vscode.dev/redirect?url=${encodeURIComponent(`vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'a', ...X }))}`)}`,
    X,
  ],
  ['a link of LM Studio', `lmstudio://add_mcp?name=a&config=${base64(FAR)}`, FAR],
  ['a link of Goose', 'goose://extension?cmd=x&arg=-y&id=a&name=a', { ...X, args: ['-y'] }],
  [
    'claude mcp add',
    'claude mcp add --transport http a https://a.example/mcp --header "X-Team: red"',
    { ...FAR, headers: { 'X-Team': 'red' } },
  ],
  [
    'claude mcp add with a program',
    'claude mcp add a --env A=1 B=2 -- x -y',
    { ...X, args: ['-y'], env: { A: '1', B: '2' } },
  ],
  ['claude mcp add without dashes', 'claude mcp add a -s user x --port 1', { ...X, args: ['--port', '1'] }],
  ['claude mcp add-json', `claude mcp add-json a '{"type":"stdio","command":"x"}'`, X],
  ['codex mcp add', '$ codex mcp add a --env A=1 -- x -y', { ...X, args: ['-y'], env: { A: '1' } }],
  ['codex mcp add --url', 'codex mcp add a --url https://a.example/mcp --bearer-token-env-var TOK', FAR],
  ['gemini mcp add', 'gemini mcp add -t http a https://a.example/mcp --timeout 5000', { ...FAR, timeout: 5_000 }],
  ['code --add-mcp', `code --add-mcp '{"name":"a","command":"x"}'`, X],
  ['continued lines', 'claude mcp add a \\\n  --env A=1 \\\n  -- x', { ...X, env: { A: '1' } }],
  // Members.
  ['env as texts', { mcpServers: { a: { ...X, env: ['A=1', 'B=two=3'] } } }, { env: { A: '1', B: 'two=3' } }],
  ['env as objects', { mcpServers: { a: { ...X, env: [{ name: 'A', value: 1 }] } } }, { env: { A: '1' } }],
  ['env as lines', { mcpServers: { a: { ...X, env: 'A=1\n# no\nB="2 3"' } } }, { env: { A: '1', B: '2 3' } }],
  ['headers as texts', { mcpServers: { a: { ...FAR, headers: ['X-A: b'] } } }, { headers: { 'X-A': 'b' } }],
  [
    'headers as objects',
    { mcpServers: { a: { ...FAR, headers: [{ key: 'X-A', value: 'b' }] } } },
    { headers: { 'X-A': 'b' } },
  ],
  ['headers as a text', { mcpServers: { a: { ...FAR, headers: 'X-A: b:c' } } }, { headers: { 'X-A': 'b:c' } }],
  ['disabled as a word', { mcpServers: { a: { ...X, disabled: 'true' } } }, { enabled: false }],
  ['enabled as a word', { mcpServers: { a: { ...X, enabled: 'False' } } }, { enabled: false }],
  ['enabled as a number', { mcpServers: { a: { ...X, enabled: 0 } } }, { enabled: false }],
  ['a time with its unit', { mcpServers: { a: { ...X, timeout: '60s' } } }, { timeout: 60_000 }],
  ['a time as a text', { mcpServers: { a: { ...X, timeout: '60000' } } }, { timeout: 60_000 }],
  ['timeoutMs', { mcpServers: { a: { ...X, timeoutMs: 500 } } }, { timeout: 500 }],
  [
    'tool_timeout_sec',
    { mcpServers: { a: { ...X, tool_timeout_sec: 60, startup_timeout_ms: 9_000 } } },
    { timeout: 60_000, startTimeout: 9_000 },
  ],
  [
    'a list of approved tools',
    { mcpServers: { a: { ...X, timeout: '1800', autoApprove: [] } } },
    { timeout: 1_800_000 },
  ],
  ...['workingDirectory', 'working_dir', 'dir', 'workdir'].map((member): [string, unknown, Body] => [
    member,
    { mcpServers: { a: { ...X, [member]: '/tmp' } } },
    { cwd: '/tmp' },
  ]),
  [
    'a transport that is an object',
    { mcpServers: { a: { transport: { type: 'sse', ...FAR } } } },
    { ...FAR, transport: 'sse' },
  ],
  ['a config in a list', { mcpServers: [{ title: 'a', config: X }] }, X],
  ['empty members', { mcpServers: { a: { ...X, type: '', url: '', args: '', env: [] } } }, X],
  ['blanks around members', { mcpServers: { a: { url: ' https://a.example/mcp ' } } }, FAR],
  ['no scheme', { mcpServers: { a: { url: 'a.example/mcp' } } }, FAR],
])('%s is read', async (_, document, body) => {
  const [entry, ...others] = await pasted(document)
  expect(others).toEqual([])
  expect(entry).toMatchObject({ name: 'a', body })
  expect(entry.error?.errors?.filter(({ code }: { code: string }) => code !== 'variable_unknown') ?? []).toEqual([])
})

test.each<[string, unknown, string, Body]>([
  ['a page', `Add:\n\`\`\`toml\n[mcp_servers.a]\ncommand = "x"\n\`\`\`\n`, 'codex', X],
  ['opencode in a fence', '```\n{mcp: {a: {type: "local", command: ["x"]}}}\n```', 'opencode', X],
  ['a link', CURSOR, 'client', X],
  ['a line', 'claude mcp add a --env A=1 -- x', 'client', { ...X, env: { A: '1' } }],
  [
    'members of other programs',
    { mcpServers: { a: { ...X, env: ['A=1'], enabled: '0' } } },
    'client',
    { enabled: false },
  ],
])('%s is read by POST /api/import too', async (_, document, source, body) => {
  expect(await planned(document)).toMatchObject({
    source,
    items: [{ kind: 'server', name: 'a', verdict: 'new', body }],
  })
})

test.each<[string, Body]>([
  ['npx -y x-mcp', { command: 'npx', args: ['-y', 'x-mcp'] }],
  ['> npx -y x-mcp', { command: 'npx', args: ['-y', 'x-mcp'] }],
  ['PS C:\\Users\\ada> npx -y x-mcp', { command: 'npx', args: ['-y', 'x-mcp'] }],
  ['`npx -y x-mcp`', { command: 'npx', args: ['-y', 'x-mcp'] }],
  ['command = "npx"\nargs = ["-y", "x-mcp"]\n', { command: 'npx', args: ['-y', 'x-mcp'] }],
  ['docker run -i --rm -e A mcp/x', { command: 'docker', args: ['run', '-i', '--rm', '-e', 'A', 'mcp/x'] }],
  ['mcp.a.example/mcp', { url: 'https://mcp.a.example/mcp' }],
  ['localhost:8000/sse', { url: 'http://localhost:8000/sse' }],
  ['<https://a.example/mcp>', FAR],
  ['"https://a.example/mcp"', FAR],
  ['[a](https://a.example/mcp)', FAR],
])('%p alone is read', async (document, body) => {
  expect(await pasted(document)).toMatchObject([{ verdict: 'new', body }])
})

test('several lines and several containers are several servers', async () => {
  const lines = '# first\nclaude mcp add a -- x\n\nclaude mcp add --transport http b https://b.example/mcp'
  expect((await pasted(lines)).map(({ name }) => name)).toEqual(['a', 'b'])
  const both = { mcpServers: { a: X }, 'mcp.servers': { b: X } }
  expect((await pasted(both)).map(({ name, at }) => [name, at])).toEqual([
    ['a', '#/mcpServers/a'],
    ['b', '#/mcp.servers/b'],
  ])
})

test.each<[string, Body, RegExp]>([
  ['envFile', { ...X, envFile: '.env' }, /#\/servers\/a\/envFile.*"env"/],
  ['oauth', { ...FAR, oauth: { clientId: 'c-1' } }, /#\/servers\/a\/oauth.*header/],
  ['auth', { ...FAR, auth: { type: 'oauth', clientSecret: 'never-shown-1' } }, /#\/servers\/a\/auth:.*header/],
  ['a member of a member', { transport: { type: 'http', ...FAR, oauth: {} } }, /#\/servers\/a\/transport\/oauth/],
  ['trust', { ...X, trust: true }, /#\/servers\/a\/trust.*client/],
  ['a short time', { ...X, timeout: 60 }, /timeout 60 counts as seconds/],
  ['another member', { ...X, colour: 'red' }, /colour/],
])('%s is left out or guessed in words', async (_, entry, words) => {
  const document = { servers: { a: entry } }
  const [verdict] = await pasted(document)
  expect(verdict.warnings.join('\n')).toMatch(words)
  expect(JSON.stringify(verdict)).not.toContain('never-shown')
})

test.each<[string, unknown, RegExp]>([
  ['an installer', 'npx -y @smithery/cli install @a/b --client claude', /file of a client/],
  ['an installation', 'npm install -g x-mcp', /installs something/],
  ['claude mcp list', 'claude mcp list', /claude mcp list/],
  ['a line with no server', 'claude mcp add a', /names no program and no address/],
  ['a link of a gallery', 'vscode:mcp/by-name/io.github.a/b', /gallery/],
  [
    'a link with a broken configuration',
    'cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=%7B',
    /"config"/,
  ],
  ['an address that is no HTTP', 'wss://a.example/mcp', /wss:\/\//],
  ['a document without servers', { editor: 1, window: 2 }, /"editor", "window".*mcpServers/],
  [
    'an extension of Zed',
    { context_servers: { g: { source: 'extension', settings: { token: 'never-shown-2' } } } },
    /extension/,
  ],
])('%s is refused in words', async (_, document, words) => {
  const { text } = await admin.request('POST', '/api/servers/import?dryRun=true', { document })
  expect(text.replaceAll('\\"', '"')).toMatch(words)
  expect(text).not.toContain('never-shown')
})

const TOKEN = 'tok-3f9a77c1'
test.each<[string, unknown]>([
  ...['bearerToken', 'token', 'authToken', 'authorization_token', 'accessToken', 'apiKey'].map(
    (member): [string, unknown] => [member, { mcpServers: { a: { ...FAR, [member]: TOKEN } } }],
  ),
  ['authorization', { mcpServers: { a: { ...FAR, authorization: `Bearer ${TOKEN}` } } }],
  ['auth', { mcpServers: { a: { ...FAR, auth: { type: 'bearer', token: TOKEN } } } }],
  ['a header of a line', `claude mcp add -t http a ${FAR.url} --header "Authorization: Bearer ${TOKEN}"`],
  ['a link', `lmstudio://add_mcp?name=a&config=${base64({ ...FAR, headers: { Authorization: `Bearer ${TOKEN}` } })}`],
  ['TOML', `[mcp_servers.a]\nurl = "${FAR.url}"\nbearer_token = "${TOKEN}"\n`],
])('a token in %s is a header, and is in no answer and no log', async (_, document) => {
  const { text } = await admin.request('POST', '/api/servers/import?dryRun=true', { document })
  expect(text).not.toContain(TOKEN)
  const [{ name, verdict, body }] = JSON.parse(text).entries
  expect([name, verdict]).toEqual(['a', 'new'])
  expect(body.headers.Authorization).toMatch(/^••••/)
  expect(hub.log()).not.toContain(TOKEN)
})

test.each<[string, string, string, object | undefined]>([
  ['in YAML', `a:\n  command: x\n  env:\n    API_KEY: ${TOKEN}\n`, '/env/API_KEY', { from: 36, to: 48 }],
  [
    'behind a scheme',
    `{"a": {"url": "${FAR.url}", "token": "${TOKEN}"}}`,
    '/headers/Authorization',
    { from: 49, to: 61, before: 'Bearer ' },
  ],
  [
    'in Base64',
    `lmstudio://add_mcp?name=a&config=${base64({ ...X, env: { API_KEY: TOKEN } })}`,
    '/env/API_KEY',
    undefined,
  ],
])('a form learns where the text has a secret %s', async (_, document, pointer, span) => {
  const [{ spans = {} }] = await pasted(document)
  expect(spans[pointer]).toEqual(span)
  if (span) expect(document.slice(spans[pointer].from, spans[pointer].to)).toBe(TOKEN)
})

test('a variable that holds a token is asked for', async () => {
  const { items } = await planned({ mcpServers: { a: { ...FAR, bearer_token_env_var: 'MY_TOKEN' } } })
  expect(items).toMatchObject([{ missing: [{ name: 'MY_TOKEN', secret: true }] }])
})

test('placeholders stay variables, with their defaults', async () => {
  const env = { A: '${env:ONE}', B: '${input:two}', C: '${THREE:-3}' }
  const { items } = await planned(`{'mcpServers': {'a': {'command': 'x', 'env': ${JSON.stringify(env)}}}}`)
  expect(items[0].missing.map(({ name }: { name: string }) => name)).toEqual(['ONE', 'two'])
  expect(items[0].body.variables).toMatchObject({ THREE: '3' })
})

test('a pasted OpenAPI document is a server of that API', async () => {
  const document = { openapi: '3.0.0', info: { title: 'Pets' }, servers: [FAR], paths: { '/pets': { get: {} } } }
  expect(await pasted(JSON.stringify(document))).toMatchObject([{ name: 'Pets', verdict: 'new' }])
})
