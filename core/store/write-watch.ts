import type { Kysely, LogEvent } from 'kysely'
import { isRefusedWrite } from './errors.ts'
import type { Tables } from './tables.ts'

/** How often a disk that was full is tried again, in milliseconds: anybody may ask for `/health`. */
const TRY_MS = 1_000
/** More than one small change needs, so that a disk with its last page free is not called well. */
const TRIED_BYTES = 65_536
/** A row that nothing reads. */
const TRIED = { scope: 'system:write-watch', key: 'tried' }

/** Remembers that the database refused a write for its disk, until one goes through again. */
export class WriteWatch {
  #refused = false
  #triedMs = Number.NEGATIVE_INFINITY

  /** Told of every statement, by Kysely. */
  readonly note = (event: LogEvent): void => {
    if (event.level === 'error' && isRefusedWrite(event.error)) this.#refused = true
  }

  /** Whether the database takes writes. Tries one, at most once a second, when it refused one before. */
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
  // Not in one transaction: SQLite would write nothing of a row that comes and goes.
  await db.deleteFrom('setting').where('scope', '=', TRIED.scope).where('key', '=', TRIED.key).execute()
}
