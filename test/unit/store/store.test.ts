import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Kysely, sql } from 'kysely'
import { HubError } from '../../../core/contract/errors.ts'
import { isUniqueViolation, StoreOpenError, withStorageErrors } from '../../../core/store/errors.ts'
import { migrateTo } from '../../../core/store/migrate.ts'
import { openStore } from '../../../core/store/open.ts'
import { adapted } from '../../../core/store/sqlite-adapter.ts'
import { HubSqliteDialect } from '../../../core/store/sqlite-dialect.ts'
import type { Tables } from '../../../core/store/tables.ts'
import { read, write } from '../../../core/store/transact.ts'
import { atMost } from '../../support/pace.ts'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'patchbay-store-'))
})
afterEach(() => rm(dataDir, { recursive: true }))

async function openError(work: Promise<unknown>): Promise<StoreOpenError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof StoreOpenError) return error
  throw error ?? new Error('The store opened')
}

const setting = (key: string) => ({ scope: 'test', key, value: '1', secret: 0, updated_at: '2026-01-01T00:00:00.000Z' })

describe('openStore()', () => {
  test('makes a file that only its owner reads, with user row 1, and opens it again', async () => {
    const store = await openStore({ dataDir })
    await store.db.insertInto('setting').values(setting('a')).execute()
    for (const file of ['patchbay.db', 'patchbay.db-wal']) {
      expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600)
    }
    await store.close()
    const again = await openStore({ dataDir })
    await again.ping()
    const users = await again.db.selectFrom('user').selectAll().execute()
    expect(users).toMatchObject([{ number: 1, name: null, password_hash: null, role: 'admin' }])
    expect(await again.db.selectFrom('setting').select('key').execute()).toEqual([{ key: 'a' }])
    await again.close()
  })

  test('sets WAL, foreign keys, full synchronisation and no busy wait, which would stop the thread', async () => {
    const store = await openStore({ dataDir })
    const pragma = async (name: string) =>
      Object.values((await sql.raw(`pragma ${name}`).execute(store.db)).rows[0] as object)[0]
    expect(await pragma('journal_mode')).toBe('wal')
    expect(await pragma('foreign_keys')).toBe(1)
    expect(await pragma('busy_timeout')).toBe(0)
    expect(await pragma('synchronous')).toBe(1)
    await store.close()
  })

  test('tightens the mode of a file that others can read', async () => {
    await (await openStore({ dataDir })).close()
    await chmod(join(dataDir, 'patchbay.db'), 0o644)
    await (await openStore({ dataDir })).close()
    expect((await stat(join(dataDir, 'patchbay.db'))).mode & 0o777).toBe(0o600)
  })

  test('leaves a file that is no database as it is', async () => {
    const path = join(dataDir, 'patchbay.db')
    await writeFile(path, 'not a database at all\n'.repeat(500))
    const before = await readFile(path)
    expect((await openError(openStore({ dataDir }))).exitName).toBe('store_corrupt')
    expect(await readFile(path)).toEqual(before)
  })

  test('leaves a damaged database as it is', async () => {
    await (await openStore({ dataDir })).close()
    const path = join(dataDir, 'patchbay.db')
    const bytes = await readFile(path)
    bytes.fill(0xaa, 4096, 12_288)
    await writeFile(path, bytes)
    const error = await openError(openStore({ dataDir }))
    expect(error.exitName).toBe('store_corrupt')
    expect(error.message).toContain(path)
    expect(await readFile(path)).toEqual(bytes)
  })

  test('says of a database of a newer release that it is one', async () => {
    const store = await openStore({ dataDir })
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030')`.execute(store.db)
    await store.close()
    const error = await openError(openStore({ dataDir }))
    expect([error.exitName, error.message]).toEqual(['store_newer', expect.stringContaining('newer Patchbay')])
  })

  test('changes nothing of the tables when one of several changes fails', async () => {
    const database = new Database(join(dataDir, 'patchbay.db'))
    const db = new Kysely<Tables>({ dialect: new HubSqliteDialect({ database: adapted(database) }) })
    await migrateTo(db, 'sqlite', '0010-document-parts')
    // This table makes the last change fail, after others have been made.
    await sql`create table sign_in (id text)`.execute(db)
    const schema = () => database.prepare('select name, sql from sqlite_schema order by name').all()
    const before = schema()
    expect((await openError(openStore({ dataDir }))).exitName).toBe('store_unavailable')
    expect(schema()).toEqual(before)
    await sql`drop table sign_in`.execute(db)
    await db.destroy()
    const store = await openStore({ dataDir })
    expect(await store.db.selectFrom('sign_in').selectAll().execute()).toEqual([])
    await store.close()
  })

  test('refuses a folder that is not there, and an address of another kind of database', async () => {
    expect((await openError(openStore({ dataDir: join(dataDir, 'none') }))).exitName).toBe('data_dir_unwritable')
    const other = openStore({ dataDir, databaseUrl: 'mysql://ada:canary@a/b' })
    expect((await openError(other)).message).not.toContain('canary')
  })

  test('says that PostgreSQL does not answer', async () => {
    const error = await openError(openStore({ dataDir, databaseUrl: 'postgres://127.0.0.1:1/none' }))
    expect(error.exitName).toBe('store_unavailable')
  })
})

