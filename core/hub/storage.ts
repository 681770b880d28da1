import type { HubConfig } from '../config/schema.ts'
import { StartError } from '../config/start-error.ts'
import { within } from '../connections/within.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { OpenRegistry } from '../registry/create.ts'
import { hasMasterKeyFile } from '../secrets/master-keys.ts'
import { StoreOpenError } from '../store/errors.ts'
import { lockStore, openStore, type Store } from '../store/open.ts'
import type { DatabaseLock } from '../store/postgres-lock.ts'

/** Longest wait of the stopping hub for the store to write pending data, in milliseconds. */
const STORE_LAST_MS = 3_000

/** Pending writes are lost when the database does not accept them in time: logged, but no reason to hang or to fail. */
export async function closeRegistry(room: OpenRegistry, log: PluginLogger): Promise<void> {
  const outcome = await within(
    room.close().then(
      () => 'kept',
      (error: unknown) => String(error),
    ),
    STORE_LAST_MS,
  )
  if (outcome === 'kept') return
  const error = outcome ?? `no answer within ${STORE_LAST_MS} ms`
  log.error('The last audit records and uses of keys were not stored', { error })
}

/** The database that is configured, with its lock on PostgreSQL. */
export interface HubStore {
  readonly store: Store
  readonly lock: DatabaseLock | undefined
}

/** Opens the configured database. Throws StartError with a message for the person who starts the hub. */
export async function openHubStore({ dataDir, databaseUrl }: HubConfig, undo: AsyncDisposableStack): Promise<HubStore> {
  const options = { dataDir, ...(databaseUrl ? { databaseUrl } : {}) }
  return asStartError(async () => {
    // Before the tables are brought up to date, which only one hub may do.
    const lock = await lockStore(options)
    if (lock) undo.defer(() => lock.release())
    // The master key is created after the first database.
    const usedBefore = await hasMasterKeyFile(dataDir)
    const store = await openStore({ ...options, usedBefore })
    undo.defer(() => store.close())
    return { store, lock }
  })
}

/** Resolves once another hub uses the database, which needs its connection to have been lost meanwhile. */
export async function takenOver(lock: DatabaseLock | undefined): Promise<StartError> {
  if (!lock) return new Promise(() => {})
  const { exitName, message } = await lock.taken
  return new StartError(exitName, message)
}

/** Runs work that opens the database. Throws StartError in place of StoreOpenError. */
export async function asStartError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StoreOpenError) throw new StartError(error.exitName, error.message, { cause: error })
    throw error
  }
}
