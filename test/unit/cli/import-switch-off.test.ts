/** Originals of an import are switched off in the client's own file, and come back byte by byte. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { load as parseYaml } from 'js-yaml'
import { parse as parseToml } from 'smol-toml'
import { readJsonc } from '../../../core/config/jsonc.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { type RunningHub, runningHub } from './running-hub.ts'

let hub: RunningHub
let home = ''
let key = ''

beforeAll(async () => {
  hub = await runningHub()
  key = JSON.parse((await hub.run(['key', 'create', 'cli', '--scope', 'api', '--json'])).stdout).secret
}, 120_000)
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await makeTemp('originals')
})
afterEach(() => removeTemp(home))

const run = (...argv: string[]) =>
  hub.run(['import', ...argv], { cwd: home, env: { HOME: home, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: key } })
const write = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(join(home, path)), { recursive: true })
  await writeFile(join(home, path), text)
}
const read = (path: string) => readFile(join(home, path), 'utf8')
const idOf = (stdout: string) => /--undo (\S+)/.exec(stdout)?.[1] ?? ''
const serverNames = async (): Promise<string> => (await hub.run(['servers', 'list'])).stdout

const CURSOR = `{
  // mine
  "mcpServers": {
    "one": { "url": "https://one.never.example/mcp" }, // goes
    /* kept */
    "two": { "url": "https://two.never.example/mcp", "disabled": false },
    "off": { "url": "https://off.never.example/mcp", "disabled": true },
  },
  "theme": "dark",
}
`
const CODEX = `model = "x" # mine

[mcp_servers.first]
url = "https://first.never.example/mcp" # far
enabled = true # yes

[mcp_servers."second"]
url = "https://second.never.example/mcp"

[mcp_servers.second.http_headers]
A = "b"
`
const GOOSE = `GOOSE_MODE: auto # mine
extensions:
  far:
    # a comment
    type: streamable_http
    uri: https://far.never.example/mcp
    enabled: true # on
  near: {type: builtin, name: near}
`
const CONTINUE = `name: mine
mcpServers:
  - name: alpha
    type: streamable-http
    url: https://alpha.never.example/mcp
  # of the next
  - name: beta
    type: sse
    url: https://beta.never.example/mcp
models: [] # none
`
const OPENCODE = '{"mcp":{"open":{"type":"remote","url":"https://open.never.example/mcp"}},"x":1}'

test.each<[string, string, string, (text: string) => unknown, unknown, readonly string[]]>([
  [
    ...(['cursor', '.cursor/mcp.json', CURSOR, (text: string) => readJsonc(text).value] as const),
    {
      theme: 'dark',
      mcpServers: {
        two: { url: 'https://two.never.example/mcp', disabled: true },
        off: { url: 'https://off.never.example/mcp', disabled: true },
      },
    },
    ['// mine', '/* kept */'],
  ],
  [
    ...(['codex', '.codex/config.toml', CODEX, (text: string) => parseToml(text)] as const),
    {
      model: 'x',
      mcp_servers: {
        first: { url: 'https://first.never.example/mcp', enabled: false },
        second: { url: 'https://second.never.example/mcp', enabled: false, http_headers: { A: 'b' } },
      },
    },
    ['# mine', 'enabled = false # yes', '# far'],
  ],
  [
    ...(['goose', '.config/goose/config.yaml', GOOSE, (text: string) => parseYaml(text)] as const),
    {
      GOOSE_MODE: 'auto',
      extensions: {
        far: { type: 'streamable_http', uri: 'https://far.never.example/mcp', enabled: false },
        near: { type: 'builtin', name: 'near' },
      },
    },
    ['# mine', '    # a comment', '    enabled: false # on'],
  ],
  [
    ...(['continue', '.continue/config.yaml', CONTINUE, (text: string) => parseYaml(text)] as const),
    { name: 'mine', mcpServers: [], models: [] },
    ['models: [] # none'],
  ],
  [
    ...(['opencode', '.config/opencode/opencode.json', OPENCODE, (text: string) => JSON.parse(text)] as const),
    { mcp: { open: { type: 'remote', url: 'https://open.never.example/mcp', enabled: false } }, x: 1 },
    [],
  ],
])(
  '%s: off in its own file, the rest as it is written, and back with the import',
  async (client, path, text, parse, value, kept) => {
    await write(path, text)
    await chmod(join(home, path), 0o644)
    const dry = await run('--from', client, '--switch-off', '--dry-run')
    expect([dry.code, dry.stderr, dry.stdout]).toEqual([0, '', expect.stringContaining('would switch off')])
    expect([await read(path), await readdir(dirname(join(home, path)))]).toEqual([text, [basename(path)]])
    const done = await run('--from', client, '--switch-off')
    expect([done.code, done.stderr]).toEqual([0, ''])
    const after = await read(path)
    expect(parse(after)).toEqual(value)
    for (const part of kept) expect(after).toContain(part)
    expect((await stat(join(home, path))).mode & 0o777).toBe(0o644)
    const copies = (await readdir(dirname(join(home, path)))).filter(name => name.endsWith('.bak'))
    expect(await Promise.all(copies.map(name => readFile(join(home, dirname(path), name), 'utf8')))).toEqual([text])
    const undone = await run('--undo', idOf(done.stdout))
    expect([undone.code, undone.stdout]).toEqual([0, expect.stringContaining('as it was before the import')])
    expect([await read(path), await readdir(dirname(join(home, path)))]).toEqual([text, [basename(path)]])
  },
)

test('a file that was changed since stays, and the copy is named', async () => {
  await write('mine.json', CURSOR)
  const done = await run('mine.json', '--switch-off')
  const edited = `${await read('mine.json')}// later\n`
  await write('mine.json', edited)
  const undone = await run('--undo', idOf(done.stdout), 'mine.json')
  expect([undone.code, undone.stdout]).toEqual([1, expect.stringContaining('config_changed')])
  expect(undone.stdout).toContain('.bak')
  expect(await read('mine.json')).toBe(edited)
  expect(await serverNames()).not.toContain('one')
})

