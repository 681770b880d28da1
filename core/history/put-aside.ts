import { renameSync, rmSync } from 'node:fs'

/**
 * Opens a file of the history. One that cannot be read is renamed to `<path>.damaged-<time>`, `note` says so, and
 * undefined is returned.
 */
export function openOrPutAside<T>(
  path: string,
  open: (path: string) => T,
  note: (text: string) => void,
): T | undefined {
  try {
    return open(path)
  } catch (error) {
    const aside = `${path}.damaged-${Date.now()}`
    renameSync(path, aside)
    for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
    note(`A file of the log history cannot be read and is put aside as ${aside}: ${String(error)}`)
    return undefined
  }
}
