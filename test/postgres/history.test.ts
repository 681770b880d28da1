/** Log records in PostgreSQL: found as in SQLite, by each reader its own, kept by days. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import pg from 'pg'
import type { UserActor } from '../../core/contract/records.ts'
import type { RecordPage } from '../../core/features/log-store.ts'
import type { Row } from '../../plugins/log-database/files/segment.ts'
import { PostgresRecords } from '../../plugins/log-database/postgres-records.ts'
import type { HistoryQuery } from '../../plugins/log-database/protocol.ts'
import { parseQueryText } from '../../plugins/log-database/query-text.ts'
import { SegmentStore } from '../../plugins/log-database/record-store.ts'
import { toRow } from '../../plugins/log-database/row.ts'
import { extent } from '../support/extent.ts'
import { openHistory } from '../support/log-database.ts'
import { batchOf } from '../support/record-batch.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { anyPostgres } from './support/any-postgres.ts'

const DAY_MS = 86_400_000
const START = Date.parse('2026-11-22T09:00:00.000Z')
/** Rows over three days, more than three pages for each reader. */
const ROWS = extent(600, 3_000)
const STEP_MS = (2 * DAY_MS) / ROWS
const READERS = [['u1'], ['u3', 'u1'], ['nobody']]
const silent = { debug() {}, info() {}, warn() {}, error() {} }

let postgres: Awaited<ReturnType<typeof anyPostgres>>
let databaseUrl: string
let folder: string
let number = 0

beforeAll(async () => {
  postgres = await anyPostgres()
}, 120_000)
beforeEach(async () => {
  number += 1
  databaseUrl = await postgres.database(`history${number}`)
  folder = await makeTemp('pg-history')
  return () => removeTemp(folder)
})
afterAll(() => postgres?.stop(), 120_000)

const options = (change = {}) => ({
  ...{ folder, retentionMs: 30 * DAY_MS, maxBytes: 1e9, table: 'log_record', indexes: ['timestamp', 'server'] },
  ...change,
})
const row = (message: string, at: number, readers = '', more = {}) =>
  toRow(JSON.stringify({ level: 'INFO', timestamp: new Date(at).toISOString(), ...more, message }), readers) as Row
const query = (q: string, change: Partial<HistoryQuery> = {}): HistoryQuery => ({
  ...{ readers: 'all', where: parseQueryText(q), order: 'desc', limit: 50 },
  ...change,
})

/** A page that the time limit did not cut: a full one, or one with nothing behind it. */
async function inTime(records: SegmentStore | PostgresRecords, asking: HistoryQuery): Promise<RecordPage> {
  return await until(async () => {
    const page = await records.search(asking)
    return page.items.length === asking.limit || page.next === undefined ? page : undefined
  })
}

async function count(sql: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return Number((await client.query(sql)).rows[0].count)
  } finally {
    await client.end()
  }
}

test('every search finds what it finds in SQLite, page by page, for each reader', async () => {
  const [sqlite, stored] = [
    new SegmentStore(options(), () => {}),
    new PostgresRecords(options({ databaseUrl }) as never),
  ]
  const words = ['alpha', 'beta gamma', '请求超时', 'Straße', 'it’s "quoted" \\ %_', 'null \u0000 byte']
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const more = {
      server: `s${n % 7}`,
      level: n % 50 === 0 ? 'ERROR' : 'INFO',
      status: n % 3 ? 'success' : 'error',
      tool: n % 200 ? 't' : 'a\0b',
    }
    return row(`${words[n % words.length]} number ${n}`, START + n * STEP_MS, n % 2 ? 'u1' : 'u2,u3', more)
  })
  for (let at = 0; at < rows.length; at += 500) {
    sqlite.append(rows.slice(at, at + 500))
    await stored.append(rows.slice(at, at + 500))
  }
  const asked = [
    '',
    'alpha',
    'a',
    '超时',
    'straße',
    'quoted',
    '%_',
    'level:ERROR',
    'server:s3 number',
    '-alpha',
    'server:(s1 or s2)',
  ]
  // Tries each query for everybody, and by turns for one of the other readers.
  for (const [at, q] of [...asked, 'nothing-like-this', 'null'].entries())
    for (const reader of extent(['all', READERS[at % READERS.length]], ['all', ...READERS]))
      for (const order of ['desc', 'asc'] as const) {
        let after: number | undefined
        for (let page = 0; page < 3; page += 1) {
          const asking = query(q, { readers: reader as never, order, ...(after === undefined ? {} : { after }) })
          const [one, other] = [await inTime(sqlite, asking), await inTime(stored, asking)]
          expect([q, reader, order, other.items]).toEqual([q, reader, order, one.items])
          expect(other.next).toBe(one.next as number)
          after = one.next
          if (after === undefined) break
        }
      }
  sqlite.close()
  await stored.close()
}, 120_000)

