import { HubError } from '../contract/errors.ts'

/** The database could not be opened at start. `exitName` is the code that the process prints when it exits for it. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
  readonly exitName: 'store_corrupt' | 'store_unavailable' | 'store_newer' | 'database_locked' | 'data_dir_unwritable'

  constructor(exitName: StoreOpenError['exitName'], message: string, cause?: unknown) {
    super(message, { cause })
    this.exitName = exitName
  }
}

/** SQLite's result code name, PostgreSQL's SQLSTATE or the system's errno name, whichever the driver gave. */
export function storageCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** True when a write failed because a row with the same unique value exists. */
export function isUniqueViolation(error: unknown): boolean {
  const code = storageCode(error)
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === '23505'
}

/** True for an error about a reference to a missing row. */
export function isMissingReference(error: unknown): boolean {
  const code = storageCode(error)
  return code === 'SQLITE_CONSTRAINT_FOREIGNKEY' || code === '23503'
}

/** True when a concurrent transaction won, so that the whole transaction should be retried. */
export function isSerializationFailure(error: unknown): boolean {
  const code = storageCode(error)
  return code === '40001' || code === '40P01'
}

const FULL = new Set(['SQLITE_FULL', '53100', 'ENOSPC', 'EDQUOT'])
/** The database responds, but its disk accepts no writes: the file system or the server is read-only or broken. */
const NO_WRITES = /^(?:SQLITE_(?:READONLY|IOERR)|EROFS|EIO|25006$)/
const BUSY = /^(?:SQLITE_BUSY|SQLITE_LOCKED)|^(?:55P03|57014|40001|40P01)$/
const UNAVAILABLE =
  /^(?:SQLITE_(?:IOERR|CANTOPEN|READONLY|PERM|CORRUPT|NOTADB|PROTOCOL|NOMEM))|^(?:08...|57P0.|53...|28...|3D000|25006)$|^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT|EIO|EROFS|EACCES|EPERM|EMFILE|ENFILE|ENOTDIR)/
/** The code for a committed change that the disk did not confirm. */
export const UNCONFIRMED = 'SQLITE_IOERR_FSYNC'
const NOT_CONFIRMED = 'The disk did not confirm the change: it may be lost when the machine stops'
const LOST =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|Cannot use a pool after calling end|connection is not open/i

/** Maps a database failure to the hub's error; returns anything else unchanged. */
export function storageError(error: unknown): unknown {
  if (error instanceof HubError) return error
  const code = storageCode(error)
  if (code !== undefined && FULL.has(code)) {
    return new HubError('storage_full', 'The change was not saved: the disk of the database is full', { cause: error })
  }
  if (code !== undefined && BUSY.test(code)) {
    return new HubError('storage_busy', 'The database is busy', { cause: error, retryAfterSeconds: 1 })
  }
  if (code === UNCONFIRMED)
    return new HubError('storage_unavailable', NOT_CONFIRMED, { cause: error, retryAfterSeconds: 5 })
  const lost = error instanceof Error && LOST.test(error.message)
  if (lost || (code !== undefined && UNAVAILABLE.test(code))) {
    return new HubError('storage_unavailable', 'The database does not answer', { cause: error, retryAfterSeconds: 5 })
  }
  return error
}

/** True for an error of a full disk. */
export function isFull(error: unknown): boolean {
  return FULL.has(storageCode(error) ?? '')
}

/** True for an error about a lock of another connection. */
export function isBusy(error: unknown): boolean {
  return BUSY.test(storageCode(error) ?? '')
}

/** True when a write failed because of the database's disk, so that the next one will fail as well. */
export function isRefusedWrite(error: unknown): boolean {
  const code = storageCode(error)
  return code !== undefined && (FULL.has(code) || NO_WRITES.test(code))
}

/** Runs work on the database; its failures are thrown as `storage_full`, `storage_busy` or `storage_unavailable`. */
export async function withStorageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw storageError(error)
  }
}
