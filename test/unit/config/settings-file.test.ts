import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeInPlace } from '../../../core/config/atomic-write.ts'
import { openSettingsFile, type SettingsFile } from '../../../core/config/settings-file.ts'
import { SettingsError } from '../../../core/config/settings-text.ts'
import type { SettingsState } from '../../../core/config/shape/settings.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { tempFolder, until } from './temp.ts'

const RUNTIME = '/opt/bun'
const PROGRAM = '/opt/patchbay/core/main.ts'

const SAMPLE = `{
  // kept
  "mcpServers": {
    "time": { "command": "uvx", "args": ["mcp-server-time"], "disabled": false }, // kept too
    "alice::time": {
      "type": "streamableHttp",
      "url": "https://time.example/mcp",
      "options": { "timeout": 5000, "maxTotalTimeout": 9000 }
    },
    "own": { "command": "patchbay", "args": ["sample-server"] }
  },
  "groups": [
    { "name": "g", "servers": ["time"] }, // a group
  ],
  "mystery": { "kept": true }
}
`

interface Opened extends AsyncDisposable {
  readonly file: SettingsFile
  readonly path: string
  readonly folder: string
  text(): Promise<string>
}

async function opened(text = SAMPLE): Promise<Opened> {
  const temp = await tempFolder()
  const path = join(temp.path, 'mcp_settings.json')
  await writeFile(path, text, { mode: 0o600 })
  const file = await openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM })
  return {
    file,
    path,
    folder: temp.path,
    text: () => readFile(path, 'utf8'),
    async [Symbol.asyncDispose]() {
      file.dispose()
      await temp[Symbol.asyncDispose]()
    },
  }
}

async function failure<E extends Error>(kind: new (...args: never[]) => E, work: () => Promise<unknown>): Promise<E> {
  try {
    await work()
  } catch (error) {
    if (error instanceof kind) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const server = (state: SettingsState, name: string, owner?: string) =>
  state.file.servers.find(entry => entry.name === name && entry.owner === owner)?.body

describe('openSettingsFile()', () => {
  const broken: readonly [string, string, string, string][] = [
    ['an empty file', '', 'settings_json', 'line 1, column 1'],
    ['a cut file', '{\n  "mcpServers": {\n', 'settings_json', 'line'],
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 'settings_json', 'line 3, column 3'],
    ['a list', '\n []', 'settings_json', 'line 2, column 2'],
    [
      'a key twice',
      '{\n  "mcpServers": {\n    "a": {},\n    "a": {}\n  }\n}',
      'settings_duplicate',
      'line 4, column 5',
    ],
    ['one name in two cases', '{"mcpServers": {\n "a": {},\n "A": {}}}', 'settings_duplicate', 'line 3, column 2'],
    ['a newer version', '{\n "version": 2}', 'settings_newer', 'line 2'],
    ['nesting without end', '['.repeat(100_000), 'settings_json', 'deep'],
  ]
  test.each(broken)('refuses %s with exit code 78 and leaves it as it is', async (_what, text, code, where) => {
    await using temp = await tempFolder()
    const path = join(temp.path, 's.json')
    await writeFile(path, text, { mode: 0o600 })
    const error = await failure(SettingsError, () =>
      openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM }),
    )
    expect([error.code as string, error.exitCode]).toEqual([code, 78])
    expect(error.message).toContain(where)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('refuses bytes that are no UTF-8, and a file that everybody may write', async () => {
    await using temp = await tempFolder()
    const path = join(temp.path, 's.json')
    const open = () => openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM })
    await writeFile(path, Buffer.from([0x7b, 0xff, 0x7d]))
    expect((await failure(SettingsError, open)).code).toBe('settings_json')
    await writeFile(path, '{}')
    await chmod(path, 0o666)
    expect((await failure(SettingsError, open)).code).toBe('settings_mode')
  })

  test('takes a file of 16 MiB, and none of a byte more', async () => {
    await using temp = await tempFolder()
    const path = join(temp.path, 's.json')
    const open = () => openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM })
    await writeFile(path, '{}'.padEnd(16 * 1024 * 1024), { mode: 0o600 })
    ;(await open()).dispose()
    await writeFile(path, '{}'.padEnd(16 * 1024 * 1024 + 1))
    expect(await failure(SettingsError, open)).toMatchObject({ code: 'settings_json', exitCode: 78 })
  })

  test('warns of a section that is not known, and takes a byte order mark', async () => {
    await using hub = await opened(`\ufeff${SAMPLE}`)
    expect(hub.file.state.warnings.join()).toContain('"mystery"')
    await hub.file.writeServer(undefined, 'time', { command: 'other' })
    expect(await hub.text()).toContain('\ufeff{\n  // kept')
    expect(hub.file.readOnly).toBe(false)
  })

  test('starts servers in the file’s folder, and this program for the command "patchbay"', async () => {
    await using hub = await opened(
      `{"mcpServers": {
        "a": {"command": "x"}, "b": {"command": "x", "cwd": "sub"}, "c": {"command": "x", "cwd": "/abs"},
        "d": {"url": "https://d.example"}, "bob::e": {"command": "patchbay"}, "ada::f": {"command": "x"},
        "g": {"command": "patchbay", "args": ["sample-server"]} },
      "users": [{"username": "Ada", "isAdmin": true}]}`,
    )
    const { state } = hub.file
    expect(server(state, 'a')?.cwd).toBe(hub.folder)
    expect(server(state, 'b')?.cwd).toBe(join(hub.folder, 'sub'))
    expect(server(state, 'c')?.cwd).toBe('/abs')
    expect(server(state, 'd')?.cwd).toBeUndefined()
    expect(server(state, 'e', 'bob')).toEqual({ name: 'e', command: RUNTIME, args: [PROGRAM] })
    expect(server(state, 'f', 'ada')?.cwd).toBe(hub.folder)
    expect(server(state, 'g')).toMatchObject({ command: RUNTIME, args: [PROGRAM, 'sample-server'] })
  })
})