test('columns add up calls; a table of an earlier hub gets them', async () => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`create table log_record(id bigint generated always as identity, at bigint not null, level int not null,
    readers text not null, record text not null, terms tsvector not null, duration bigint) partition by range (at)`)
  const stored = new PostgresRecords(options({ databaseUrl }) as never)
  const many = { outcome: 'timeout', count: 800, errors: 800, durationTotal: 9_000, outcomes: { timeout: 800 } }
  await stored.append([
    row('tools/call', START, '', { duration: 20, ...many }),
    row('tools/call', START, '', { outcome: 'ok', duration: 5 }),
    row('lines', START, '', { count: 'many', errors: ['x'], durationTotal: 1, duration: 2 }),
  ])
  const { rows } = await client.query(
    `select outcome, count, errors, "durationTotal" total, duration from log_record order by id`,
  )
  await client.end()
  await stored.close()
  expect(rows).toEqual([
    { outcome: 'timeout', count: '800', errors: '800', total: '9000', duration: '20' },
    { outcome: 'ok', count: '1', errors: '0', total: '5', duration: '5' },
    { outcome: null, count: '1', errors: null, total: null, duration: '2' },
  ])
})

test('days are partitions; those that are too old go, and the oldest while all are too much', async () => {
  const stored = new PostgresRecords(options({ databaseUrl, retentionMs: 3 * DAY_MS }) as never)
  const days = Array.from({ length: 6 }, (_, day) => START + day * DAY_MS)
  for (const at of days) await stored.append([row('x', at), row('x', at + 1)])
  // The clock went back.
  await stored.append([row('late', START)])
  const partitions = "select count(*) from pg_inherits where inhparent = 'log_record'::regclass"
  expect(await count(partitions)).toBe(6)
  await stored.retain(START + 5 * DAY_MS)
  expect(await count(partitions)).toBe(4)
  expect((await stored.search(query('x'))).total).toBe(8)
  await stored.close()
  const small = new PostgresRecords(options({ databaseUrl, maxBytes: 1 }) as never)
  await small.retain(START + 5 * DAY_MS)
  expect(await count(partitions)).toBe(1)
  expect((await small.search(query('x'))).total).toBe(2)
  await small.append([row('again', START)])
  expect((await small.search(query('again'))).total).toBe(1)
  await small.close()
})

test('a thread of its own stores and searches; a lost database is a failure, and one that is back is used again', async () => {
  const history = openHistory(options({ databaseUrl }) as never, silent)
  const admin: UserActor = { kind: 'user', userId: 'u', name: 'u', role: 'admin', credential: { kind: 'local' } }
  const write = (message: string) =>
    history.write(batchOf([JSON.stringify({ level: 'INFO', timestamp: new Date().toISOString(), message })]))
  const found = async (q: string) =>
    (await history.for(admin).search({ where: parseQueryText(q), order: 'desc', limit: 10 })).items.length
  await write('before')
  expect(await found('before')).toBe(1)
  await count(
    'select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
  )
  // The first attempt finds the lost connection. A second one follows, as the queue of the sink would do.
  await write('after').catch(() => write('after'))
  expect(await found('after')).toBe(1)
  expect(await found('before')).toBe(1)
  await history.close()
}, 120_000)

test('a table with the longest name has all its indexes, and a partition for each day', async () => {
  const table = 'l'.repeat(63)
  const stored = new PostgresRecords(options({ databaseUrl, table, indexes: ['timestamp', 'requestId'] }) as never)
  for (let day = 0; day < 3; day += 1) await stored.append([row(`day${day}`, START + day * DAY_MS)])
  expect((await stored.search(query('day2'))).items).toHaveLength(1)
  await stored.retain(START + 40 * DAY_MS)
  expect((await stored.search(query(''))).total).toBe(1)
  await stored.close()
  const indexes = await count(`select count(*) from pg_indexes where tablename = '${table}'`)
  expect(indexes).toBe(4)
})
