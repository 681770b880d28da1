/** The look-ups of shares and teams go by indexes, among 10,000 shares and 100,000 members of teams. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { EventBus } from '../../core/events/bus.ts'
import { listedRows } from '../../core/registry/listed-rows.ts'
import { ShareMap } from '../../core/registry/share-map.ts'
import { usersOf } from '../../core/registry/shares/share-events.ts'
import { shareRows } from '../../core/registry/shares/share-rows.ts'
import { enabledIds, memberIds, sharedThings, teamSize } from '../../core/registry/shares/team-members.ts'
import { leaveSources } from '../../core/registry/shares/team-sources.ts'
import { openStore, type Store } from '../../core/store/open.ts'
import type { Tables } from '../../core/store/tables.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { actor } from '../unit/registry/world.ts'
import { anyPostgres } from './support/any-postgres.ts'

const USER = 'u700'
const SEED = `
insert into "user" (id, number, name, name_key, role, token_epoch, disabled, must_change_password, origin, revision, created_at, updated_at)
  select 'u' || n, n + 10, 'u' || n, 'u' || n, 'user', 0, 0, 0, 'store', 1, '', '' from generate_series(0, 19999) n;
insert into team (id, name, name_key, created_at, source_provider, source_group)
  select 't' || n, 't' || n, 't' || n, '', 'company', 'g' || n from generate_series(0, 99) n;
insert into team_member (team_id, user_id)
  select 't' || ((n + k * 17) % 100), 'u' || n from generate_series(0, 19999) n, generate_series(0, 4) k;
insert into server (id, owner_id, name, name_key, visibility, origin, revision, created_at, updated_at, transport, config, enabled)
  select 's' || n, 'u' || n % 500, 's' || n, 's' || n, 'private', 'store', 1, '', '', 'stdio', '{}', 1 from generate_series(0, 4999) n;
insert into server_group (id, owner_id, name, name_key, visibility, origin, revision, created_at, updated_at, naming)
  select 'g' || n, 'u' || n % 500, 'g' || n, 'g' || n, 'private', 'store', 1, '', '', 'auto' from generate_series(0, 1999) n;
insert into share (id, server_id, user_id, role, origin, created_at)
  select 'a' || n, 's' || n % 5000, 'u' || 500 + n * 3 % 19000, 'use', 'store', '' from generate_series(0, 5999) n;
insert into share (id, group_id, user_id, role, origin, created_at)
  select 'b' || n, 'g' || n % 2000, 'u' || 500 + n * 7 % 19000, 'use', 'store', '' from generate_series(0, 1999) n;
insert into share (id, server_id, team_id, role, origin, created_at)
  select 'c' || n, 's' || n * 3, 't' || n % 100, 'use', 'store', '' from generate_series(0, 1199) n;
insert into share (id, group_id, team_id, role, origin, created_at)
  select 'd' || n, 'g' || n, 't' || n % 100, 'use', 'store', '' from generate_series(0, 799) n;
analyze`

let folder: string
let postgres: Awaited<ReturnType<typeof anyPostgres>>
let opened: Store
/** The same database; its statements are kept in `statements`. */
let store: Store
const statements: CompiledQuery[] = []
let explaining: pg.Client

beforeAll(async () => {
  folder = await makeTemp('share-plans')
  postgres = await anyPostgres()
  const url = await postgres.database('share_plans')
  opened = await openStore({ dataDir: folder, databaseUrl: url })
  explaining = new pg.Client({ connectionString: url })
  await explaining.connect()
  await explaining.query(SEED)
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 2 }) }),
    log({ query }) {
      statements.push(query)
    },
  })
  store = { ...opened, db }
}, 120_000)

afterAll(async () => {
  await store?.db.destroy()
  await explaining?.end()
  await opened?.close()
  await postgres?.stop()
  await removeTemp(folder)
}, 120_000)

/** The plans of the statements that some work makes. */
async function plans(work: () => Promise<unknown>): Promise<readonly string[]> {
  statements.length = 0
  await work()
  const found: string[] = []
  for (const { sql, parameters } of statements.filter(one => /^(select|delete)/.test(one.sql))) {
    const { rows } = await explaining.query<{ 'QUERY PLAN': string }>(`explain ${sql}`, [...parameters])
    found.push(rows.map(row => row['QUERY PLAN']).join('\n'))
  }
  return found
}

test('what is shared with a user, shares of a thing, teams of a user and members of a team are found by indexes', async () => {
  const { db } = store
  const shares = new ShareMap()
  await shares.load(opened)
  const list = (table: 'server' | 'server_group', scope: 'shared' | 'visible') => () =>
    listedRows(
      {
        store,
        table,
        shares,
        rowsOf: async (_, ids) => {
          found = ids
          return []
        },
        text: () => '',
        tags: () => undefined,
      },
      actor(USER, USER, 'user'),
      { scope },
    )
  let found: readonly string[] = []
  const deps = { store, shares, bus: new EventBus(() => {}) }
  const lookups = {
    'servers shared with me': list('server', 'shared'),
    'groups shared with me': list('server_group', 'shared'),
    'servers that I see': list('server', 'visible'),
    'shares of a server': () => shareRows(db, 'server', 's3'),
    'shares of a group': () => shareRows(db, 'group', 'g3'),
    'users of a team': () => usersOf(db, { kind: 'team', id: 't3' }),
    'members of a team': () => memberIds(db, 't3'),
    'enabled members of a team': () => enabledIds(db, 't3'),
    'size of a team': () => teamSize(db, 't3'),
    'things of a team': () => sharedThings(db, 't3'),
    'teams of a user': () => db.transaction().execute(trx => leaveSources(deps, { trx, after() {} }, USER)),
  }
  for (const [label, work] of Object.entries(lookups)) {
    const read = await plans(work)
    expect([label, read.length > 0]).toEqual([label, true])
    for (const plan of read)
      expect([label, plan.match(/Seq Scan on (?:share|team_member)\b.*/)?.[0], plan]).toEqual([label, undefined, plan])
  }
  // By name and by the five teams, each thing one time or more.
  await list('server', 'shared')()
  expect(found.length).toBeGreaterThan(10)
})
