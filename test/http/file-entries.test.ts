import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { type Client, type Hub, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'

let hub: Hub
let admin: Client

const ECHO = stdioFixture('echo')
const hashes = {
  bcrypt: Bun.password.hashSync(PASSWORD, { algorithm: 'bcrypt', cost: 4 }),
  argon2id: Bun.password.hashSync(PASSWORD, { algorithm: 'argon2id', memoryCost: 1024, timeCost: 1 }),
}

const SETTINGS = `{
  // what this hub is for
  "mcpServers": {
    /* the one that everybody uses */
    "echo": ${JSON.stringify(ECHO)}, // at the end of its line
    "remote": { "type": "streamable-http", "url": "https://mcp.example/mcp", "enabled": false },
    "wrong": { "url": "not a url" },
    "bea::echo": { "url": "https://bea.example/mcp", "disabled": true },
    "nobody::lost": { "url": "https://mcp.example/mcp" }
  },
  "groups": {
    "pair": ["echo", "remote"],
    "cut": { "servers": [{ "name": "echo", "tools": ["whoami"] }, "missing"] }
  },
  "users": {
    "bea": { "password": ${JSON.stringify(hashes.bcrypt)} },
    "art": { "password": ${JSON.stringify(hashes.argon2id)}, "isAdmin": true }
  },
  "systemConfig": { "logLevel": "debug" },
  "somebodyElses": { "kept": true },
}
`

beforeAll(async () => {
  hub = await startHub({ settings: SETTINGS })
  admin = await hub.signIn('art')
  await online(admin, ['echo'])
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const file = () => readFile(hub.settingsFile, 'utf8')
const COMMENTS = [
  '// what this hub is for',
  '/* the one that everybody uses */',
  '// at the end of its line',
  '"somebodyElses": { "kept": true }',
]

async function expectCommentsKept(): Promise<void> {
  const text = await file()
  for (const comment of COMMENTS) expect(text).toContain(comment)
  expect((await stat(hub.settingsFile)).mode & 0o077).toBe(0)
}

describe('people of the file', () => {
  test('sign in by bcrypt and by argon2id, and again after the hash was renewed', async () => {
    for (const _ of [1, 2]) {
      for (const name of ['bea', 'art']) expect((await hub.signIn(name)).name).toBe(name)
    }
    expect(hub.setupToken).toBeUndefined()
    expect((await send(hub.url, 'POST', '/api/setup', { token: 'x', username: 'x', password: PASSWORD })).status).toBe(
      404,
    )
  })

  test('are what the file says: others may not remove, rename or promote them', async () => {
    const refused = [
      await admin.request('DELETE', '/api/admin/users/bea?cascade=true'),
      await admin.request('PATCH', '/api/admin/users/bea', { name: 'bee' }),
      await admin.request('PATCH', '/api/admin/users/bea', { role: 'admin' }),
    ]
    for (const answer of refused) expect([answer.status, answer.json.code]).toEqual([409, 'settings_read_only'])
    const bea = await hub.signIn('bea')
    expect(await bea.ok('GET', '/api/servers/echo')).toMatchObject({
      ref: 'bea~echo',
      url: 'https://bea.example/mcp',
      origin: 'file',
    })
  })
})

describe('entries of the file', () => {
  test('are listed, those that cannot be read with the place', async () => {
    const { items } = await admin.ok('GET', '/api/servers')
    expect(items.map((item: { name: string; origin: string }) => `${item.name} ${item.origin}`)).toEqual([
      'echo file',
      'remote file',
      'wrong file',
    ])
    expect(items[2]).toMatchObject({ status: { state: 'offline', reason: { code: 'config_invalid' } } })
    expect(JSON.stringify(items[2].problem)).toContain('url')
    expect((await admin.ok('GET', '/api/groups/pair')).members.length).toBe(2)
    expect((await admin.ok('GET', '/api/groups/cut')).members).toMatchObject([{ tools: [{ name: 'whoami' }] }])
    await hub.logged('nobody::lost')
  })

  test('are changed in the file first, and nothing else in it', async () => {
    const before = await file()
    const made = await admin.ok('PATCH', '/api/servers/remote', {
      description: 'of mine',
      headers: { Authorization: 'Bearer a secret of it' },
    })
    expect(made).toMatchObject({ origin: 'file', description: 'of mine', headers: { Authorization: '••••f it' } })
    const after = await file()
    expect(after.split('\n').filter(line => !before.includes(line)).length).toBeGreaterThan(0)
    expect(after).toContain('"description": "of mine"')
    expect(after).toContain('enc:v1:')
    expect(after).not.toContain('a secret of it')
    expect(after).toContain(`"echo": ${JSON.stringify(ECHO)}, // at the end of its line`)
    await expectCommentsKept()
  })

  test('are switched off and on, renamed and removed through the API', async () => {
    await admin.ok('POST', '/api/servers/echo/stop?wait=30s')
    expect(await file()).toMatch(/"echo": \{[^\n]*("disabled": ?true|"enabled": ?false)/)
    await admin.ok('POST', '/api/servers/echo/start?wait=30s')
    await online(admin, ['echo'])
    expect((await admin.ok('PATCH', '/api/servers/remote', { name: 'far away' })).ref).toBe('art~far away')
    expect(await file()).toContain('"far away": {')
    expect(
      (await admin.ok('GET', '/api/groups/pair')).members.map((member: { server: string }) => member.server),
    ).toContain('art~far away')
    expect((await admin.request('DELETE', '/api/servers/wrong')).status).toBe(204)
    expect(await file()).not.toContain('"wrong"')
    await expectCommentsKept()
  }, 120_000)

  test('stay through a restart as the API left them', async () => {
    const names = async () =>
      (await admin.ok('GET', '/api/servers')).items.map(
        (item: { id: string; name: string }) => `${item.id} ${item.name}`,
      )
    const before = await names()
    await hub.stop({ keep: true })
    hub = await startHub({ folder: hub.folder })
    admin = await hub.signIn('art')
    expect(await names()).toEqual(before)
    expect((await admin.ok('GET', '/api/servers/far away')).headers.Authorization).toBe('••••f it')
    expect((await admin.ok('GET', '/api/groups/pair')).members.length).toBe(2)
  }, 120_000)

  test('belong to the owner in the file, and things made here are not written to it', async () => {
    const given = await admin.request('PATCH', '/api/servers/far away', { owner: 'bea', headers: null })
    expect([given.status, given.json.code]).toEqual([409, 'settings_read_only'])
    const before = await file()
    await admin.ok('POST', '/api/servers', { name: 'made here', url: 'https://mcp.example/mcp', enabled: false })
    await admin.ok('POST', '/api/groups', { name: 'made here', members: ['echo'] })
    expect(await file()).toBe(before)
  })

  test('take an edit by hand after one of the hub, tell it to readers, and restart only what changed', async () => {
    await online(admin, ['echo'])
    const { pid } = await statusOf(admin, 'echo')
    const stream = await openStream(admin)
    const text = await file()
    await writeFile(hub.settingsFile, text.replace('"far away"', '"by hand"'))
    await stream.next(({ event }) => event === 'config.changed')
    expect((await admin.request('GET', '/api/servers/by hand')).status).toBe(200)
    expect((await admin.request('GET', '/api/servers/far away')).status).toBe(404)
    expect((await statusOf(admin, 'echo')).pid).toBe(pid as number)
    await writeFile(hub.settingsFile, `${text}{`)
    const rejected = await stream.next(({ event }) => event === 'config.rejected')
    expect(rejected.data.data).toMatchObject({ source: 'file', line: expect.any(Number), column: expect.any(Number) })
    const refused = await admin.request('PATCH', '/api/servers/echo', { description: 'x' })
    expect([refused.status, refused.json.code]).toEqual([409, 'settings_read_only'])
    expect(await file()).toBe(`${text}{`)
    expect((await admin.ok('GET', '/api/servers/echo')).description).toBeUndefined()
    await writeFile(hub.settingsFile, text)
    await until(async () => (await admin.request('GET', '/api/servers/far away')).status === 200)
    await stream.close()
  }, 120_000)

  test('hold system settings, which then are locked', async () => {
    const locked = await admin.request('PATCH', '/api/admin/settings', { logLevel: 'info' })
    expect([locked.status, locked.json.code]).toEqual([409, 'setting_locked'])
    expect((await admin.ok('GET', '/api/admin/settings/sources')).logLevel).toMatchObject({
      source: 'file',
      locked: true,
    })
  })

  test('are not changed in a file without write bits: 409, and neither file nor store is different', async () => {
    const before = await file()
    await chmod(hub.settingsFile, 0o400)
    for (const [method, path, body] of [
      ['PATCH', '/api/servers/echo', { description: 'x' }],
      ['DELETE', '/api/servers/echo', undefined],
      ['POST', '/api/servers/echo/stop', undefined],
      ['PATCH', '/api/groups/pair', { description: 'x' }],
      ['DELETE', '/api/groups/pair', undefined],
    ] as const) {
      const answer = await admin.request(method, path, body)
      expect([method, path, answer.status, answer.json.code]).toEqual([method, path, 409, 'settings_read_only'])
    }
    expect(await file()).toBe(before)
    expect((await admin.ok('GET', '/api/servers/echo')).enabled).toBe(true)
    await chmod(hub.settingsFile, 0o600)
  })
})