describe('writeServer()', () => {
  test('writes what the API has back without changing a byte when nothing differs', async () => {
    await using hub = await opened()
    for (const { owner, name, body } of hub.file.state.file.servers) {
      const asShown = {
        ...body,
        enabled: true,
        visibility: 'private',
        id: 'x',
        revision: 3,
        variables: {},
        timeout: body.timeout ?? 60_000,
      }
      const transport = body.transport ?? (body.url === undefined ? 'stdio' : 'streamable-http')
      await hub.file.writeServer(owner, name, { ...asShown, transport })
    }
    expect(await hub.text()).toBe(SAMPLE)
  })

  test('changes one entry, keeps comments, and answers with the new state', async () => {
    await using hub = await opened()
    const body = server(hub.file.state, 'time') ?? {}
    await hub.file.writeServer(undefined, 'time', { ...body, enabled: false, timeout: 1_000 })
    expect(await hub.text()).toBe(SAMPLE.replace('"disabled": false }', '"enabled": false, "timeout": 1000 }'))
    expect(server(hub.file.state, 'time')).toMatchObject({ enabled: false, timeout: 1_000 })
  })

  test('writes out both of two fields that one foreign field stood for', async () => {
    await using hub = await opened()
    await hub.file.writeServer('alice', 'time', { ...server(hub.file.state, 'time', 'alice'), timeout: 7_000 })
    expect(server(hub.file.state, 'time', 'alice')).toMatchObject({ timeout: 7_000, maxTimeout: 9_000 })
    expect(await hub.text()).not.toContain('options')
    expect(await hub.text()).toContain('"type": "streamableHttp"')
  })

  test('writes out both fields for which a list of the only tools stood', async () => {
    await using hub = await opened(
      `{"mcpServers": {"a": {"url": "https://a.example", "includeTools": ["one"], "options": {"timeout": 5000}}}}`,
    )
    const body = server(hub.file.state, 'a') ?? {}
    expect(body).toMatchObject({ tools: { one: { enabled: true } }, toolsDefault: 'off' })
    const tools = { one: { enabled: true }, two: { enabled: true } }
    await hub.file.writeServer(undefined, 'a', { ...body, tools })
    expect(server(hub.file.state, 'a')).toMatchObject({ tools, toolsDefault: 'off', timeout: 5_000 })
    const text = await hub.text()
    expect(text).not.toContain('includeTools')
    expect(text).toContain('options')
    await hub.file.writeServer(undefined, 'a', { ...body, toolsDefault: 'on', tools: {} })
    expect(server(hub.file.state, 'a')?.toolsDefault ?? 'on').toBe('on')
  })

  test.each<[string, string, JsonObject, JsonObject]>([
    ['httpUrl', '{"httpUrl": "https://a.example"}', { url: 'https://b.example' }, { transport: 'streamable-http' }],
    [
      'httpUrl beside url',
      '{"httpUrl": "https://a.example", "url": "https://s.example"}',
      { url: 'https://b.example' },
      { transport: 'streamable-http' },
    ],
    [
      'serverUrl',
      '{"serverUrl": "https://a.example", "type": "sse"}',
      { url: 'https://b.example' },
      { transport: 'sse' },
    ],
    ['another transport', '{"httpUrl": "https://a.example"}', { transport: 'sse' }, { url: 'https://a.example' }],
    ['seconds', '{"command": "x", "alwaysAllow": [], "timeout": 60}', { timeout: 2_000 }, { command: 'x' }],
    [
      'seconds and others',
      '{"command": "x", "autoApprove": ["a"], "timeout": 60}',
      { args: ['y'] },
      { timeout: 60_000 },
    ],
    ['a part of a second', '{"command": "x", "alwaysAllow": [], "timeout": 60}', { timeout: 1_001 }, {}],
    ['hours', '{"command": "x", "alwaysAllow": [], "timeout": 60}', { timeout: 7_200_000 }, {}],
    [
      'milliseconds beside approvals',
      '{"command": "x", "autoApprove": [], "timeout": 5000}',
      { args: ['y'] },
      { timeout: 5_000 },
    ],
    ['isActive', '{"command": "x", "isActive": false, "disabled": true}', { enabled: true }, {}],
  ])(
    'writes what is read as it was meant, where other programs’ words stood: %s',
    async (_words, entry, change, kept) => {
      await using hub = await opened(`{"mcpServers": {"a": ${entry}}}`)
      const { name: _, ...body } = server(hub.file.state, 'a') ?? {}
      await hub.file.writeServer(undefined, 'a', { ...body, ...change })
      expect(server(hub.file.state, 'a')).toMatchObject({ ...kept, ...change } as never)
    },
  )

  test('keeps "patchbay" for this program', async () => {
    await using hub = await opened()
    const body = server(hub.file.state, 'own') ?? {}
    await hub.file.writeServer(undefined, 'own', { ...body, args: [PROGRAM, 'sample-server', '--x'] })
    expect(await hub.text()).toContain('"own": { "command": "patchbay", "args": ["sample-server", "--x"] }')
  })

  test('adds, renames and removes', async () => {
    await using hub = await opened()
    await hub.file.writeServer('bob', 'new', { name: 'new', url: 'https://n.example', transport: 'streamable-http' })
    expect(await hub.text()).toContain('"bob::new": {\n      "url": "https://n.example"\n    }')
    await hub.file.writeServer('bob', 'NEW', { name: 'newer', url: 'https://n.example' })
    expect(server(hub.file.state, 'newer', 'bob')).toMatchObject({ url: 'https://n.example' })
    await hub.file.writeServer('bob', 'newer', null)
    expect(await hub.text()).toBe(SAMPLE)
  })

  test('never writes the mask of a secret', async () => {
    await using hub = await opened(
      '{"mcpServers": {"a": {"command": "x", "args": ["--key", "s3cret"], "env": {"API_KEY": "s3cret"}}}}',
    )
    const masked = { args: ['--key', '••••cret'], env: { API_KEY: '••••cret', B: '••••0000', C: 'c' } }
    await hub.file.writeServer(undefined, 'a', { command: 'y', ...masked })
    const kept = { args: ['--key', 's3cret'], env: { API_KEY: 's3cret', C: 'c' } }
    expect(server(hub.file.state, 'a')).toMatchObject({ command: 'y', ...kept })
    expect(await hub.text()).not.toContain('••••')
  })

  test('refuses what would make the file invalid, and leaves it', async () => {
    await using hub = await opened()
    const error = await failure(HubError, () => hub.file.writeServer(undefined, 'own', { name: 'TIME', command: 'x' }))
    expect(error.code).toBe('validation_failed')
    expect(await hub.text()).toBe(SAMPLE)
  })

  test('loses none of many edits at once', async () => {
    await using hub = await opened()
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => hub.file.writeServer(undefined, `s${index}`, { command: `c${index}` })),
    )
    expect(hub.file.state.file.servers).toHaveLength(23)
    expect((await readdir(hub.folder)).sort()).toEqual(['mcp_settings.json'])
  })

  test('leaves the file private, and one that was stricter as strict', async () => {
    await using hub = await opened()
    await chmod(hub.path, 0o644)
    await hub.file.writeServer(undefined, 'x', { command: 'x' })
    expect((await stat(hub.path)).mode & 0o777).toBe(0o600)
    await chmod(hub.path, 0o200 | 0o400)
    await hub.file.writeServer(undefined, 'x', null)
    expect((await stat(hub.path)).mode & 0o777).toBe(0o600)
  })

  test('follows a link and keeps it', async () => {
    await using temp = await tempFolder()
    await mkdir(join(temp.path, 'real'))
    await writeFile(join(temp.path, 'real', 'target.json'), '{}')
    const path = join(temp.path, 's.json')
    await symlink(join('real', 'target.json'), path)
    const file = await openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM })
    await file.writeServer(undefined, 'a', { command: 'x' })
    expect(await readFile(join(temp.path, 'real', 'target.json'), 'utf8')).toContain('"a"')
    expect((await readdir(temp.path)).sort()).toEqual(['real', 's.json'])
  })

  test('knows its own command also where the hub is one program without an entry file', async () => {
    await using temp = await tempFolder()
    const path = join(temp.path, 's.json')
    const entry = { command: 'patchbay', args: ['sample-server'] }
    await writeFile(path, JSON.stringify({ mcpServers: { sample: entry } }))
    const file = await openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME })
    const [sample] = file.state.file.servers
    expect(sample?.body).toMatchObject({ command: RUNTIME, args: ['sample-server'] })
    await file.writeServer(undefined, 'sample', { ...sample?.body, description: 'new' })
    const written = JSON.parse(await readFile(path, 'utf8')).mcpServers.sample
    expect(written).toEqual({ ...entry, description: 'new' })
  })

  test('refuses a file without write bits as settings_read_only', async () => {
    await using temp = await tempFolder()
    const path = join(temp.path, 's.json')
    await writeFile(path, '{}', { mode: 0o444 })
    const file = await openSettingsFile(path, { dataDir: temp.path, runtime: RUNTIME, program: PROGRAM })
    expect(file.readOnly).toBe(true)
    const error = await failure(HubError, () => file.writeServer(undefined, 'a', { command: 'x' }))
    expect(error.code).toBe('settings_read_only')
    expect(await readFile(path, 'utf8')).toBe('{}')
  })

  test('never writes over a file that somebody broke meanwhile', async () => {
    await using hub = await opened()
    await writeFile(hub.path, '{ "half')
    const error = await failure(HubError, () => hub.file.writeServer(undefined, 'a', { command: 'x' }))
    expect(error.code).toBe('settings_read_only')
    expect(await hub.text()).toBe('{ "half')
  })
})

