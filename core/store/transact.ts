import type { Kysely, Transaction } from 'kysely'
import { HubError } from '../contract/errors.ts'
import { isSerializationFailure, storageError, withStorageErrors } from './errors.ts'
import type { Store } from './open.ts'
import type { Tables } from './tables.ts'

/** The database itself or a transaction on it. */
export type Reader = Kysely<Tables>
/** A transaction, whose writes are committed or rolled back together. */
export type Writer = Transaction<Tables>

/** Registers an effect that runs after the commit, in order; never when the transaction fails. */
export type AfterCommit = (effect: () => void) => void

/** Attempts of a transaction that loses to concurrent ones, on PostgreSQL. */
const TRIES = 8

/** Runs reads; failures of the database are thrown as storage errors. */
export function read<T>(store: Store, work: (db: Reader) => Promise<T>): Promise<T> {
  const { silence } = store
  return withStorageErrors(() => (silence ? silence.within(() => work(store.db)) : work(store.db)))
}

/**
 * Runs one serializable transaction; effects passed to `after` run once it is committed. PostgreSQL retries it on a
 * conflict, so `work` must have no effects except on the database and through `after`. SQLite has one connection:
 * inside, use only `trx`, as the store itself would deadlock.
 */
export async function write<T>(store: Store, work: (trx: Writer, after: AfterCommit) => Promise<T>): Promise<T> {
  const { silence } = store
  const transaction = store.db.transaction()
  const alone = store.dialect === 'postgres' ? transaction.setIsolationLevel('serializable') : transaction
  for (let attempt = 1; ; attempt += 1) {
    const effects: (() => void)[] = []
    const run = (over: () => boolean) =>
      alone.execute(async trx => {
        const value = await work(trx, effect => effects.push(effect))
        // The caller already got an error, so nothing may be saved.
        if (over()) throw new HubError('storage_unavailable', 'The database answered too late')
        return value
      })
    const result = await attemptOnce()
    if (result === undefined) continue
    for (const effect of effects) effect()
    return result.value

    async function attemptOnce(): Promise<{ value: T } | undefined> {
      try {
        return { value: await (silence ? silence.within(run) : run(() => false)) }
      } catch (error) {
        if (attempt < TRIES && isSerializationFailure(error)) return undefined
        throw storageError(error)
      }
    }
  }
}
