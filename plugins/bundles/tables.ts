import type { Migration, PluginTables, TableReader, TableWriter } from 'patchbay/contract'

/** A bundle, stored once for all its owners. Its parts are written before this row. */
export interface FileRow {
  /** SHA-256 of its file, in hexadecimal. */
  sha256: string
  bytes: number
  /** JSON. */
  manifest: string
  signed: number
  /** Disk space of its files once it is unpacked; 0: not known yet. */
  unpacked_bytes: number
}

/** A user who has a bundle. */
export interface OwnerRow {
  sha256: string
  owner_id: string
  /** ISO 8601 UTC; when it was sent or installed last. */
  used_at: string
}

/** A piece of a bundle's file. */
export interface PartRow {
  sha256: string
  part: number
  content: Uint8Array
}

/** The tables of the plugin. */
export interface BundleTables {
  files: FileRow
  owners: OwnerRow
  parts: PartRow
}

export type Tables = PluginTables<BundleTables>
export type Reader = TableReader<BundleTables>
export type Writer = TableWriter<BundleTables>

/** The tables as hubs had them when bundles became a plugin. */
const bundles: Migration = async (db, engine) => {
  await db.schema
    .createTable('files')
    .addColumn('sha256', 'text', column => column.primaryKey())
    .addColumn('bytes', 'integer', column => column.notNull())
    .addColumn('manifest', 'text', column => column.notNull())
    .addColumn('signed', 'integer', column => column.notNull())
    .addColumn('unpacked_bytes', 'integer', column => column.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createTable('owners')
    .addColumn('sha256', 'text', column => column.notNull().references('files.sha256').onDelete('cascade'))
    .addColumn('owner_id', 'text', column => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('used_at', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('bundle_owner_key', ['sha256', 'owner_id'])
    .execute()
  await db.schema.createIndex('owners_owner').on('owners').column('owner_id').execute()
  // No reference: parts are written before the row that makes them a bundle.
  await db.schema
    .createTable('parts')
    .addColumn('sha256', 'text', column => column.notNull())
    .addColumn('part', 'integer', column => column.notNull())
    .addColumn('content', engine === 'sqlite' ? 'blob' : 'bytea', column => column.notNull())
    .addPrimaryKeyConstraint('bundle_part_key', ['sha256', 'part'])
    .execute()
}

/** The changes of the tables. */
export const migrations: Readonly<Record<string, Migration>> = { '0001-bundles': bundles }
