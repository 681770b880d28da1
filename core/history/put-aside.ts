import { existsSync, renameSync } from 'node:fs'
import { storageCode } from '../store/errors.ts'

/** SQLite's files of one database; the database itself comes last, so that no part of an old one stays beside a new one. */
const ENDS = ['-wal', '-shm', '']
/** The result codes of SQLite, extended ones included, for a file whose content is wrong. All others may pass by themselves. */
const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)/

/**
 * Opens a file of the history. A damaged one is renamed to `<path>.damaged-<time>` with what belongs to it, `note` reports it, and
 * undefined is returned. Throws every other error, such as that of a full disk or a lock: the file stays where it is.
 */
export function openOrPutAside<T>(
  path: string,
  open: (path: string) => T,
  note: (text: string) => void,
): T | undefined {
  try {
    return open(path)
  } catch (error) {
    if (!DAMAGE.test(storageCode(error) ?? '')) throw error
    const aside = `${path}.damaged-${Date.now()}`
    for (const end of ENDS) if (existsSync(path + end)) renameSync(path + end, aside + end)
    note(`A file of the log history is damaged and is put aside as ${aside}: ${String(error)}`)
    return undefined
  }
}