describe('write()', () => {
  test('makes no read wait for it: one meanwhile sees what was before, one afterwards the change', async () => {
    const store = await openStore({ dataDir })
    const settings = () => read(store, db => db.selectFrom('setting').select('key').execute())
    const { promise: written, resolve: tellWritten } = Promise.withResolvers<void>()
    const { promise: end, resolve: tellEnd } = Promise.withResolvers<void>()
    const writing = write(store, async trx => {
      await trx.insertInto('setting').values(setting('a')).execute()
      expect(await trx.selectFrom('setting').select('key').execute()).toEqual([{ key: 'a' }])
      tellWritten()
      await end
    })
    await written
    expect(await settings()).toEqual([])
    expect(await store.ping()).toBe('ok')
    tellEnd()
    await writing
    expect(await settings()).toEqual([{ key: 'a' }])
    await store.close()
    expect(existsSync(join(dataDir, 'patchbay.db-wal'))).toBe(false)
  })

  test('runs its effects after the commit, and none of them when it fails', async () => {
    const store = await openStore({ dataDir })
    const told: string[] = []
    await write(store, async (trx, after) => {
      after(() => told.push('done'))
      await trx.insertInto('setting').values(setting('a')).execute()
      told.push('written')
    })
    const failed = write(store, async (trx, after) => {
      after(() => told.push('never'))
      await trx.insertInto('setting').values(setting('b')).execute()
      await trx.insertInto('setting').values(setting('a')).execute()
    })
    const error = await failed.catch((reason: unknown) => reason)
    expect(isUniqueViolation(error)).toBe(true)
    expect(told).toEqual(['written', 'done'])
    expect(await store.db.selectFrom('setting').select('key').execute()).toEqual([{ key: 'a' }])
    await store.close()
  })

  test('runs one after the other when many come at once', async () => {
    const store = await openStore({ dataDir })
    await store.db.insertInto('setting').values(setting('n')).execute()
    const raise = () =>
      write(store, async trx => {
        const row = await trx.selectFrom('setting').select('value').where('key', '=', 'n').executeTakeFirstOrThrow()
        await trx
          .updateTable('setting')
          .set({ value: String(Number(row.value) + 1) })
          .where('key', '=', 'n')
          .execute()
      })
    await Promise.all(Array.from({ length: 20 }, raise))
    expect((await store.db.selectFrom('setting').select('value').executeTakeFirstOrThrow()).value).toBe('21')
    await store.close()
  })

  test('waits a short while for another process that holds the file, without stopping the thread', async () => {
    const store = await openStore({ dataDir })
    const other = new Database(join(dataDir, 'patchbay.db'))
    other.exec('begin immediate')
    let ticks = 0
    const ticking = setInterval(() => {
      ticks += 1
      if (ticks === 10) other.exec('rollback')
    }, 5)
    await write(store, trx => trx.insertInto('setting').values(setting('a')).execute())
    expect(ticks).toBeGreaterThanOrEqual(10)
    clearInterval(ticking)
    other.close()
    await store.close()
  })

  test('says storage_busy within 300 ms, to all who wait, while another process holds the file', async () => {
    const store = await openStore({ dataDir })
    const other = new Database(join(dataDir, 'patchbay.db'))
    other.exec('begin immediate')
    const began = performance.now()
    const single = () => store.db.insertInto('setting').values(setting('s')).execute()
    const blocked = [1, 2, 3].map(n =>
      write(store, trx =>
        trx
          .insertInto('setting')
          .values(setting(`${n}`))
          .execute(),
      ),
    )
    const errors = await Promise.all([...blocked, withStorageErrors(single)].map(work => work.catch((e: unknown) => e)))
    expect(performance.now() - began).toBeLessThan(atMost(300))
    for (const error of errors) expect(error).toMatchObject({ code: 'storage_busy', retryAfterSeconds: 1 })
    expect(errors[0]).toBeInstanceOf(HubError)
    other.exec('rollback')
    other.close()
    await write(store, trx => trx.insertInto('setting').values(setting('a')).execute())
    expect(await store.db.selectFrom('setting').select('key').execute()).toEqual([{ key: 'a' }])
    await store.close()
  })

  test('says storage_busy on a machine on which each turn of the thread takes long', async () => {
    const store = await openStore({ dataDir })
    const other = new Database(join(dataDir, 'patchbay.db'))
    other.exec('begin immediate')
    let turns = 0
    const slow = setInterval(() => {
      turns += 1
      Bun.sleepSync(120)
      // Without an end of its own, the wait would end with the lock.
      if (turns === 30) other.exec('rollback')
    })
    const waiting = write(store, trx => trx.insertInto('setting').values(setting('a')).execute())
    expect(await waiting.catch((error: unknown) => error)).toMatchObject({ code: 'storage_busy' })
    expect(turns).toBeLessThan(30)
    clearInterval(slow)
    other.close()
    await store.close()
  })

  test('says storage_full when the file may not grow', async () => {
    const store = await openStore({ dataDir })
    await sql`pragma max_page_count = 1`.execute(store.db)
    const value = 'x'.repeat(1_000_000)
    const error = await write(store, trx =>
      trx
        .insertInto('setting')
        .values({ ...setting('a'), value })
        .execute(),
    ).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'storage_full' })
    expect(await store.db.selectFrom('setting').selectAll().execute()).toEqual([])
    await store.close()
  })
})

