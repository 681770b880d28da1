import { statfsSync } from 'node:fs'

/** Nothing is stored while the disk has less room than this, in bytes: the rest is for the hub's own database. */
const LEAST_FREE_TO_STORE = 32 * 1024 * 1024

/** Bytes of the disk of a folder that programs may still fill. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Whether the disk of a folder has room for the history. */
export function hasRoom(folder: string): boolean {
  return freeBytes(folder) >= LEAST_FREE_TO_STORE
}

/** Throws while the disk of a folder is nearly full. */
export function assertRoom(folder: string): void {
  if (!hasRoom(folder)) throw new Error('the disk is nearly full')
}
