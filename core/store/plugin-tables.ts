import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'
import type { Reader, Writer } from './transact.ts'

/** Prefix of the names of all tables of a plugin. */
export function tablePrefix(plugin: string): string {
  return `plugin_${plugin.replaceAll('-', '_')}__`
}

/** The column of a plugin's table that holds sealed texts. */
const SEALED = 'sealed'

/** A row of a plugin's table with a sealed text. */
export interface SealedPluginRow {
  readonly id: string
  readonly user_id: string | null
  readonly sealed: string
}

/** The purpose and context with which the text of a row is sealed. `table`: the whole name. */
export function tablePlace(table: string, { id, user_id }: Pick<SealedPluginRow, 'id' | 'user_id'>) {
  return { purpose: 'plugin table', context: { owner: user_id ?? '', record: id, field: table } }
}

/** Whole names of the tables of plugins that hold sealed texts. */
async function sealedTables(db: Reader): Promise<readonly string[]> {
  const tables = await db.introspection.getTables()
  const isSealed = ({ columns }: (typeof tables)[number]): boolean => columns.some(({ name }) => name === SEALED)
  return tables.filter(table => /^plugin_.+?__/.test(table.name) && isSealed(table)).map(({ name }) => name)
}

/** All rows of plugins' tables that hold sealed texts, by table. */
export async function sealedPluginRows(
  db: Reader,
): Promise<readonly { readonly table: string; readonly rows: readonly SealedPluginRow[] }[]> {
  const found = []
  for (const table of await sealedTables(db)) {
    const any = db as unknown as Kysely<Record<string, SealedPluginRow>>
    const rows = await any
      .selectFrom(table)
      .select(['id', 'user_id', 'sealed'])
      .where('sealed', 'is not', null)
      .execute()
    found.push({ table, rows })
  }
  return found
}

/** Replaces the sealed text of one row. */
export async function replaceSealed(db: Writer, table: string, { id }: SealedPluginRow, sealed: string): Promise<void> {
  const any = db as unknown as Kysely<Record<string, SealedPluginRow>>
  await any.updateTable(table).set({ sealed }).where('id', '=', id).execute()
}

/** Names of the plugins that have tables in this database. They are in no backup, and `migrate` leaves them where they are. */
export async function pluginsWithTables(db: Kysely<Tables>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables()
  const found = tables.flatMap(({ name }) => /^plugin_(.+?)__/.exec(name)?.[1] ?? [])
  return [...new Set(found)].map(word => word.replaceAll('_', '-')).sort()
}
