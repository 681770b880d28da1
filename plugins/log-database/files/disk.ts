import { statfsSync } from 'node:fs'

/** Nothing is stored while the disk has less free space than this, in bytes: the remainder is for the hub's own database. */
const LEAST_FREE_TO_STORE = 32 * 1024 * 1024

/** True when the disk of a folder has room for the history. */
export function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= LEAST_FREE_TO_STORE
}

/** Throws with the code ENOSPC while the disk of a folder is nearly full. */
export function assertRoom(folder: string): void {
  if (!hasRoom(folder)) throw Object.assign(new Error('the disk is nearly full'), { code: 'ENOSPC' })
}
