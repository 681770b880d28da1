import { sql } from 'kysely'
import type { Migration, PluginTables, TableChanger } from '../../../core/contract/tables.ts'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { guarded, ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import type { Store } from '../../../core/store/open.ts'

export interface Notes {
  note: { id: string; owner_id: string | null; text: string }
}

export const notes: Migration = async db => {
  await db.schema
    .createTable('note')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.references('user.id').onDelete('cascade'))
    .addColumn('text', 'text', column => column.notNull())
    .execute()
}

export const openNotes = async (store: Store, plugin = 'notes'): Promise<PluginTables<Notes>> => {
  await migrateOwn(plugin, { '0001-notes': notes }, store)
  return ownTables<Notes>(plugin, store)
}

/** Statements that must not reach a table of the hub or of another plugin, by what they try. */
export const FORBIDDEN: Readonly<Record<string, (db: TableChanger) => unknown>> = {
  'a table of the hub': db => db.selectFrom('setting').selectAll().execute(),
  'a table of the hub by its schema': db => db.selectFrom('main.setting').selectAll().execute(),
  'a table of another plugin by its full name': db => db.selectFrom('plugin_other__note').selectAll().execute(),
  'a table behind an alias of its name': db =>
    db.selectFrom('setting').innerJoin('note as setting', 'setting.id', 'setting.id').selectAll().execute(),
  'a join': db => db.selectFrom('note').innerJoin('user', 'user.id', 'note.owner_id').selectAll().execute(),
  'a subquery': db =>
    db
      .selectFrom('note')
      .select(eb => eb.selectFrom('setting').select('value').limit(1).as('text'))
      .execute(),
  'SQL as text': db => db.selectFrom('note').select(sql<string>`(select value from setting)`.as('text')).execute(),
  'a table by text': db => db.selectFrom(sql<{ value: string }>`setting`.as('s')).selectAll().execute(),
  'a function that reads': db =>
    db
      .selectFrom('note')
      .select(eb => eb.fn('query_to_xml', [eb.val('select 1')]).as('text'))
      .execute(),
  'a change of the hub': db => db.updateTable('user').set({ role: 'admin' }).execute(),
  'an insert from elsewhere': db =>
    db
      .insertInto('note')
      .columns(['id', 'text'])
      .expression(eb => eb.selectFrom('setting').select(['key', 'value']))
      .execute(),
  'a removal': db => db.deleteFrom('setting').execute(),
  'a drop': db => db.schema.dropTable('setting').execute(),
  'a view': db => db.schema.createView('seen').as(db.selectFrom('note').selectAll()).execute(),
  'a schema': db => db.schema.createSchema('mine').execute(),
  'a reference that keeps a user': db =>
    db.schema
      .createTable('kept')
      .addColumn('user_id', 'text', column => column.references('user.id'))
      .execute(),
  'a default by text': db =>
    db.schema
      .alterTable('note')
      .addColumn('x', 'text', column => column.defaultTo(sql`(select 1)`))
      .execute(),
  'a type by text': db => db.schema.alterTable('note').addColumn('x', sql`text default (select 1)`).execute(),
  'a plain name that is too long': db =>
    db
      .selectFrom(`n${'o'.repeat(60)}`)
      .selectAll()
      .execute(),
  'a name with the mark of another plugin': db => db.selectFrom('b__note').selectAll().execute(),
}

/** The result of the statement: an error's message, or the rows. */
export async function attempt(store: Store, statement: (db: TableChanger) => unknown): Promise<unknown> {
  try {
    const db = guarded<Notes>('notes', store.dialect, store.db) as unknown as TableChanger
    return await statement(db)
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}
