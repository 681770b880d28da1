import type { default as Database, Statement } from 'better-sqlite3'
import type { SqliteDatabase } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { CommitSync } from './commit-sync.ts'

/** SQLite's own code for a moved file, which it uses only in other journal modes. */
const MOVED = 'SQLITE_READONLY_DBMOVED'

/** Number of prepared statements that are cached; preparing is half the cost of a short query. */
const KEPT_STATEMENTS = 500
/** Longest cached statement, in characters; longer ones, such as those that list thousands of values, are rarely repeated. */
const KEPT_CHARACTERS = 4_096
/** Statements that keep the cache valid. After any other statement a table may have different columns. */
const KEPT = /^(?:select|insert|update|delete|with|begin|commit|rollback|savepoint|release)\b/i

/** Options of the adapter. */
export interface Adapting {
  /** Returns true while the database's file is still at its path. */
  readonly inPlace?: () => boolean
  /** Its `beforeWrite` is called for each statement that may write. */
  readonly sync?: CommitSync | undefined
  /** Statement with which a transaction begins. */
  readonly begin?: 'begin immediate' | 'begin deferred'
}

/**
 * Transactions take the write lock at once, since an upgrade to it later is refused immediately when another process
 * holds it. SQLite ends a transaction by itself when the disk is full. The driver's rollback would then fail, and its
 * error would hide the original one.
 */
export function adapted(
  database: Database,
  { inPlace = () => true, begin = 'begin immediate', sync }: Adapting = {},
): SqliteDatabase {
  const prepared = keeping(database)
  return {
    close: () => void database.close(),
    prepare(text) {
      if (text === 'begin') {
        refuseMoved(inPlace)
        sync?.beforeWrite()
        return prepared(begin)
      }
      const ended = text === 'rollback' && !database.inTransaction
      // Any statement that returns and changes nothing.
      const statement = prepared(ended ? 'select 1 where 0' : text)
      if (!statement.readonly && !database.inTransaction) {
        refuseMoved(inPlace)
        sync?.beforeWrite()
      }
      return statement
    },
  }
}

/** Prepares statements, each text once. The driver runs a statement to its end before it requests the next one. */
function keeping(database: Database): (text: string) => Statement {
  const kept = new LRUCache<string, Statement>({ max: KEPT_STATEMENTS })
  return text => {
    const found = kept.get(text)
    if (found) return found
    const statement = database.prepare(text)
    if (!KEPT.test(text)) kept.clear()
    else if (text.length <= KEPT_CHARACTERS) kept.set(text, statement)
    return statement
  }
}

/** Refuses a write to a file that is no longer at its path: the data would be lost. */
function refuseMoved(inPlace: () => boolean): void {
  if (inPlace()) return
  throw Object.assign(new Error('The database file was moved, removed or replaced while the hub ran'), { code: MOVED })
}