test('--switch-on brings the file back and leaves the servers in the hub', async () => {
  await write('.cursor/mcp.json', CURSOR)
  const done = await run('--from', 'cursor', '--switch-off')
  const back = await run('--switch-on', '--from', 'cursor')
  expect([back.code, await read('.cursor/mcp.json')]).toEqual([0, CURSOR])
  expect(await serverNames()).toContain('two')
  expect((await run('--switch-on', '--from', 'cursor')).code).toBe(1)
  expect((await run('--undo', idOf(done.stdout))).code).toBe(0)
})

test('a second file with the same servers is switched off too, each with its own copy', async () => {
  await write('.cursor/mcp.json', CURSOR)
  await write('.gemini/settings.json', CURSOR)
  const first = await run('--from', 'cursor', '--switch-off')
  const second = await run('--from', 'gemini', '--switch-off')
  expect(second.stdout).toContain('same')
  for (const path of ['.cursor/mcp.json', '.gemini/settings.json']) expect(await read(path)).not.toContain('"one"')
  const undone = await run('--undo', idOf(first.stdout))
  expect(undone.code).toBe(0)
  expect([await read('.cursor/mcp.json'), await read('.gemini/settings.json')]).toEqual([
    CURSOR,
    expect.not.stringContaining('"one"'),
  ])
  expect((await run('--switch-on')).code).toBe(0)
  expect(await read('.gemini/settings.json')).toBe(CURSOR)
})

test('one server in several projects of Claude Code is off in all of them', async () => {
  const same = { url: 'https://shared.never.example/mcp' }
  const document = {
    mcpServers: {},
    projects: { '/a': { mcpServers: { shared: same }, history: [1] }, '/b': { mcpServers: { shared: same } } },
  }
  await write('.claude.json', JSON.stringify(document, null, 2))
  const done = await run('--from', 'claude-code', '--switch-off')
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(JSON.parse(await read('.claude.json'))).toEqual({
    mcpServers: {},
    projects: { '/a': { mcpServers: {}, history: [1] }, '/b': { mcpServers: {} } },
  })
  expect((await run('--undo', idOf(done.stdout))).code).toBe(0)
})

test('what the hub does not run stays on in the client', async () => {
  const wanting = { url: 'https://x.never.example/mcp', headers: { Authorization: `Bearer \${NOBODY}` } }
  await write('a.json', JSON.stringify({ mcpServers: { wanting, bad: { command: 5 } } }))
  const done = await run('a.json', '--switch-off')
  expect(done.stdout).toContain('wanting stays on: it is switched off in the hub')
  expect(done.stdout).toContain('bad stays on: the hub did not take it over')
  expect(Object.keys(JSON.parse(await read('a.json')).mcpServers)).toEqual(['wanting', 'bad'])
  expect((await run('--undo', idOf(done.stdout))).code).toBe(0)
})

test('a link stays a link, and the copy lies beside the file that it leads to', async () => {
  await write('real/mcp.json', CURSOR)
  await mkdir(join(home, '.cursor'))
  await symlink(join(home, 'real/mcp.json'), join(home, '.cursor/mcp.json'))
  const done = await run('--from', 'cursor', '--switch-off')
  expect((await lstat(join(home, '.cursor/mcp.json'))).isSymbolicLink()).toBe(true)
  expect([await read('real/mcp.json'), (await readdir(join(home, 'real'))).length]).toEqual([
    expect.not.stringContaining('"one"'),
    2,
  ])
  expect((await run('--undo', idOf(done.stdout))).code).toBe(0)
  expect(await read('real/mcp.json')).toBe(CURSOR)
})

test.each<[string, string, number, string]>([
  ['a.json', CURSOR, 0o444, 'config_read_only'],
  ['a.toml', 'mcp_servers = { tiny = { url = "https://tiny.never.example/mcp" } }\n', 0o644, 'config_unreadable'],
  ['a.yaml', 'mcpServers: {tiny: {url: "https://tiny.never.example/mcp"}}\n', 0o644, 'config_unreadable'],
])('%s: where it cannot be done nothing is imported: %j', async (path, text, mode, code) => {
  await write(path, text)
  await chmod(join(home, path), mode)
  const refused = await run(path, '--switch-off')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(code)])
  expect([await read(path), await readdir(home)]).toEqual([text, [path]])
  expect(await serverNames()).not.toMatch(/one|tiny/)
})

test('without a file, or for another owner, it is a wrong command line', async () => {
  expect((await run('--switch-off')).code).toBe(2)
  expect((await run('x.json', '--owner', 'ada', '--switch-off')).code).toBe(2)
})
