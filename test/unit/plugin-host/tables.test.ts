import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CompiledQuery, type Kysely } from 'kysely'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { guarded } from '../../../core/plugin-host/tables/own-tables.ts'
import { openStore, type Store } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { attempt, FORBIDDEN, notes, openNotes } from './own-tables.ts'

const REFUSED = /not open to plugins|no name for a table|no such table|needs onDelete|was not made by/

let folder: string
let store: Store
beforeAll(async () => {
  folder = await makeTemp('tables')
  store = await openStore({ dataDir: folder })
})
afterAll(async () => {
  await store.close()
  await removeTemp(folder)
})

describe('tables of a plugin', () => {
  test('are written and read by their own names, and others have theirs', async () => {
    const [mine, other] = [await openNotes(store), await openNotes(store, 'other')]
    const effects: string[] = []
    await mine.write(async (db, after) => {
      await db.insertInto('note').values({ id: 'a', owner_id: null, text: 'mine' }).execute()
      after(() => effects.push('committed'))
    })
    const lost = mine.write(async (db, after) => {
      await db.insertInto('note').values({ id: 'b', owner_id: null, text: 'lost' }).execute()
      after(() => effects.push('never'))
      throw new Error('changed its mind')
    })
    await expect(lost).rejects.toThrow('changed its mind')
    const rows = await mine.read(db =>
      db
        .selectFrom('note as n')
        .select(['n.id', 'n.text'])
        .where('n.text', 'like', 'm%')
        .orderBy('n.id', 'desc')
        .execute(),
    )
    expect(rows).toEqual([{ id: 'a', text: 'mine' }])
    expect(effects).toEqual(['committed'])
    expect(await other.read(db => db.selectFrom('note').selectAll().execute())).toEqual([])
  })

  test.each(Object.keys(FORBIDDEN))('a statement does not reach others by %s', async what => {
    await openNotes(store)
    const statement = FORBIDDEN[what]
    expect(await attempt(store, db => statement?.(db))).toMatch(REFUSED)
  })

  test('a statement that something else has made is refused', async () => {
    const db: Kysely<never> = guarded('notes', store.dialect, store.db)
    await expect(db.executeQuery(CompiledQuery.raw('select * from setting'))).rejects.toThrow(
      'was not made by its own tables',
    )
    await expect(db.withoutPlugins().executeQuery(CompiledQuery.raw('select 1'))).rejects.toThrow('was not made by')
    await expect(db.transaction().execute(async () => 1)).rejects.toThrow('begins by "write"')
  })

  test('migrations run once, in order, all of them or none', async () => {
    const ran: string[] = []
    const two = { '0001-notes': notes, '0002-more': async () => void ran.push('more') }
    await migrateOwn('ordered', { '0001-notes': notes }, store)
    await migrateOwn('ordered', two, store)
    await migrateOwn('ordered', two, store)
    expect(ran).toEqual(['more'])
    const failing = migrateOwn(
      'ordered',
      {
        ...two,
        '0003-wrong': async db => {
          await db.schema.createTable('half').addColumn('id', 'text').execute()
          throw new Error('no more')
        },
      },
      store,
    )
    await expect(failing).rejects.toThrow('"0003-wrong" failed, and its tables are as they were: no more')
    const names = (await store.db.introspection.getTables()).map(({ name }) => name)
    expect(names.filter(name => name.startsWith('plugin_ordered__')).sort()).toEqual([
      'plugin_ordered__migration',
      'plugin_ordered__note',
    ])
    await expect(migrateOwn('ordered', { '0001-notes': notes }, store)).rejects.toThrow('"0002-more"')
    await expect(migrateOwn('ordered', { ...two, '0000-late': notes }, store)).rejects.toThrow('stands before')
  })
})
