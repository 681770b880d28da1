import type Database from 'better-sqlite3'
import type { SqliteDatabase } from 'kysely'

/** SQLite's own code for a moved file, which it uses only in other journal modes. */
const MOVED = 'SQLITE_READONLY_DBMOVED'

/** How a database is used. */
export interface Adapting {
  /** Whether its file is still at its path. */
  readonly inPlace?: () => boolean
  /** How a transaction begins. */
  readonly begin?: 'begin immediate' | 'begin deferred'
}

/**
 * Transactions take the write lock at once, since an upgrade to it later is refused immediately when another process
 * holds it. SQLite ends a transaction by itself when the disk is full. The driver's rollback would then fail, and its
 * error would hide the original one.
 */
export function adapted(
  database: Database,
  { inPlace = () => true, begin = 'begin immediate' }: Adapting = {},
): SqliteDatabase {
  return {
    close: () => void database.close(),
    prepare(text) {
      if (text === 'begin') {
        refuseMoved(inPlace)
        return database.prepare(begin)
      }
      const ended = text === 'rollback' && !database.inTransaction
      // Any statement that returns and changes nothing.
      const statement = database.prepare(ended ? 'select 1 where 0' : text)
      if (!statement.readonly && !database.inTransaction) refuseMoved(inPlace)
      return statement
    },
  }
}

/** Refuses a write to a file that is no longer at its path: the data would be lost. */
function refuseMoved(inPlace: () => boolean): void {
  if (inPlace()) return
  throw Object.assign(new Error('The database file was moved, removed or replaced while the hub ran'), { code: MOVED })
}
