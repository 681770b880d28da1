import { statSync } from 'node:fs'

/**
 * Remembers which file or folder is at a path. The returned function checks whether it is still there: false once it was
 * moved, removed or replaced. Always true when nothing was there at first.
 */
export function watchPlace(path: string): () => boolean {
  const before = identityOf(path)
  return () => before === undefined || identityOf(path) === before
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats && `${stats.dev}:${stats.ino}`
}
