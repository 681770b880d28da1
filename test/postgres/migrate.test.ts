/** `patchbay migrate` there and back, and what keeps a second hub off a database. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { contentOf, inFolder } from '../support/moving.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { anyPostgres } from './support/any-postgres.ts'

/** More than are read at a time. */
const SERVERS = extent(250, 2_000)

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

type Row = Record<string, unknown>

/** Rows of all tables but Kysely's own, as sorted text; numbers that a database gives to rows itself are left out. */
function comparable(tables: ReadonlyMap<string, readonly Row[]>): Record<string, string> {
  const texts = [...tables].map(([table, rows]) => {
    const lines = rows.map(row => {
      const cells = Object.entries(row).filter(([column]) => !(table === 'audit' && column === 'id'))
      const plain = cells.map(([column, value]) => [
        column,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ])
      return JSON.stringify(plain.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
    })
    const digest = createHash('sha256').update(lines.sort().join('\n')).digest('hex')
    return [table, `${rows.length} rows ${digest}`] as const
  })
  return Object.fromEntries(texts.sort())
}

/** The same before and after a move: rows of plugins' tables wait for their plugins then. Their content has tests of its own. */
function moved(tables: Record<string, string>): Record<string, string> {
  const isOfPlugin = (table: string): boolean => table === 'waiting_row' || table.startsWith('plugin_')
  const rows = Object.entries(tables).filter(([table]) => isOfPlugin(table))
  const waiting = rows.reduce((sum, [, text]) => sum + Number.parseInt(text, 10), 0)
  const others = Object.entries(tables).filter(([table]) => !isOfPlugin(table))
  return { ...Object.fromEntries(others), 'rows of plugins': String(waiting) }
}

function inSqlite(path: string): Record<string, string> {
  const database = new Database(path, { readonly: true })
  const names = (database.prepare("select name from sqlite_schema where type = 'table'").all() as { name: string }[])
    .map(({ name }) => name)
    .filter(name => !/^(?:sqlite_|kysely_)/.test(name))
  const tables = names.map(name => [name, database.prepare(`select * from "${name}"`).all() as Row[]] as const)
  database.close()
  return comparable(new Map(tables))
}

async function asked(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

async function inPostgres(url: string): Promise<Record<string, string>> {
  const names = await asked(url, "select tablename from pg_tables where schemaname = 'public'")
  const kept = names.map(({ tablename }) => String(tablename)).filter(name => !/^(?:kysely_|log_)/.test(name))
  const tables = await Promise.all(kept.map(async name => [name, await asked(url, `select * from "${name}"`)] as const))
  return comparable(new Map(tables))
}

/** Adds a record of a kind of a plugin that is not there. */
function addPluginRecord(path: string): void {
  const database = new Database(path)
  const at = '2026-11-24T09:30:00.000Z'
  database
    .prepare(
      `insert into owned_setting (id, owner_id, kind, name, name_key, body, origin, limited, revision, created_at, updated_at)
       select 'record-1', id, 'library.shops', 'corner', 'corner', '{"name":"corner"}', 'api', 0, 1, '${at}', '${at}' from user limit 1`,
    )
    .run()
  database.close()
}

// biome-ignore lint/suspicious/noThenProperty: the word of rules
const ASK = { when: { tools: ['add'] }, then: 'ask', by: ['console'] }
// biome-ignore lint/suspicious/noThenProperty: the word of rules
const MASK = { id: 'no-keys', on: 'result', match: { secrets: true }, then: 'mask' }

/** Shares, a team, an invitation, a quota and rules. */
async function share(admin: Client): Promise<void> {
  await admin.ok('POST', '/api/admin/teams', { name: 'crew', members: ['bob'] })
  await admin.ok('PUT', '/api/servers/stored/shares', { shares: [{ subject: 'team:crew', role: 'see' }] })
  await admin.ok('PUT', '/api/groups/g/shares/user:bob', { role: 'use' })
  await admin.ok('POST', '/api/invitations', { things: [{ kind: 'group', ref: 'g' }], role: 'use' })
  await admin.ok('PUT', '/api/servers/stored/quota', { quota: { perDay: 1_000 } })
  await admin.ok('PUT', '/api/servers/stored/approvals', { rules: [ASK] })
  await admin.ok('PUT', '/api/groups/g/guards', { rules: [MASK] })
}

/** The answers about all that `share` has made. */
async function shared(hub: Hub): Promise<unknown> {
  const [admin, bob] = [await hub.signIn('admin', PASSWORD), await hub.signIn('bob')]
  const paths = ['servers/stored/shares', 'groups/g/shares', 'invitations', 'teams/crew']
  const rules = ['servers/stored/quota', 'servers/stored/approvals', 'groups/g/guards']
  const answers = []
  for (const path of [...paths, ...rules]) answers.push([path, await admin.ok('GET', `/api/${path}`)])
  const { role } = await bob.ok('GET', '/api/servers/admin~stored')
  const { content } = await bob.ok('POST', '/api/groups/admin~g/tools/echo', { text: 'x' })
  // Counts go on with each call, and those of content rules begin again with the hub.
  const counted = (key: string, value: unknown): unknown => (['used', 'since'].includes(key) ? undefined : value)
  return JSON.parse(JSON.stringify({ answers, role, content }, counted))
}

/** A hub with many servers, most of them of the settings file, and something in other tables. */
async function largeHub(): Promise<{ hub: Hub; key: string; token: string }> {
  const filed = Array.from({ length: SERVERS - 2 }, (_, n) => [
    `filed-${n}`,
    { url: `https://never.example/${n}`, headers: { authorization: `Bearer sk-${n}` }, enabled: false },
  ])
  const empty = await startHub()
  const admin = await empty.setup()
  await empty.user('bob')
  await admin.ok('POST', '/api/servers', {
    name: 'stored',
    ...stdioFixture('echo', { WHO: 'stored', API_KEY: 'sk-secret-1' }),
  })
  await admin.ok('POST', '/api/servers', {
    name: 'weather',
    openapi: {
      schema: {
        openapi: '3.1.0',
        info: { title: 'weather ☀ 天气', version: '1' },
        servers: [{ url: 'http://127.0.0.1:9' }],
        paths: { '/now': { get: { operationId: 'now', responses: { 200: { description: 'now' } } } } },
      },
    },
    enabled: false,
  })
  await admin.ok('POST', '/api/groups', { name: 'g', members: ['stored'] })
  await online(admin, ['stored'])
  await share(admin)
  const key = await admin.mcpKey()
  await empty.stop({ keep: true })
  // The quota of a user's servers is not for those of the file.
  const settings = { mcpServers: Object.fromEntries(filed), groups: [{ name: 'f', servers: ['filed-1', 'filed-2'] }] }
  const hub = await startHub({ folder: empty.folder, settings, timeoutMs: 60_000 })
  await online(await hub.signIn('admin'), ['stored'])
  return { hub, key, token: (await hub.signIn('bob')).token }
}

test('many servers go to PostgreSQL and back, equal by digest; sign-ins, keys and secrets still work', async () => {
  const first = await largeHub()
  hub = first.hub
  const { folder, dataDir } = hub
  folders.push(folder)
  const was = await contentOf(hub)
  const gave = await shared(hub)
  const databaseUrl = await postgres.database('moved')
  const env = { DATABASE_URL: databaseUrl }
  const running = await inFolder(folder, ['migrate', '--from', 'sqlite', '--to', 'postgres'], { env })
  expect([running.code, running.stderr]).toEqual([1, expect.stringContaining('data_dir_locked')])
  await hub.stop({ keep: true })
  hub = undefined
  addPluginRecord(join(dataDir, 'patchbay.db'))
  const before = inSqlite(join(dataDir, 'patchbay.db'))
  expect(before.owned_setting).toStartWith('1 rows')
  expect(before.server).toStartWith(`${SERVERS} rows`)

  const there = await inFolder(folder, ['migrate', '--from', 'sqlite', '--to', 'postgres', '--json'], { env })
  expect([there.code, there.stderr]).toEqual([0, ''])
  const { tables, aside } = JSON.parse(there.stdout)
  expect(tables.server).toEqual({ rows: SERVERS, digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(moved(await inPostgres(databaseUrl))).toEqual(moved(before))
  expect(moved(before)['rows of plugins']).not.toBe('0')
  expect(await readdir(aside)).toContain('patchbay.db')

  // Without DATABASE_URL, the hub does not serve the old rows by mistake.
  const forgotten = await startHub({ folder }).catch((error: unknown) => error)
  expect(forgotten).toMatchObject({ exitCode: 78, log: expect.stringContaining('store_missing') })
  hub = await startHub({ folder, env, timeoutMs: 60_000 })
  expect(
    (await send(hub.url, 'GET', '/api/servers', undefined, { authorization: `Bearer ${first.token}` })).status,
  ).toBe(200)
  expect(await contentOf(hub)).toEqual(was as never)
  const admin = await hub.signIn('admin', PASSWORD)
  await online(admin, ['stored'])
  const client = await admin.mcp('/mcp/stored', { credential: first.key })
  expect(await callText(client, 'env', { name: 'API_KEY' })).toBe('sk-secret-1')
  expect(await shared(hub)).toEqual(gave as never)
  const busy = await inFolder(folder, ['migrate', '--from', 'postgres', '--to', 'sqlite'], { env })
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('data_dir_locked')])
  await hub.stop({ keep: true })
  hub = undefined

  const middle = await inPostgres(databaseUrl)
  const back = await inFolder(folder, ['migrate', '--from', 'postgres', '--to', 'sqlite'], { env })
  expect([back.code, back.stderr]).toEqual([0, ''])
  expect(back.stdout).toContain('equal by digest')
  expect(moved(inSqlite(join(dataDir, 'patchbay.db')))).toEqual(moved(middle))
  expect(await inPostgres(databaseUrl)).toEqual(middle)
  if (extent(true, false)) return
  hub = await startHub({ folder, timeoutMs: 60_000 })
  expect(await contentOf(hub)).toEqual(was as never)
  await hub.stop({ keep: true })
  hub = undefined

  // The database in use is replaced only on request, and the replaced one is kept.
  const again = await inFolder(folder, ['migrate', '--from', 'sqlite', '--to', 'postgres'], { env })
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('--replace')])
  expect(await inPostgres(databaseUrl)).toEqual(middle)
  const replaced = await inFolder(folder, ['migrate', '--from', 'sqlite', '--to', 'postgres', '--replace', '--json'], {
    env,
  })
  expect([replaced.code, replaced.stderr]).toEqual([0, ''])
  expect((await readdir(JSON.parse(replaced.stdout).aside)).sort()).toEqual(['database.backup', 'patchbay.db'])
}, 300_000)

