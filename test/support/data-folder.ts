import { Database } from 'bun:sqlite'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Hub } from './hub.ts'

/** Size of one table in the database, with its indexes. */
export interface TableSize {
  readonly rows: number
  /** Whole pages. */
  readonly bytes: number
}

/** Sizes of all tables of the hub's SQLite database by name, read past the hub. */
export function tableSizes({ dataDir }: Pick<Hub, 'dataDir'>): Readonly<Record<string, TableSize>> {
  const db = new Database(join(dataDir, 'patchbay.db'))
  try {
    db.run('pragma busy_timeout = 5000')
    const names = db
      .query<{ name: string }, []>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
      .all()
    const pages = new Map(
      db
        .query<{ table: string; bytes: number }, []>(
          'select s.tbl_name as "table", sum(d.pgsize) as bytes from dbstat d join sqlite_schema s on s.name = d.name group by 1',
        )
        .all()
        .map(({ table, bytes }) => [table, bytes]),
    )
    return Object.fromEntries(
      names.map(({ name }) => {
        const rows = db.query<{ rows: number }, []>(`select count(*) as rows from "${name}"`).get()?.rows ?? 0
        return [name, { rows, bytes: pages.get(name) ?? 0 }]
      }),
    )
  } finally {
    db.close()
  }
}

/** Disk space of the files below each entry of the data folder, in bytes. */
export function folderSizes({ dataDir }: Pick<Hub, 'dataDir'>): Readonly<Record<string, number>> {
  return Object.fromEntries(readdirSync(dataDir).map(name => [name, diskBytes(join(dataDir, name))]))
}

function diskBytes(path: string): number {
  try {
    const stat = statSync(path)
    if (!stat.isDirectory()) return 512 * stat.blocks
    return readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), 512 * stat.blocks)
  } catch (error) {
    // The hub removes files meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
