import type { Migration, TableChanger } from '../../contract/tables.ts'
import type { Store } from '../../store/open.ts'
import { WaitingRows } from '../../store/rows/plugin-rows.ts'
import { write } from '../../store/transact.ts'
import { guarded } from './own-tables.ts'

interface Applied {
  migration: { name: string; applied_at: string }
}

/**
 * Runs the changes of a plugin's tables that were not made yet, in one transaction: all of them or none. Throws Error with the
 * name of the one that failed, and for tables that a newer version of the plugin has changed. Rows that a restore or a move
 * brought are placed into new tables; `lost` gets the number of those that refer to a row which is gone.
 */
export async function migrateOwn(
  plugin: string,
  migrations: Readonly<Record<string, Migration>>,
  store: Store,
  lost?: (rows: number) => void,
): Promise<void> {
  const names = Object.keys(migrations).sort()
  if (names.length === 0) return
  await write(store, async trx => {
    const db = guarded<Applied>(plugin, store.dialect, trx)
    await db.schema
      .createTable('migration')
      .ifNotExists()
      .addColumn('name', 'text', column => column.primaryKey())
      .addColumn('applied_at', 'text', column => column.notNull())
      .execute()
    const applied = await db.selectFrom('migration').select('name').orderBy('name').execute()
    const unknown = applied.find(({ name }) => !names.includes(name))
    if (unknown) throw unknownChange(unknown.name)
    const last = applied.at(-1)?.name ?? ''
    const made = new Set(applied.map(({ name }) => name))
    const make = async (due: readonly string[]): Promise<void> => {
      for (const name of due) {
        if (name < last) throw new Error(`its migration "${name}" stands before "${last}", which was made already`)
        await change(name, migrations[name], db as unknown as TableChanger, store.dialect)
        await db.insertInto('migration').values({ name, applied_at: new Date().toISOString() }).execute()
      }
    }
    const due = names.filter(each => !made.has(each))
    const waiting = new WaitingRows(trx, plugin, store.dialect)
    // Rows of a restore are of the tables that the plugin had then: later changes of the tables are made with them inside.
    const then = due.length === 0 ? [] : (await waiting.of('migration')).map(({ name }) => String(name))
    const newer = then.find(name => !names.includes(name))
    if (newer !== undefined) throw unknownChange(newer)
    if (then.length > 0) {
      await make(due.filter(name => then.includes(name)))
      const dropped = await waiting.place('migration')
      if (dropped > 0) lost?.(dropped)
    }
    await make(due.filter(name => !then.includes(name)))
  })
}

function unknownChange(name: string): Error {
  return new Error(
    `its tables hold the change "${name}", which this version does not know: install the version that made it`,
  )
}

async function change(
  name: string,
  migration: Migration | undefined,
  db: TableChanger,
  engine: Store['dialect'],
): Promise<void> {
  try {
    await migration?.(db, engine)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`its migration "${name}" failed, and its tables are as they were: ${why}`, { cause: error })
  }
}
