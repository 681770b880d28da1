import type { Generated } from 'kysely'
import type { Migration } from 'patchbay/contract'

/** The tables of the library, for queries. */
export interface LibraryTables {
  book: { id: string; owner_id: string; title: string; stars: Generated<number | null> }
}

/** Books of a user, which are gone with the user. */
export const books: Migration = async db => {
  await db.schema
    .createTable('book')
    .addColumn('id', 'text', column => column.primaryKey())
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('title', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('book_owner').on('book').column('owner_id').execute()
}

/** Stars of a book. */
export const stars: Migration = async db => {
  await db.schema.alterTable('book').addColumn('stars', 'integer').execute()
}
