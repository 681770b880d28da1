import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Prefix of the names of all tables of a plugin. */
export function tablePrefix(plugin: string): string {
  return `plugin_${plugin.replaceAll('-', '_')}__`
}

/** Names of the plugins that have tables in this database. They are in no backup, and `migrate` leaves them where they are. */
export async function pluginsWithTables(db: Kysely<Tables>): Promise<readonly string[]> {
  const tables = await db.introspection.getTables()
  const found = tables.flatMap(({ name }) => /^plugin_(.+?)__/.exec(name)?.[1] ?? [])
  return [...new Set(found)].map(word => word.replaceAll('_', '-')).sort()
}
