import { isBusy, isFull, storageCode } from 'patchbay/log-kit'

/** The disk or its driver failed. */
const DISK = /^(?:EIO|SQLITE_IOERR)/
/** The file or its folder cannot be opened or written. */
const ACCESS = /^(?:E(?:ACCES|PERM|ROFS|NOENT|NOTDIR|MFILE|NFILE)$|SQLITE_(?:CANTOPEN|READONLY|PERM|AUTH))/

/** Why nothing is stored now: a code of the errors, and a sentence without paths, which anybody may read. */
export interface HistoryFault {
  readonly code: 'storage_full' | 'storage_busy' | 'storage_unavailable'
  readonly message: string
}

/** The fault that administrators see for an error of the history. */
export function historyFault(error: unknown): HistoryFault {
  const code = storageCode(error) ?? ''
  if (isFull(error)) {
    return { code: 'storage_full', message: 'The disk has no room for log records; they are stored once there is room' }
  }
  if (isBusy(error)) {
    return { code: 'storage_busy', message: 'Another program has locked a file of the log history' }
  }
  if (DISK.test(code)) return unavailable('The disk of the log history reports errors')
  if (ACCESS.test(code)) return unavailable('A file of the log history cannot be opened or written')
  return unavailable('The log history does not answer')
}

function unavailable(message: string): HistoryFault {
  return { code: 'storage_unavailable', message }
}