beyondCore(() => {
  test('a row that PostgreSQL does not accept ends the move with nothing changed', async () => {
    const one = await startHub()
    folders.push(one.folder)
    await one.setup()
    await one.stop({ keep: true })
    const path = join(one.dataDir, 'patchbay.db')
    const database = new Database(path)
    database
      .prepare("insert into setting (scope, key, value, secret, updated_at) values ('x', 'odd', ?, 0, '')")
      .run(['a\0b'])
    database.close()
    const kept = await readFile(path)
    const databaseUrl = await postgres.database('refused')
    const done = await inFolder(one.folder, ['migrate', '--from', 'sqlite', '--to', 'postgres'], {
      env: { DATABASE_URL: databaseUrl },
    })
    expect([done.code, done.stderr]).toEqual([1, expect.stringMatching(/table "setting" .*Nothing was changed/)])
    expect((await readFile(path)).equals(kept)).toBe(true)
    expect((await inPostgres(databaseUrl)).setting).toStartWith('0 rows')
  }, 120_000)
})

test('two hubs on one database: the second is refused, names the first, and may start once the first has ended', async () => {
  const databaseUrl = await postgres.database('shared')
  const env = { DATABASE_URL: databaseUrl }
  const first = await startHub({ env })
  folders.push(first.folder)
  const other = await makeTemp('second')
  folders.push(other)
  const refused = await startHub({ env }).catch((error: unknown) => error)
  expect(refused).toMatchObject({
    exitCode: 1,
    log: expect.stringMatching(
      new RegExp(`error: database_locked: Another hub .* process ${first.pid}, from 127\\.0\\.0\\.1, since 20`),
    ),
  })
  // Commands that write refuse as well.
  const backup = join(other, 'one.backup')
  expect((await inFolder(first.folder, ['backup', backup], { env })).code).toBe(0)
  const restore = await inFolder(other, ['restore', backup], { env })
  expect([restore.code, restore.stderr]).toEqual([1, expect.stringContaining('database_locked')])
  // The lock ends with the hub, even after a kill.
  await first.kill9()
  await copyFile(join(first.dataDir, 'master.key'), join(other, 'master.key'))
  const next = await startHub({ folder: first.folder, env })
  await next.stop({ keep: true })
  expect(existsSync(join(first.dataDir, 'hub.lock'))).toBe(true)
}, 120_000)