describe('writeGroup()', () => {
  test('changes members in the file’s own form, adds and removes', async () => {
    await using hub = await opened()
    await hub.file.writeGroup(undefined, 'g', {
      name: 'g',
      visibility: 'private',
      naming: 'auto',
      members: [
        { server: 'time', tools: 'all', prompts: 'all', resources: 'all' },
        { server: 'alice~time', tools: ['now'], alias: 'a' },
      ],
    })
    expect(hub.file.state.file.groups[0]?.body.members).toEqual([
      'time',
      { server: 'alice~time', alias: 'a', tools: ['now'] },
    ])
    expect(await hub.text()).toContain('// a group')
    await hub.file.writeGroup('alice', 'h', { name: 'h', members: ['time'] })
    expect(hub.file.state.file.groups[1]).toEqual({ owner: 'alice', body: { name: 'h', members: ['time'] } })
    await hub.file.writeGroup('alice', 'h', null)
    await hub.file.writeGroup(undefined, 'g', { name: 'g', members: ['time'] })
    expect(JSON.stringify(hub.file.state.file.groups)).toBe('[{"body":{"name":"g","members":["time"]}}]')
  })

  test('edits a group that is a bare list in a map', async () => {
    await using hub = await opened('{"groups": {"g": ["a", "b"]}}')
    await hub.file.writeGroup(undefined, 'g', { members: ['a'] })
    expect(await hub.text()).toBe('{"groups": {"g": ["a"]}}')
    await hub.file.writeGroup(undefined, 'g', { members: ['a'], description: 'd' })
    expect(hub.file.state.file.groups[0]?.body).toEqual({ name: 'g', description: 'd', members: ['a'] })
  })
})

