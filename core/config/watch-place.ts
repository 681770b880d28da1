import { statSync } from 'node:fs'

/**
 * Remembers which file or folder a path leads to now. The function returned says whether it still does: false once that was
 * moved, removed or replaced. Always true where nothing was there at first.
 */
export function watchPlace(path: string): () => boolean {
  const before = identityOf(path)
  return () => before === undefined || identityOf(path) === before
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats && `${stats.dev}:${stats.ino}`
}
