import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { migrateOwn } from '../../core/plugin-host/tables/migrations.ts'
import { openStore, type Store } from '../../core/store/open.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { attempt, FORBIDDEN, notes, openNotes } from '../unit/plugin-host/own-tables.ts'
import { moved } from '../unit/store/plugin-rows.ts'

let postgres: Postgres
let folder: string
let store: Store
beforeAll(async () => {
  folder = await makeTemp('tables')
  postgres = await startPostgres()
  store = await openStore({ dataDir: folder, databaseUrl: await postgres.database('plugins') })
}, 120_000)
afterAll(async () => {
  await store?.close()
  await postgres?.stop()
  await removeTemp(folder)
}, 120_000)

test('PostgreSQL holds a plugin’s tables, and reaches no others by them', async () => {
  const mine = await openNotes(store)
  const other = await openNotes(store, 'other')
  await mine.write(db => db.insertInto('note').values({ id: 'a', owner_id: null, text: 'mine' }).execute())
  expect(await mine.read(db => db.selectFrom('note as n').select('n.text').execute())).toEqual([{ text: 'mine' }])
  expect(await other.read(db => db.selectFrom('note').selectAll().execute())).toEqual([])
  for (const [what, statement] of Object.entries(FORBIDDEN))
    expect([what, await attempt(store, statement)]).toEqual([
      what,
      expect.stringMatching(/not open to plugins|no name for a table|does not exist|needs onDelete/),
    ])
})

test('rows of plugins move to PostgreSQL, and from there', async () => {
  const ways = ['to', 'from'] as const
  for (const way of ways) {
    const dataDir = join(folder, way)
    await mkdir(dataDir)
    const sqlite = await openStore({ dataDir })
    const other = await openStore({ dataDir: folder, databaseUrl: await postgres.database(`moved_${way}`) })
    await (way === 'to' ? moved(sqlite, other) : moved(other, sqlite))
    await Promise.all([sqlite.close(), other.close()])
  }
})

test('PostgreSQL undoes a migration that fails, whole', async () => {
  const failing = migrateOwn(
    'half',
    {
      '0001-notes': notes,
      '0002-wrong': async (db, engine) => {
        await db.schema.createTable('more').addColumn('id', 'text').execute()
        throw new Error(`not on ${engine}`)
      },
    },
    store,
  )
  await expect(failing).rejects.toThrow('"0002-wrong" failed, and its tables are as they were: not on postgres')
  const names = (await store.db.introspection.getTables()).map(({ name }) => name)
  expect(names.filter(name => name.startsWith('plugin_half'))).toEqual([])
})
