/** Bundles of hubs in which they were no plugin: their rows are in the plugin's tables afterwards, and none is lost. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { writeBackupFile } from '../../../core/moving/backup/backup-file.ts'
import { readBackup, restoreRows } from '../../../core/moving/backup/restore.ts'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import { openStore, type Store } from '../../../core/store/open.ts'
import { openScratch } from '../../../core/store/scratch.ts'
import { type BundleTables, migrations } from '../../../plugins/bundles/tables.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const BEFORE = '0031-second-factor'
const SHA = 'ab'.repeat(32)
const AT = '2026-11-01T00:00:00.000Z'
const USER = {
  ...{ id: 'u1', number: 1, name: 'ada', name_key: 'ada', role: 'user' as const, disabled: 0 },
  ...{ must_change_password: 0, origin: 'store' as const, token_epoch: 0, revision: 1, created_at: AT, updated_at: AT },
}
const FILE = { sha256: SHA, bytes: 3, manifest: '{"name":"notes"}', signed: 0, unpacked_bytes: 4_096 }
const OWNER = { sha256: SHA, owner_id: 'u1', used_at: AT }
const PART = { sha256: SHA, part: 0, content: Buffer.from([1, 2, 3]) }

let folder: string
const stores: Store[] = []
beforeAll(async () => {
  folder = await makeTemp('bundle-tables')
})
afterAll(async () => {
  await Promise.all(stores.map(store => store.close()))
  await removeTemp(folder)
})

async function opened(name: string): Promise<Store> {
  const dataDir = join(folder, name)
  await mkdir(dataDir)
  const store = await openStore({ dataDir })
  stores.push(store)
  return store
}

const rowsOf = (store: Store) =>
  ownTables<BundleTables>('bundles', store).read(async db => ({
    files: await db.selectFrom('files').selectAll().execute(),
    owners: await db.selectFrom('owners').selectAll().execute(),
    parts: (await db.selectFrom('parts').selectAll().execute()).map(row => ({ ...row, content: [...row.content] })),
  }))
const ROWS = { files: [FILE], owners: [OWNER], parts: [{ ...PART, content: [1, 2, 3] }] }

test('an older database opens with the rows in the plugin’s tables, which need no change then', async () => {
  const scratch = await openScratch(join(folder, 'older.db'), BEFORE)
  const db = scratch.db as unknown as Kysely<Record<string, Record<string, unknown>>>
  await db.insertInto('user').values(USER).execute()
  await db.insertInto('bundle').values(FILE).execute()
  await db.insertInto('bundle_owner').values(OWNER).execute()
  await db.insertInto('bundle_part').values(PART).execute()
  expect(await scratch.finish()).toEqual([])
  const store = { db: scratch.db, dialect: 'sqlite' } as Store
  await migrateOwn('bundles', migrations, store)
  expect(await rowsOf(store)).toEqual(ROWS)
  // The references were renamed with the tables.
  await sql`pragma foreign_keys = on`.execute(scratch.db)
  await db.deleteFrom('user').execute()
  expect((await rowsOf(store)).owners).toEqual([])
  await scratch.close()
})

test('a backup of an earlier version is restored: the rows wait for the plugin, and are there once it starts', async () => {
  const path = join(folder, 'older.backup')
  await writeBackupFile(path, {
    header: {
      ...{ format: 'patchbay-backup', version: 1, hub: '1.0.0', schema: BEFORE },
      ...{ createdAt: AT, database: 'sqlite', keys: [] },
    },
    rows: rowsOfBackup(),
  })
  const store = await opened('restored')
  const backup = await readBackup(path, join(folder, 'scratch.db'))
  await restoreRows(store, backup)
  await backup.scratch.close()
  await migrateOwn('bundles', migrations, store)
  expect(await rowsOf(store)).toEqual(ROWS)
  expect(await store.db.selectFrom('waiting_row').selectAll().execute()).toEqual([])
})

async function* rowsOfBackup() {
  yield { table: 'user', rows: [USER] }
  yield { table: 'bundle', rows: [FILE] }
  yield { table: 'bundle_owner', rows: [OWNER] }
  yield { table: 'bundle_part', rows: [PART] }
}
