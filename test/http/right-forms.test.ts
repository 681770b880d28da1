/** Programs and addresses in a form that cannot work here are recognised when a server is saved, with the right form as data. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { mergePatch } from '../../core/domain/json/merge-patch.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'

const URL = 'https://mcp.example/sse'
/** A placeholder for the home folder of the hub. */
const HOME = '/home-of-the-hub'
const REMOTE = { command: null, url: URL }

/** The body, the wrong field, and the right form as the answer has it; undefined if the form cannot be known. */
const REFUSED: readonly (readonly [object, string, object | undefined])[] = [
  [{ command: 'npx -y some-server' }, '/command', { command: 'npx', args: ['-y', 'some-server'] }],
  [
    { command: 'npx -y "@x/y z"', args: ['--p', '1'] },
    '/command',
    { command: 'npx', args: ['-y', '@x/y z', '--p', '1'] },
  ],
  [
    { command: 'KEY=v uvx mcp-x', env: { A: 'b' } },
    '/command',
    { command: 'uvx', args: ['mcp-x'], env: { A: 'b', KEY: 'v' } },
  ],
  [{ command: '/usr/bin/node /srv/x.js' }, '/command', { command: '/usr/bin/node', args: ['/srv/x.js'] }],
  [{ command: '"npx -y x"' }, '/command', { command: 'npx', args: ['-y', 'x'] }],
  [
    { command: '“npx”', args: ['–y', '—port', '1', 'x'] },
    '/command',
    { command: 'npx', args: ['-y', '--port', '1', 'x'] },
  ],
  [{ command: 'cd /srv && npm start' }, '/command', { command: 'sh', args: ['-c', 'cd /srv && npm start'] }],
  [{ command: 'npx x 2>&1 | tee log' }, '/command', { command: 'sh', args: ['-c', 'npx x 2>&1 | tee log'] }],
  [{ command: 'nohup npx x &' }, '/command', { command: 'sh', args: ['-c', 'nohup npx x &'] }],
  [{ command: "'npx'", args: ['x'] }, '/command', { command: 'npx', args: ['x'] }],
  [{ command: 'cmd', args: ['/c', 'npx', '-y', 'x'] }, '/command', { command: 'npx', args: ['-y', 'x'] }],
  [{ command: 'cmd.exe', args: ['/d', '/C', 'npx -y x'] }, '/command', { command: 'npx', args: ['-y', 'x'] }],
  [{ command: 'cmd /c npx -y x' }, '/command', { command: 'npx', args: ['-y', 'x'] }],
  [{ command: 'C:\\Windows\\System32\\cmd.exe', args: ['/c', 'npx.cmd', 'x'] }, '/command', undefined],
  [
    { command: 'powershell', args: ['-NoProfile', '-ExecutionPolicy', 'Bypass', '-Command', 'npx -y x'] },
    '/command',
    { command: 'npx', args: ['-y', 'x'] },
  ],
  [{ command: 'wsl.exe', args: ['-d', 'Debian', '-e', 'uvx', 'x'] }, '/command', { command: 'uvx', args: ['x'] }],
  [{ command: 'C:\\Tools\\server.exe' }, '/command', undefined],
  [{ command: 'C:/Tools/server.exe' }, '/command', undefined],
  [{ command: '\\\\host\\share\\run' }, '/command', undefined],
  [{ command: 'C:\\Program Files\\nodejs\\npx.cmd', args: ['x'] }, '/command', { command: 'npx', args: ['x'] }],
  [{ command: 'C:\\Program Files\\nodejs\\node.exe a.js' }, '/command', { command: 'node', args: ['a.js'] }],
  [{ command: 'npx.cmd', args: ['x'] }, '/command', { command: 'npx', args: ['x'] }],
  [{ command: 'run.bat' }, '/command', { command: 'run', args: [] }],
  [{ command: '~/bin/x' }, '/command', { command: `${HOME}/bin/x`, args: [] }],
  [{ command: '$HOME/bin/x', args: ['-v'] }, '/command', { command: `${HOME}/bin/x`, args: ['-v'] }],
  [{ command: 'x', cwd: '~/work' }, '/cwd', { cwd: `${HOME}/work` }],
  [{ command: 'x', cwd: 'C:\\work' }, '/cwd', undefined],
  [{ command: URL }, '/command', REMOTE],
  [{ command: URL, args: [], type: 'stdio' }, '/command', { ...REMOTE, args: null, type: null }],
  [{ url: 'npx -y x' }, '/url', { url: null, command: 'npx', args: ['-y', 'x'] }],
  [{ url: 'uvx', transport: 'sse' }, '/url', { url: null, command: 'uvx', args: [], transport: null }],
  [{ url: '/srv/run' }, '/url', { url: null, command: '/srv/run', args: [] }],
  [{ url: 'localhost:3000/mcp' }, '/url', { url: 'http://localhost:3000/mcp' }],
  [{ url: 'mcp.example.com/mcp' }, '/url', { url: 'https://mcp.example.com/mcp' }],
  [{ url: `"${URL}"` }, '/url', { url: URL }],
  [{ command: `npx mcp-remote ${URL}` }, '/command', REMOTE],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference that mcp-remote replaces
    { command: 'npx', args: ['mcp-remote', URL, '--header', 'Authorization:${AUTH}'], env: { AUTH: 'Bearer t' } },
    '/command',
    { ...REMOTE, args: null, env: null, headers: { Authorization: 'Bearer t' } },
  ],
]

