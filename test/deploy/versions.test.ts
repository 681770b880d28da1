/**
 * Data of earlier versions, one set for each change of the tables: each opens, and everything works. `fixtures/versions/NAME`
 * holds the SQLite database and the other files of a hub that ran with the tables as of NAME, `fixtures/postgres/NAME` the
 * same with a dump of PostgreSQL. A change of the tables adds its own set by `fixtures/make.ts`. No other hub uses the keys
 * in the sets.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import pg from 'pg'
import { schemaNames } from '../../core/store/migrate.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { type Hub, startHub } from '../support/hub.ts'
import { inFolder } from '../support/moving.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

const FIXTURES = join(import.meta.dir, 'fixtures')
const namesOf = async (kind: string) => (await readdir(join(FIXTURES, kind))).sort()
const [names, dumped] = [await namesOf('versions'), await namesOf('postgres')]
const newest = names.at(-1) ?? ''
const LATER = "insert into kysely_migration (name, timestamp) values ('9999-later', '2030')"

interface Fixture {
  readonly settings: object
  readonly files: Readonly<Record<string, string>>
  /** Some older fixtures have none: a key is made then. */
  readonly accessKey?: string
}

let folder: string
let hub: Hub | undefined

beforeEach(async () => {
  folder = await makeTemp('version')
})
afterEach(async () => {
  await hub?.stop()
  hub = undefined
  await removeTemp(folder)
}, 120_000)

/** Puts a fixture into the folder as the hub left it, but for the database. */
async function placed(kind: string, name: string): Promise<Fixture> {
  const fixture = JSON.parse(await readFile(join(FIXTURES, kind, name, 'folder.json'), 'utf8')) as Fixture
  await mkdir(join(folder, 'data'), { mode: 0o711 })
  for (const [file, text] of Object.entries(fixture.files)) {
    await writeFile(join(folder, 'data', file), `${text}\n`, { mode: 0o600 })
  }
  await writeFile(join(folder, 'mcp_settings.json'), JSON.stringify(fixture.settings, null, 2), { mode: 0o600 })
  return fixture
}

async function unpacked(kind: string, name: string, file: string): Promise<Buffer> {
  return gunzipSync(await readFile(join(FIXTURES, kind, name, file)))
}

async function placedWithSqlite(name: string): Promise<Fixture> {
  const fixture = await placed('versions', name)
  const content = await unpacked('versions', name, 'patchbay.db.gz')
  await writeFile(join(folder, 'data/patchbay.db'), content, { mode: 0o600 })
  return fixture
}

async function filesOfFolder() {
  const kept = (await readdir(join(folder, 'data'))).filter(file => !/^(?:hub\.|runtime$)/.test(file)).sort()
  const texts = await Promise.all(kept.map(file => readFile(join(folder, 'data', file), 'latin1')))
  return [kept, texts, await readFile(join(folder, 'mcp_settings.json'), 'utf8')]
}

/** The hub opens the folder, and has all data of the version before. */
async function opens({ accessKey }: Fixture, env: Readonly<Record<string, string>> = {}): Promise<void> {
  hub = await startHub({ folder, env })
  const admin = await hub.signIn('admin')
  const bob = await hub.signIn('bob')
  const { items } = await admin.ok('GET', '/api/servers?scope=mine&sort=name')
  expect(items.map((one: { name: string }) => one.name)).toEqual(['filed', 'local', 'remote', 'stored'])
  const local = items.find((one: { name: string }) => one.name === 'local')
  expect(local).toMatchObject({ command: 'patchbay-none', env: { PLAIN: 'seen', API_KEY: '••••cret' } })
  expect((await bob.ok('GET', '/api/servers/stored')).url).toBe('https://never.example/bobs')
  const { members } = await admin.ok('GET', '/api/groups/g')
  expect(members.map((one: { server: string }) => one.server).sort()).toEqual(['admin~filed', 'admin~stored'])
  await online(admin, ['filed'])
  const client = await admin.mcp('/mcp/g', accessKey === undefined ? {} : { credential: accessKey })
  const { tools } = await client.listTools()
  expect(tools.length).toBeGreaterThan(0)
  const echo = tools.find(tool => /echo/.test(tool.name))?.name ?? ''
  expect(await callText(client, echo, { text: 'as before' })).toContain('as before')
  await hub.stop({ keep: true })
  hub = undefined
  const secrets = await inFolder(folder, ['secrets', 'status', '--json'], { env })
  expect([secrets.code, JSON.parse(secrets.stdout).lost]).toEqual([0, 0])
}

