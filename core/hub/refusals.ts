import type { DataLock } from '../config/data-lock.ts'
import { HubError } from '../contract/errors.ts'
import type { Store } from '../store/open.ts'
import type { DatabaseLock } from '../store/postgres-lock.ts'

/** State that determines whether writes are possible. */
export interface WriteState {
  readonly draining: boolean
  readonly lock: Pick<DataLock, 'inPlace'>
  /** Lock of a PostgreSQL database. */
  readonly databaseLock: Pick<DatabaseLock, 'held'> | undefined
}

/** Why nothing is written now; undefined when writes are possible. */
export function writeObstacle({ draining, lock, databaseLock }: WriteState): HubError | undefined {
  if (draining) return stopping()
  if (!lock.inPlace()) return dataDirLost()
  return databaseLock?.held() === false ? databaseAway() : undefined
}

function stopping(): HubError {
  return new HubError('draining', 'The hub is stopping: nothing is changed or started any more')
}

/**
 * Checks whether the database responds. Throws the error that prevents writes, so that /health reports it until they are
 * possible.
 */
export async function pingInPlace(state: WriteState, store: Pick<Store, 'ping'>): Promise<'ok' | 'unwritable'> {
  const obstacle = writeObstacle(state)
  if (obstacle) throw obstacle
  return store.ping()
}

/** Why nothing is written while the data folder is not in its place. */
function dataDirLost(): HubError {
  return new HubError('storage_unavailable', 'The data folder was moved, removed or replaced while the hub ran', {
    hint: 'Put the folder back where it was; nothing new was made in its place.',
    retryAfterSeconds: 5,
  })
}

function databaseAway(): HubError {
  return new HubError('storage_unavailable', 'The database does not answer', { retryAfterSeconds: 5 })
}
