import { statSync } from 'node:fs'

/** Error codes for a path that something else occupies now. Other errors, such as EIO, do not show that. */
const ELSEWHERE: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EACCES', 'ELOOP'])

/**
 * Remembers the file or folder at a path. The returned function checks whether it is still there: false once it was moved,
 * removed or replaced. Always true if nothing was there at first, and while the system cannot determine it. Never throws.
 */
export function watchPlace(path: string): () => boolean {
  let before = identityOf(path)
  return () => {
    const now = identityOf(path)
    if (now === 'unknown') return true
    if (before === 'unknown') before = now
    return before === undefined || now === before
  }
}

/** Undefined when nothing is there. */
function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
    return stats && `${stats.dev}:${stats.ino}`
  } catch (error) {
    return ELSEWHERE.has((error as NodeJS.ErrnoException).code) ? undefined : 'unknown'
  }
}