test('the present tables have fixtures too, for the day when they are those of an earlier version', () => {
  const present = String(schemaNames().at(-1)).slice(2, 4)
  expect([names, dumped].map(list => list.at(-1)?.slice(0, 2))).toEqual([present, present])
})

test('the newest fixtures have an access key', async () => {
  for (const [kind, list] of [['versions', names] as const, ['postgres', dumped] as const]) {
    const { accessKey } = JSON.parse(
      await readFile(join(FIXTURES, kind, String(list.at(-1)), 'folder.json'), 'utf8'),
    ) as Fixture
    expect(accessKey).toStartWith('pb_')
  }
})

// The oldest, to which all changes apply; `bun run soak` tries the others.
describe.each(extent(names.slice(0, 1), names))('%s', name => {
  test('opens: users, passwords, servers, secrets, groups and access keys are as they were', async () => {
    await opens(await placedWithSqlite(name))
  }, 120_000)
})

test('a newer database ends the start with 78, and nothing of the folder is changed', async () => {
  await placedWithSqlite(newest)
  const database = new Database(join(folder, 'data/patchbay.db'))
  database.pragma('journal_mode = WAL')
  database.prepare(LATER).run()
  database.close()
  const before = await filesOfFolder()
  const refused = await startHub({ folder }).catch((error: unknown) => error)
  expect(refused).toMatchObject({ exitCode: 78, log: expect.stringContaining('error: store_newer: ') })
  expect(await filesOfFolder()).toEqual(before)
}, 120_000)

// The changes of the tables are those of SQLite, written for both.
beyondCore(() => {
  describe('with PostgreSQL', () => {
    let postgres: Postgres
    beforeAll(async () => {
      postgres = await startPostgres()
    }, 120_000)
    afterAll(() => postgres?.stop(), 120_000)

    async function placedWithPostgres(name: string): Promise<{ readonly fixture: Fixture; readonly url: string }> {
      const fixture = await placed('postgres', name)
      const url = await postgres.database(`version_${Bun.randomUUIDv7().replaceAll('-', '')}`)
      await sent(url, (await unpacked('postgres', name, 'dump.sql.gz')).toString())
      return { fixture, url }
    }

    async function sent(url: string, statements: string): Promise<unknown> {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return client.query(statements).finally(() => client.end())
    }

    /** Every row of every table. */
    async function rowsOf(url: string): Promise<unknown> {
      const text =
        "select query_to_xml(format('select * from public.%I t order by t::text', tablename), true, false, '')::text"
      const { rows } = (await sent(url, `${text} from pg_tables where schemaname = 'public' order by tablename`)) as {
        rows: unknown[]
      }
      expect(rows.length).toBeGreaterThan(10)
      return rows
    }

    test.each(dumped)(
      '%s opens with all that it had',
      async name => {
        const { fixture, url } = await placedWithPostgres(name)
        await opens(fixture, { DATABASE_URL: url })
      },
      120_000,
    )

    test('a newer one ends the start with 78, and neither it nor the folder is changed', async () => {
      const { url } = await placedWithPostgres(dumped.at(-1) ?? '')
      await sent(url, LATER)
      const before = [await filesOfFolder(), await rowsOf(url)]
      const refused = await startHub({ folder, env: { DATABASE_URL: url } }).catch((error: unknown) => error)
      expect(refused).toMatchObject({ exitCode: 78, log: expect.stringContaining('error: store_newer: ') })
      expect([await filesOfFolder(), await rowsOf(url)]).toEqual(before)
    }, 120_000)
  })
})