test('a row that points to nothing is refused, and one that others point to stays', async () => {
  const store = await openStore({ dataDir })
  const key = {
    id: 'k',
    hash: 'h',
    label: 'l',
    last4: '1',
    scopes: '[]',
    expires_at: null,
    last_used_at: null,
    created_at: '',
  }
  const insert = (owner_id: string) =>
    store.db
      .insertInto('access_key')
      .values({ ...key, owner_id })
      .execute()
  await expect(insert('nobody')).rejects.toMatchObject({ code: expect.stringMatching(/FOREIGNKEY|23503/) })
  const { id } = await store.db.selectFrom('user').select('id').executeTakeFirstOrThrow()
  await insert(id)
  await store.db.deleteFrom('user').execute()
  expect(await store.db.selectFrom('access_key').selectAll().execute()).toEqual([])
  await store.close()
})

test.each([
  ['SQLITE_BUSY_SNAPSHOT', 'storage_busy'],
  ['SQLITE_IOERR_WRITE', 'storage_unavailable'],
  ['ECONNREFUSED', 'storage_unavailable'],
  ['57P01', 'storage_unavailable'],
  ['53100', 'storage_full'],
  ['08006', 'storage_unavailable'],
])('withStorageErrors() turns %s into %s', async (code, expected) => {
  const failing = withStorageErrors(() => Promise.reject(Object.assign(new Error('x'), { code })))
  expect(await failing.catch((reason: HubError) => reason.code)).toBe(expected as never)
})

test('withStorageErrors() leaves a fault of the program as it is', async () => {
  const fault = new TypeError('x is not a function')
  expect(await withStorageErrors(() => Promise.reject(fault)).catch((reason: unknown) => reason)).toBe(fault)
})
