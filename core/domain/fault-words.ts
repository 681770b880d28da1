import { faultName } from '../transport-kit/wire-error.ts'

/** Phrases by error codes of the system, SQLite and PostgreSQL. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'it refuses the user or the password'],
  [/^3D000/, 'it has no database of that name'],
  [/^(?:42501|25006)/, 'its user may not make or change tables'],
  [/^53/, 'it has no room or no connections left'],
  [/^57P/, 'it is starting or stopping'],
  [/^ECONNREFUSED/, 'nothing listens there'],
  [/^(?:ENOTFOUND|EAI_)/, 'its host name has no address'],
  [/^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)/, 'it does not answer'],
  [/^(?:EACCES|EPERM|SQLITE_READONLY|EROFS)/, 'permission denied'],
  [/^EADDRNOTAVAIL/, 'the machine has no such address'],
  [/^(?:ENOENT|ENOTDIR|EISDIR|SQLITE_CANTOPEN)/, 'the file cannot be opened or made'],
  [/^(?:ENOSPC|EDQUOT|SQLITE_FULL)/, 'the disk is full'],
  [/^(?:SQLITE_NOTADB|SQLITE_CORRUPT)/, 'the file is not a whole database'],
  [/^(?:SQLITE_IOERR|EIO)/, 'the disk failed'],
]

/** The reason of a failure for the operator: a phrase for a known code, and the code itself. */
export function faultWords(error: unknown, code = faultName(error)): string {
  const known = REASONS.find(([pattern]) => pattern.test(code))?.[1]
  return known === undefined ? code : `${known}, ${code}`
}