test('renameMember() changes the name alone, in every form of a group and of a member', async () => {
  await using hub = await opened(`{
  "groups": {
    "list": ["old", "bea::old", "other" /* kept */],
    "map": { "members": [{ "server": "bea~OLD", "tools": ["a"] }, { "name": "old" }] }
  }
}
`)
  const member = { owner: 'Bea', name: 'old' }
  await hub.file.renameMember({ owner: undefined, name: 'map' }, member, 'new')
  await hub.file.renameMember({ owner: undefined, name: 'list' }, { owner: 'art', name: 'old' }, 'new')
  await hub.file.renameMember({ owner: undefined, name: 'none' }, member, 'new')
  expect(await hub.text()).toBe(`{
  "groups": {
    "list": ["new", "bea::old", "other" /* kept */],
    "map": { "members": [{ "server": "bea~new", "tools": ["a"] }, { "name": "new" }] }
  }
}
`)
})

test('edit() sets single values', async () => {
  await using hub = await opened()
  await hub.file.edit(({ set }) => set(['systemConfig', 'logLevel'], 'debug'))
  expect(hub.file.state.systemConfig).toEqual({ logLevel: 'debug' })
  await hub.file.edit(({ set }) => set(['systemConfig'], undefined))
  expect(await hub.text()).toBe(SAMPLE)
})