/** Configurations that are saved unchanged, with the right form in a warning. */
const WARNED: readonly (readonly [object, object])[] = [
  [
    { command: 'npx', args: ['-y', 'mcp-remote@latest', URL] },
    { command: null, args: null, url: URL },
  ],
  [
    { command: 'mcp-remote', args: [URL, '--transport', 'sse-only', '--header', 'X: 1'] },
    { command: null, args: null, url: URL, transport: 'sse', headers: { X: '1' } },
  ],
  [
    { command: 'npx', args: ['-y', 'supergateway', '--sse', URL] },
    { command: null, args: null, url: URL, transport: 'sse' },
  ],
  [
    { command: 'uvx', args: ['mcp-proxy', '--transport=streamablehttp', '--headers', 'A', 'b c', URL] },
    { command: null, args: null, url: URL, transport: 'streamable-http', headers: { A: 'b c' } },
  ],
  [
    { command: 'node.exe', args: ['x.js'] },
    { command: 'node', args: ['x.js'] },
  ],
  [
    { command: 'npx', args: ['-y some-server /srv'] },
    { command: 'npx', args: ['-y', 'some-server', '/srv'] },
  ],
  [
    { command: 'npx', args: ['–y', 'x', '‘a b’'] },
    { command: 'npx', args: ['-y', 'x', 'a b'] },
  ],
  [
    { command: 'x', args: ['--in', '~/data'] },
    { command: 'x', args: ['--in', `${HOME}/data`] },
  ],
]

/** Forms that work, or may. */
const TAKEN: readonly object[] = [
  { command: 'npx', args: ['-y', 'x y'] },
  { command: '/opt/My Tools/run' },
  { command: '/opt/R&D Tools/run' },
  { command: 'npx', args: ['-y', 'x', '–'] },
  { command: 'npx', args: ['--title', 'one – two', '&&'] },
  { command: 'bash', args: ['-c', 'exec npx -y x'] },
  { command: 'sh', args: ['run this'] },
  { command: 'node', args: ['-e', 'console.log(1, 2)'] },
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the server
  { command: '${HOME}/x', variables: { HOME: '/srv' } },
  { command: 'npx', args: ['mcp-remote-tools', URL] },
  { url: 'https://mcp.example/mcp' },
]

let hub: Hub
let admin: Client
let count = 0

beforeAll(async () => {
  hub = await startHub({
    // Its home folder is read when the process starts.
    ownProcess: true,
    settings: {
      mcpServers: {
        filed: { command: 'npx -y some-server', env: { KEPT: 'yes' }, enabled: false },
      },
    },
  })
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const atHome = (value: unknown) =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value).replaceAll(hub.folder, HOME))
const named = (body: object): Record<string, unknown> => {
  count += 1
  return { name: `s${count}`, enabled: false, ...body }
}

describe('a form that cannot work is refused, with the right form', () => {
  test.each(REFUSED)('%j', async (body, field, right) => {
    const sent = named(body)
    const { status, json } = await admin.request('POST', '/api/servers', sent)
    expect({ status, code: json.code }).toEqual({ status: 400, code: 'validation_failed' })
    const [error] = json.errors
    expect(error.pointer).toBe(`#${field}`)
    expect(atHome(error.suggestion)).toEqual(right)
    if (right === undefined) return
    // biome-ignore lint/suspicious/noExplicitAny: bodies as the API has them
    const made = await admin.request('POST', '/api/servers', mergePatch(sent as any, error.suggestion))
    expect(made.status).toBe(201)
    expect(made.json.status.warnings).toBeUndefined()
  })
})

