import type { Kysely, Transaction } from 'kysely'
import { HubError } from '../contract/errors.ts'
import { isSerializationFailure, storageError, withStorageErrors } from './errors.ts'
import type { Store } from './open.ts'
import type { Tables } from './tables.ts'

/** The database itself or a transaction on it: what a reader needs. */
export type Reader = Kysely<Tables>
export type Writer = Transaction<Tables>

/** Runs when the transaction is committed, in the order given; never when it was not. */
export type AfterCommit = (effect: () => void) => void

/** Tries of a transaction that others win against, on PostgreSQL. */
const TRIES = 8

/** Reads; failures of the database come out as storage errors. */
export function read<T>(store: Store, work: (db: Reader) => Promise<T>): Promise<T> {
  const { silence } = store
  return withStorageErrors(() => (silence ? silence.within(() => work(store.db)) : work(store.db)))
}

/**
 * One transaction, as if it ran alone; what is handed to `after` happens once it is committed. With PostgreSQL it is
 * repeated when another one won, so `work` must have no effects but those on the database and through `after`.
 * SQLite has one connection: inside, only `trx` may be used, as the store itself would wait for ever.
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
        // Its caller was told that nothing was saved.
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