describe('watch()', () => {
  interface Heard {
    readonly states: SettingsState[]
    readonly errors: SettingsError[]
  }
  function listen(file: SettingsFile): Heard {
    const heard: Heard = { states: [], errors: [] }
    file.watch(
      state => heard.states.push(state),
      error => heard.errors.push(error),
    )
    return heard
  }

  test('tells of an edit in place and of each file renamed over it', async () => {
    await using hub = await opened()
    const heard = listen(hub.file)
    await writeFile(hub.path, '{"mcpServers": {"one": {"command": "x"}}}')
    await until(() => heard.states.length === 1, 'the edit in place was told')
    for (const name of ['two', 'three']) {
      await writeFile(`${hub.path}.new`, `{"mcpServers": {"${name}": {"command": "x"}}}`)
      await rename(`${hub.path}.new`, hub.path)
      await until(() => server(heard.states.at(-1) ?? hub.file.state, name), `the renamed file with ${name} was told`)
    }
    expect(hub.file.state).toBe(heard.states.at(-1) as SettingsState)
    expect(heard.errors).toEqual([])
  })

  test('keeps the old state after an invalid edit, says line and column, and recovers', async () => {
    await using hub = await opened()
    const heard = listen(hub.file)
    await writeFile(hub.path, '{\n  "mcpServers": {,\n}')
    const error = await until(() => heard.errors[0], 'the rejection was told')
    expect([error.line, error.column]).toEqual([2, 18])
    expect(server(hub.file.state, 'time')).toBeDefined()
    await writeFile(hub.path, SAMPLE)
    await until(() => heard.states.length === 1, 'the repaired file was told')
    expect(heard.errors).toHaveLength(1)
  })

  test('does not tell of its own writes', async () => {
    await using hub = await opened()
    const heard = listen(hub.file)
    await hub.file.writeServer(undefined, 'mine', { command: 'x' })
    await writeFile(hub.path, '{"mcpServers": {"theirs": {"command": "x"}}}')
    await until(() => heard.states.length > 0, 'the edit by somebody else was told')
    expect(heard.states.map(state => state.file.servers.map(entry => entry.name))).toEqual([['theirs']])
  })

  test('tells of somebody else’s edit that an own write came upon', async () => {
    await using hub = await opened('{}')
    const heard = listen(hub.file)
    // Both happen in one turn, so the watcher cannot have reported the first edit before.
    writeFileSync(hub.path, '{"mcpServers": {"theirs": {"command": "x"}}}')
    await hub.file.writeServer(undefined, 'mine', { command: 'x' })
    await until(() => heard.states.length > 0, 'both edits were told')
    expect(heard.states[0]?.file.servers.map(entry => entry.name)).toEqual(['theirs', 'mine'])
  })
})

test('writeInPlace() keeps the inode and leaves a private copy of what was there', async () => {
  await using temp = await tempFolder()
  const path = join(temp.path, 's.json')
  await writeFile(path, 'the old and longer content', { mode: 0o644 })
  const { ino } = await stat(path)
  await writeInPlace(path, 'new', temp.path)
  expect(await readFile(path, 'utf8')).toBe('new')
  expect((await stat(path)).ino).toBe(ino)
  const backup = join(temp.path, 's.json.before-write')
  expect(await readFile(backup, 'utf8')).toBe('the old and longer content')
  expect((await stat(backup)).mode & 0o777).toBe(0o600)
})
