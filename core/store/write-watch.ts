import type { Kysely, LogEvent } from 'kysely'
import { isRefusedWrite } from './errors.ts'
import type { Tables } from './tables.ts'

/** Interval at which a full disk is tried again, in milliseconds: anybody may request `/health`. */
const TRY_MS = 1_000
/** More than one small change needs, so that a disk with one free page does not count as writable. */
const TRIED_BYTES = 65_536
/** A row that no code reads. */
const TRIED = { scope: 'system:write-watch', key: 'tried' }

/** Remembers that the database refused a write because of its disk, until a write succeeds. */
export class WriteWatch {
  #refused = false
  #triedMs = Number.NEGATIVE_INFINITY

  /** Kysely calls this for every statement. */
  readonly note = (event: LogEvent): void => {
    if (event.level === 'error' && isRefusedWrite(event.error)) this.#refused = true
  }

  /** Call when a sync failed, which Kysely does not log. */
  markUnwritable(): void {
    this.#refused = true
  }

  /** Tests whether the database accepts writes. After a rejection, tries a write at most once a second. */
  async check(db: Kysely<Tables>): Promise<'ok' | 'unwritable'> {
    const nowMs = performance.now()
    if (this.#refused && nowMs - this.#triedMs >= TRY_MS) {
      this.#triedMs = nowMs
      this.#refused = await tryWriting(db).then(
        () => false,
        () => true,
      )
    }
    return this.#refused ? 'unwritable' : 'ok'
  }
}

async function tryWriting(db: Kysely<Tables>): Promise<void> {
  const values = { value: 'x'.repeat(TRIED_BYTES), secret: 0, updated_at: '' }
  await db
    .insertInto('setting')
    .values({ ...TRIED, ...values })
    .onConflict(conflict => conflict.columns(['scope', 'key']).doUpdateSet(values))
    .execute()
  // Not in one transaction: SQLite would write nothing for a row that is inserted and deleted in it.
  await db.deleteFrom('setting').where('scope', '=', TRIED.scope).where('key', '=', TRIED.key).execute()
}