test.each(WARNED)('%j is saved, with the right form in a warning that one change applies', async (body, right) => {
  const sent = named(body)
  const { status, json } = await admin.request('POST', '/api/servers', sent)
  expect(status).toBe(201)
  const [warning] = json.status.warnings
  expect(warning.code).toBe('wrong_form')
  const { transport, ...fields } = warning.suggestion
  expect(atHome({ ...fields, ...(transport ? { transport } : {}) })).toEqual(right)
  const after = await admin.ok('PATCH', `/api/servers/${sent.name}`, warning.suggestion)
  expect(after.status.warnings).toBeUndefined()
})

test.each(TAKEN)('%j is taken as it is', async body => {
  const { status, json } = await admin.request('POST', '/api/servers', named(body))
  expect([status, json.status?.warnings]).toEqual([201, undefined])
})

test('a change to a wrong form is refused as well, in the shape of the body, and a trial before it starts anything', async () => {
  const { name } = await admin.ok('POST', '/api/servers', named({ command: 'x' }))
  const wrong = { command: 'npx -y x' }
  const right = { command: 'npx', args: ['-y', 'x'] }
  for (const [method, path, body, wanted] of [
    ['PATCH', `/api/servers/${name}`, wrong, right],
    ['PUT', `/api/servers/${name}`, { name, ...wrong }, right],
    ['PUT', `/api/servers/${name}`, { name, config: wrong }, { config: right }],
    ['POST', '/api/servers/test', { name, ...wrong }, right],
  ] as const) {
    const { status, json } = await admin.request(method, path, body)
    expect([method, status, json.errors?.[0].suggestion]).toEqual([method, 400, wanted])
  }
  const batch = await admin.request('POST', '/api/servers/batch', { servers: [named(wrong)] })
  expect(batch.json.results[0].error.errors[0].suggestion).toEqual(right)
})

test('an entry of the settings file stays with its other fields, and is put right by one change', async () => {
  const before = await admin.ok('GET', '/api/servers/filed')
  expect(before).toMatchObject({ command: 'npx -y some-server', env: { KEPT: 'yes' } })
  const { suggestion } = before.status.warnings[0]
  // A change of another field is not refused because of the stored command.
  await admin.ok('PATCH', '/api/servers/filed', { description: 'd' })
  const after = await admin.ok('PATCH', '/api/servers/filed', suggestion)
  expect(after).toMatchObject({ command: 'npx', args: ['-y', 'some-server'], env: { KEPT: 'yes' } })
  expect(after.status.warnings).toBeUndefined()
})

test('a pasted entry becomes the right form, and says so', async () => {
  const read = async (document: unknown) =>
    (await admin.ok('POST', '/api/servers/import?dryRun=true', { document })).entries[0]
  for (const document of [
    { mcpServers: { a: { command: 'cmd', args: ['/c', 'npx', '-y', 'x'] } } },
    { mcpServers: { a: { command: 'npx -y x' } } },
    'cmd /c npx -y x',
  ]) {
    const entry = await read(document)
    expect(entry).toMatchObject({ verdict: 'new', body: { command: 'npx', args: ['-y', 'x'] } })
    expect(entry.warnings.join()).toContain('written as it works here')
  }
  for (const document of [`npx -y mcp-remote ${URL}`, { mcpServers: { a: { command: URL } } }]) {
    const { verdict, body } = await read(document)
    expect([verdict, body.url, body.command]).toEqual(['new', URL, undefined])
  }
})

test('an ordinary user does not learn the home folder of the hub', async () => {
  const user = await hub.user('ada')
  const { json } = await user.request('POST', '/api/servers', named({ command: '~/bin/x' }))
  expect(JSON.stringify(json)).not.toContain(hub.folder)
  expect(json.errors[0].suggestion).toBeUndefined()
})

/** A command of the program on the hub's own machine. */
async function run(argv: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, DATA_DIR: hub.dataDir }
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [HUB_MAIN, ...argv], { env })) }
  } catch (error) {
    return { ...(error as { code: number; stdout: string; stderr: string }) }
  }
}

test('the command line prints the right form, of a refusal and of a warning', async () => {
  const refused = await run(['servers', 'add', 'cli-a', '--', 'npx -y x'])
  expect(refused.code).not.toBe(0)
  expect(refused.stderr).toContain('{"command":"npx","args":["-y","x"]}')
  const warned = await run(['servers', 'add', 'cli-b', '--disabled', '--', 'npx', 'mcp-remote', URL])
  expect(warned.code).toBe(0)
  expect(warned.stdout + warned.stderr).toContain(`"url":"${URL}"`)
})
