/** A backup of SQLite is restored into PostgreSQL, and one of PostgreSQL into SQLite: everything is as it was. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Hub, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { contentOf, inFolder } from '../support/moving.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { anyPostgres } from './support/any-postgres.ts'

let postgres: Awaited<ReturnType<typeof anyPostgres>>
let hub: Hub | undefined
const folders: string[] = []

beforeAll(async () => {
  postgres = await anyPostgres()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  for (const folder of folders) await removeTemp(folder)
  await postgres?.stop()
}, 120_000)

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'weather', version: '1' },
  servers: [{ url: 'http://127.0.0.1:9' }],
  paths: { '/now': { get: { operationId: 'now', responses: { 200: { description: 'now' } } } } },
}

/** A hub with something in each table that people fill. */
async function filledHub(): Promise<{ hub: Hub; key: string; token: string }> {
  const hub = await startHub({
    settings: {
      // The folder of a settings file is the default, and differs here from there.
      mcpServers: { filed: { ...stdioFixture('echo', { WHO: 'filed' }), cwd: '/' } },
      groups: [{ name: 'f', servers: ['filed'] }],
    },
  })
  const admin = await hub.setup()
  const bob = await hub.user('bob')
  await admin.ok('POST', '/api/servers', {
    name: 'stored',
    ...stdioFixture('echo', { WHO: 'stored', API_KEY: 'sk-secret-1' }),
  })
  await admin.ok('POST', '/api/servers', { name: 'weather', openapi: { schema: DOCUMENT }, enabled: false })
  await bob.ok('POST', '/api/servers', { name: 'mine', url: 'https://never.example/mcp', enabled: false })
  await admin.ok('POST', '/api/groups', { name: 'g', members: ['filed', { server: 'stored', alias: 'second' }] })
  await admin.ok('POST', '/api/monitoring/channels', {
    name: 'hook',
    type: 'webhook',
    config: { url: 'https://never.example/hook/secret-part' },
  })
  await online(admin, ['filed', 'stored'])
  return { hub, key: await admin.mcpKey(), token: (await hub.signIn('bob')).token }
}

/** The rows of a backup, without its header and its check sum. */
async function rowsOf(file: string): Promise<string[]> {
  const lines = gunzipSync(await readFile(file))
    .toString()
    .trim()
    .split('\n')
  return lines.slice(1, -1)
}

test('SQLite, PostgreSQL and SQLite again: sign-ins, keys, secrets and all rows', async () => {
  const first = await filledHub()
  hub = first.hub
  const was = await contentOf(hub)
  const backups = await makeTemp('backups')
  folders.push(backups)
  const [one, two, three] = ['one', 'two', 'three'].map(name => join(backups, name)) as [string, string, string]

  // While the hub runs.
  const made = await inFolder(hub.folder, ['backup', one])
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(made.stdout).toContain('master key')
  await hub.stop({ keep: true })
  folders.push(hub.folder)

  const second = await makeTemp('restored')
  folders.push(second)
  await mkdir(join(second, 'data'), { mode: 0o700 })
  const env = { DATABASE_URL: await postgres.database('restored') }
  const refused = await inFolder(second, ['restore', one], { env })
  expect(refused.code).toBe(78)
  expect(refused.stderr).toContain('backup_key_missing')
  await copyFile(join(hub.dataDir, 'master.key'), join(second, 'data', 'master.key'))
  const restored = await inFolder(second, ['restore', one], { env })
  expect([restored.code, restored.stderr]).toEqual([0, ''])
  expect(restored.stdout).toContain('2 users, 4 servers, 2 groups')

  hub = await startHub({ folder: second, env })
  expect(await contentOf(hub)).toEqual(was as never)
  const admin = await hub.signIn('admin', PASSWORD)
  await online(admin, ['filed', 'stored'])
  const client = await admin.mcp('/mcp/g', { credential: first.key })
  const { tools } = await client.listTools()
  const ofSecond = tools.map(({ name }) => name).find(name => /second.*env$/.test(name)) ?? ''
  expect(await callText(client, ofSecond, { name: 'API_KEY' })).toBe('sk-secret-1')
  // Sign-ins of before have ended.
  expect(
    (await send(hub.url, 'GET', '/api/servers', undefined, { authorization: `Bearer ${first.token}` })).status,
  ).toBe(401)
  expect((await inFolder(second, ['backup', two], { env })).code).toBe(0)
  await hub.stop({ keep: true })
  hub = undefined

  const third = await makeTemp('again')
  folders.push(third)
  await mkdir(join(third, 'data'), { mode: 0o700 })
  await copyFile(join(second, 'data', 'master.key'), join(third, 'data', 'master.key'))
  expect((await inFolder(third, ['restore', two])).code).toBe(0)
  expect((await inFolder(third, ['backup', three])).code).toBe(0)
  // A restore itself changes the epoch of tokens.
  const comparable = (rows: string[]) => rows.map(row => row.replace(/"token_epoch":\d+/, '')).sort()
  expect(comparable(await rowsOf(three))).toEqual(comparable(await rowsOf(two)))
}, 300_000)
