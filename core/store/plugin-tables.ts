import type { Kysely } from 'kysely'
import type { Reader, Writer } from './transact.ts'

/** Prefix of the names of all tables of a plugin. */
export function tablePrefix(plugin: string): string {
  return `plugin_${plugin.replaceAll('-', '_')}__`
}

/** True for the whole name of a plugin's table. */
export function isPluginTable(name: string): boolean {
  return /^plugin_.+?__/.test(name)
}

/** A row of a plugin's table with a sealed text: in the table, or waiting for it. */
export interface SealedPluginRow {
  /** The whole name. */
  readonly table: string
  readonly id: string
  readonly user_id: string | null
  readonly sealed: string
  /** Its place among the rows that wait; undefined for one in the table. */
  readonly position?: number
}

/** The purpose and context with which the text of a row is sealed. */
export function sealedPlace({ table, id, user_id }: Pick<SealedPluginRow, 'table' | 'id' | 'user_id'>) {
  return { purpose: 'plugin table', context: { owner: user_id ?? '', record: id, field: table } }
}

const COLUMNS = ['id', 'user_id', 'sealed'] as const

/** All rows of plugins that hold sealed texts, in the column `sealed` of a table that has `id` and `user_id`. */
export async function sealedPluginRows(db: Reader): Promise<readonly SealedPluginRow[]> {
  const found: SealedPluginRow[] = []
  for (const { name: table, columns } of await db.introspection.getTables()) {
    if (!isPluginTable(table) || !COLUMNS.every(name => columns.some(column => column.name === name))) continue
    const rows = anyTables(db).selectFrom(table).select(COLUMNS).where('sealed', 'is not', null)
    found.push(...(await rows.execute()).map(row => ({ ...row, table })))
  }
  const waiting = db.selectFrom('waiting_row').selectAll().where('content', 'like', '%"sealed":"enc:%')
  for (const { table_name: table, position, content } of await waiting.execute()) {
    const { id, user_id = null, sealed } = JSON.parse(content) as Partial<SealedPluginRow>
    if (id !== undefined && sealed !== undefined) found.push({ table, position, id, user_id, sealed })
  }
  return found
}

/** Replaces the sealed text of one row. */
export async function replaceSealed(
  db: Writer,
  { table, id, position }: SealedPluginRow,
  sealed: string,
): Promise<void> {
  if (position === undefined) {
    await anyTables(db).updateTable(table).set({ sealed }).where('id', '=', id).execute()
    return
  }
  const at = db.selectFrom('waiting_row').select('content').where('table_name', '=', table)
  const { content } = await at.where('position', '=', position).executeTakeFirstOrThrow()
  const changed = { content: JSON.stringify({ ...JSON.parse(content), sealed }) }
  const update = db.updateTable('waiting_row').set(changed).where('table_name', '=', table)
  await update.where('position', '=', position).execute()
}

/** Tables of plugins are not known to the compiler. */
function anyTables(db: Reader) {
  return db as unknown as Kysely<Record<string, SealedPluginRow>>
}
