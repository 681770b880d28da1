import { type Kysely, sql, type Transaction } from 'kysely'
import { HubError } from '../contract/errors.ts'
import { isSerializationFailure, storageError, withStorageErrors } from './errors.ts'
import type { JoinedTransaction, Store } from './open.ts'
import type { Tables } from './tables.ts'

/** The database itself or a transaction on it. */
export type Reader = Kysely<Tables>
/** A transaction; its writes are committed or rolled back together. */
export type Writer = Transaction<Tables>

/** Registers an effect that runs after the commit, in order; never when the transaction fails. */
export type AfterCommit = (effect: () => void) => void

/** Attempts of a transaction that loses to concurrent ones, on PostgreSQL. */
const TRIES = 8

/** Runs reads; failures of the database are thrown as storage errors. */
export function read<T>(store: Store, work: (db: Reader) => Promise<T>): Promise<T> {
  const { silence, joined } = store
  if (joined) return withStorageErrors(() => work(joined.trx))
  return withStorageErrors(() => (silence ? silence.within(() => work(store.db)) : work(store.db)))
}

/**
 * Runs one serializable transaction; effects passed to `after` run once it is committed. PostgreSQL retries it on a conflict, so
 * `work` must have no effects except on the database and through `after`. SQLite has one connection that writes: inside, use
 * only `trx`; through the store itself a write would deadlock, and a read would miss the transaction's writes.
 */
export async function write<T>(store: Store, work: (trx: Writer, after: AfterCommit) => Promise<T>): Promise<T> {
  const { silence, joined } = store
  if (joined) return withStorageErrors(() => work(joined.trx, joined.after))
  const transaction = store.db.transaction()
  const alone = store.dialect === 'postgres' ? transaction.setIsolationLevel('serializable') : transaction
  for (let attempt = 1; ; attempt += 1) {
    const effects: (() => void)[] = []
    const run = (over: () => boolean) =>
      alone.execute(async trx => {
        const value = await work(trx, effect => effects.push(effect))
        // The caller already got an error, so nothing may be saved.
        if (over()) throw new HubError('storage_unavailable', 'The database answered too late')
        store.atCommit?.(() => runAll(effects))
        return value
      })
    try {
      const value = await (silence ? silence.within(run) : run(() => false))
      if (!store.atCommit) runAll(effects)
      return value
    } catch (error) {
      if (attempt === TRIES || !isSerializationFailure(error)) throw storageError(error)
    }
  }
}

function runAll(effects: readonly (() => void)[]): void {
  for (const effect of effects) effect()
}

/** Operations of a transaction with many parts. */
export interface Together {
  /** Reads and writes through it belong to the transaction. */
  readonly store: Store
  /** Rolls back the writes of `part` when it throws, and throws the same error; the transaction continues. */
  attempt<T>(part: () => Promise<T>): Promise<T>
  /**
   * Registers work on tables that a copy does not have: it runs within the final transaction, after everything else, and may run
   * several times. It is dropped with the part that registered it, and by a plan.
   */
  later(work: LateWork): void
}

/** Work within the final transaction. */
export type LateWork = (store: Store) => Promise<void>

/**
 * Splits one open transaction into parts. `effects` returns the functions that the parts registered for after the commit, in
 * order; the caller runs them. `late` returns the work for the final transaction.
 */
export function togetherIn(
  store: Store,
  trx: Writer,
): {
  readonly together: Together
  readonly effects: () => readonly (() => void)[]
  readonly late: () => readonly LateWork[]
} {
  let effects: (() => void)[] = []
  let late: LateWork[] = []
  const joined: JoinedTransaction = { trx, after: effect => void effects.push(effect) }
  const together: Together = {
    store: { ...store, joined },
    later: work => void late.push(work),
    async attempt(part) {
      const before = { effects: effects.length, late: late.length }
      await sql`savepoint part`.execute(trx)
      try {
        const value = await part()
        await sql`release savepoint part`.execute(trx)
        return value
      } catch (error) {
        effects = effects.slice(0, before.effects)
        late = late.slice(0, before.late)
        await sql`rollback to savepoint part`.execute(trx)
        throw error
      }
    },
  }
  return { together, effects: () => effects, late: () => late }
}