// A rarer way to the result of the test before.
beyondCore(() => {
  test('a hub whose lock was cut off takes it again; one that finds another hub there ends, and says so', async () => {
    const databaseUrl = await postgres.database('cut')
    const env = { DATABASE_URL: databaseUrl }
    const first = await startHub({ env })
    folders.push(first.folder)
    const admin = await first.setup()
    const holders = () =>
      asked(
        databaseUrl,
        `select pid from pg_locks where locktype = 'advisory' and granted
         and database = (select oid from pg_database where datname = current_database())`,
      )
    const [holder] = await holders()
    await asked(databaseUrl, `select pg_terminate_backend(${holder?.pid})`)
    await until(async () => (await holders()).some(({ pid }) => pid !== holder?.pid), {
      what: 'the lock to be taken again',
    })
    await until(async () => (await admin.request('POST', '/api/groups', { name: 'g', members: [] })).status === 201)

    // The rival is quicker: it waits for the lock on the server, before everybody else.
    const rival = new pg.Client({ connectionString: databaseUrl, application_name: 'rival' })
    rival.on('error', () => undefined)
    await rival.connect()
    const [held] = await asked(
      databaseUrl,
      `select pid, classid::bigint as class, objid::bigint as object from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())`,
    )
    const object = BigInt.asIntN(32, BigInt(String(held?.object)))
    const waiting = rival.query(`select pg_advisory_lock(${held?.class}, (${object})::int)`)
    await until(async () => (await asked(databaseUrl, 'select 1 from pg_locks where not granted')).length > 0)
    await asked(databaseUrl, `select pg_terminate_backend(${held?.pid})`)
    await waiting
    expect(await first.exited()).toBe(1)
    // The log is read after the end of the process is known.
    await first.logged('error: database_locked: ')
    await first.logged('rival')
    await rival.end()
  }, 120_000)
})
