import { expect } from 'bun:test'
import type { Migration } from '../../../core/contract/tables.ts'
import { copyStore } from '../../../core/moving/backup/migrate.ts'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import type { Store } from '../../../core/store/open.ts'

interface Shelves {
  /** Named so that its rows are read before those that it refers to, if nobody orders them. */
  a_book: {
    id: string
    shelf_id: string
    user_id: string | null
    cover: Uint8Array | null
    lent: unknown
    pages: number
  }
  shelf: { id: string; title: string | null }
}

const shelves: Migration = async (db, engine) => {
  await db.schema
    .createTable('shelf')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('title', 'text')
    .execute()
  await db.schema
    .createTable('a_book')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('shelf_id', 'text', column => column.references('shelf.id').notNull())
    .addColumn('user_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('cover', engine === 'sqlite' ? 'blob' : 'bytea')
    .addColumn('lent', 'boolean', column => column.notNull())
    .addColumn('pages', 'integer', column => column.notNull())
    .execute()
}
/** Doubles what is there: it must run after the rows of an earlier version have arrived. */
const halfPages: Migration = async db => {
  for (const { id, pages } of await db.selectFrom('a_book').select(['id', 'pages']).execute())
    await db
      .updateTable('a_book')
      .set({ pages: 2 * Number(pages) })
      .where('id', '=', String(id))
      .execute()
}
const FIRST = { '0001-shelves': shelves }
const BOTH = { ...FIRST, '0002-half-pages': halfPages }
const BOOKS = 450

/** Fills the tables of a plugin in one store, copies it, and reads what a newer version of the plugin finds in the other. */
export async function moved(from: Store, to: Store): Promise<void> {
  await migrateOwn('books', FIRST, from)
  const tables = ownTables<Shelves>('books', from)
  await addUser(from, 'ada', 901)
  await addUser(from, 'bob', 902)
  const flag = (lent: boolean) => (from.dialect === 'sqlite' ? Number(lent) : lent)
  await tables.write(async db => {
    await db.insertInto('shelf').values({ id: 's', title: '上 "層"' }).execute()
    for (let book = 0; book < BOOKS; book += 1) {
      const of = { user_id: book === 0 ? 'bob' : 'ada', cover: new Uint8Array([0, 255, book % 256]) }
      const row = { id: `b${book}`, shelf_id: 's', ...of, lent: flag(book % 2 === 1), pages: book }
      await db.insertInto('a_book').values(row).execute()
    }
  })

  // Tables of the same plugin in the other store are replaced.
  await migrateOwn('books', BOTH, to)
  await ownTables<Shelves>('books', to).write(db => db.insertInto('shelf').values({ id: 'old', title: null }).execute())
  const copied = await copyStore(from, to)
  // One more is the migration that the hub made for the tables of bundles.
  expect(copied.waiting_row).toMatchObject({ rows: BOOKS + 3 })
  const names = (await to.db.introspection.getTables()).map(({ name }) => name)
  expect(names.filter(name => name.startsWith('plugin_books'))).toEqual([])

  // The user of one row is removed before the plugin starts.
  await to.db.deleteFrom('user').where('id', '=', 'bob').execute()
  const lost: number[] = []
  await migrateOwn('books', BOTH, to, rows => lost.push(rows))
  expect(lost).toEqual([1])
  const found = ownTables<Shelves>('books', to)
  const books = await found.read(db => db.selectFrom('a_book').selectAll().execute())
  expect(books).toHaveLength(BOOKS - 1)
  const last = books.find(({ id }) => id === 'b449')
  expect({ ...last, cover: [...(last?.cover ?? [])], lent: Boolean(last?.lent) }).toEqual({
    ...{ id: 'b449', shelf_id: 's', user_id: 'ada', cover: [0, 255, 449 % 256], lent: true, pages: 898 },
  })
  expect(await found.read(db => db.selectFrom('shelf').selectAll().execute())).toEqual([{ id: 's', title: '上 "層"' }])
  const waiting = to.db.selectFrom('waiting_row').selectAll().where('table_name', 'like', 'plugin_books%')
  expect(await waiting.execute()).toEqual([])
  // A second start changes nothing.
  await migrateOwn('books', BOTH, to, rows => lost.push(rows))
  expect(lost).toEqual([1])
  expect(await found.read(db => db.selectFrom('a_book').select('pages').where('id', '=', 'b449').execute())).toEqual([
    { pages: 898 },
  ])
}

async function addUser(store: Store, id: string, number: number): Promise<void> {
  const user = await store.db.selectFrom('user').selectAll().executeTakeFirstOrThrow()
  await store.db
    .insertInto('user')
    .values({ ...user, id, number, name: id, name_key: id })
    .execute()
}
