import { existsSync, renameSync } from 'node:fs'
import { storageCode } from 'patchbay/log-kit'

/** Endings of SQLite's files of one database. The database itself is last, so that no part of an old one stays beside a new one. */
const ENDS = ['-wal', '-shm', '']
/** Result codes of SQLite, including extended ones, for a file with damaged content. All other errors may be temporary. */
const DAMAGE = /^SQLITE_(?:CORRUPT|NOTADB)/

/**
 * Opens a file of the history. A damaged one is renamed to `<path>.damaged-<time>` with its related files, `note` reports it,
 * and undefined is returned. Throws every other error, such as that of a full disk or a lock: the file stays in place.
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
