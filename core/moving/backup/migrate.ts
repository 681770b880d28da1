import { createHash } from 'node:crypto'
import { faultWords } from '../../domain/fault-words.ts'
import type { Store } from '../../store/open.ts'
import { readPluginRows } from '../../store/rows/plugin-rows.ts'
import { insertRows, readRows, type StoredRow } from '../../store/rows/rows.ts'
import { BACKED_UP, NOT_BACKED_UP } from '../../store/rows/tables.ts'
import type { Reader } from '../../store/transact.ts'
import { removeAll } from './restore.ts'

const ALL_TABLES = [...BACKED_UP, ...NOT_BACKED_UP]
const DIGEST_SPAN = 1n << 256n

/** The rows of one table. */
export interface TableDigest {
  readonly rows: number
  /** Over all rows, whatever their order: databases sort text differently. Hexadecimal, 64 digits. */
  readonly digest: string
}

/** Every table by its name. */
export type StoreDigest = Readonly<Record<string, TableDigest>>

/**
 * Replaces all that one store holds with the rows of another, of whichever database, in one transaction; sign-ins go on.
 * Before the commit the rows are read back and compared with those of the source. Throws, with nothing changed, when
 * they differ or a row is not accepted.
 */
export async function copyStore(from: Store, to: Store): Promise<StoreDigest> {
  return inOneMoment(from, async source => {
    const read = new Digests()
    return to.db.transaction().execute(async target => {
      await removeAll(target, to.dialect)
      for await (const { table, rows } of readRows(source, ALL_TABLES)) {
        read.add(table, rows)
        await insertRows(target, table, rows).catch((error: unknown) => {
          throw new Error(`A row of the table "${table}" is not accepted: ${faultWords(error)}`, { cause: error })
        })
      }
      for await (const rows of readPluginRows(source, from.dialect)) {
        read.add(
          'waiting_row',
          rows.map(row => ({ ...row })),
        )
        await insertRows(
          target,
          'waiting_row',
          rows.map(row => ({ ...row })),
        )
      }
      const expected = read.result()
      const found = await digestOf(target)
      const wrong = ALL_TABLES.find(({ name }) => !isSame(expected[name], found[name]))
      if (wrong) throw new Error(`The rows of the table "${wrong.name}" are not the same in the new database`)
      return expected
    })
  })
}

/** Counts and digests of all tables, equal for equal rows on either database. */
export async function digestOf(db: Reader): Promise<StoreDigest> {
  const digests = new Digests()
  for await (const { table, rows } of readRows(db, ALL_TABLES)) digests.add(table, rows)
  return digests.result()
}

function inOneMoment<T>({ db, dialect }: Store, work: (source: Reader) => Promise<T>): Promise<T> {
  const transaction = db.transaction()
  const moment =
    dialect === 'postgres' ? transaction.setIsolationLevel('repeatable read').setAccessMode('read only') : transaction
  return moment.execute(work)
}

function isSame(one: TableDigest | undefined, other: TableDigest | undefined): boolean {
  return one?.rows === other?.rows && one?.digest === other?.digest
}

class Digests {
  readonly #tables = new Map(ALL_TABLES.map(({ name }) => [String(name), { rows: 0, sum: 0n }]))

  add(table: string, rows: readonly StoredRow[]): void {
    const entry = this.#tables.get(table)
    if (!entry) return
    for (const row of rows) {
      entry.rows += 1
      entry.sum = (entry.sum + rowDigest(row)) % DIGEST_SPAN
    }
  }

  result(): StoreDigest {
    const entries = [...this.#tables].map(([table, { rows, sum }]) => {
      const digest = sum.toString(16).padStart(64, '0')
      return [table, { rows, digest }] as const
    })
    return Object.fromEntries(entries)
  }
}

/** Columns of a migrated database may be in another order than those of a new one. */
function rowDigest(row: StoredRow): bigint {
  const cells = Object.keys(row)
    .sort()
    .map(column => {
      const value = row[column]
      return [column, value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value]
    })
  return BigInt(`0x${createHash('sha256').update(JSON.stringify(cells)).digest('hex')}`)
}
