import { statfsSync } from 'node:fs'

/** Nothing is stored while the disk has less room than this, in bytes: the rest is for the hub's own database. */
const LEAST_FREE_TO_STORE = 32 * 1024 * 1024

/** Whether the disk of a folder has room for the history. */
export function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= LEAST_FREE_TO_STORE
}

/** Throws with the code ENOSPC while the disk of a folder is nearly full. */
export function assertRoom(folder: string): void {
  if (!hasRoom(folder)) throw Object.assign(new Error('the disk is nearly full'), { code: 'ENOSPC' })
}
