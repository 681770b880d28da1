import { randomUUID } from 'node:crypto'
import { chmod, copyFile, type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Way in which the new content was written. */
export type WriteOutcome = 'replaced' | 'in-place'

/** Mode of a file that the hub writes. A stricter mode is kept. */
const PRIVATE = 0o600

/**
 * Replaces a file's content so that it is at every moment, a full disk or `kill -9` included, entirely the old or the
 * new one. Links are followed and kept. A file that cannot be replaced (a single file mounted into a container gives
 * `EBUSY`; the folder may not be writable) is overwritten in place, after a copy to `backupDir`. Throws the file
 * system's error; the old content is then unchanged.
 */
export async function writeFileAtomically(path: string, text: string, backupDir: string): Promise<WriteOutcome> {
  const target = await realpath(path)
  // Opened before anything changes: once the file is replaced, this call must not fail.
  const folder = await open(dirname(target), 'r')
  try {
    return await replaceFile(target, text, backupDir, folder)
  } finally {
    await folder.close()
  }
}

async function replaceFile(target: string, text: string, backupDir: string, folder: FileHandle): Promise<WriteOutcome> {
  const old = await stat(target)
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID().slice(0, 8)}.tmp`)
  try {
    await writeWhole(temporary, text, old)
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    if (!cannotReplace(error)) throw error
    await writeInPlace(target, text, backupDir)
    return 'in-place'
  }
  // The new content is already in place, so an error would be untrue; at worst a power cut restores the old one.
  await folder.sync().catch(() => undefined)
  return 'replaced'
}

async function writeWhole(path: string, text: string, old: { mode: number; uid: number; gid: number }): Promise<void> {
  const stricter = (old.mode & 0o777 & ~PRIVATE) === 0
  // FileHandle.writeFile reports a full disk; fs.write and fs.writeSync of Bun 1.4.5 write less without an error.
  const file = await open(path, 'wx', PRIVATE)
  try {
    await file.writeFile(text)
    if (stricter) await file.chmod(old.mode & 0o777)
    await keepOwner(file, old)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Keeps the file's owner: a hub that runs as root may write files of other users, who must be able to read them afterwards. */
async function keepOwner(file: FileHandle, old: { uid: number; gid: number }): Promise<void> {
  const now = await file.stat()
  if (now.uid === old.uid && now.gid === old.gid) return
  try {
    await file.chown(old.uid, old.gid)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error
  }
}

function cannotReplace(error: unknown): boolean {
  return ['EBUSY', 'EACCES', 'EPERM', 'EXDEV'].includes(codeOf(error))
}

/**
 * Overwrites the content after copying the old one to `backupDir`. A failed write is undone from memory; after a `kill
 * -9` the copy remains for recovery.
 */
export async function writeInPlace(target: string, text: string, backupDir: string): Promise<void> {
  const backup = join(backupDir, `${basename(target)}.before-write`)
  const file = await open(target, 'r+')
  try {
    const old = await file.readFile()
    await copyFile(target, backup)
    await chmod(backup, PRIVATE)
    try {
      await overwrite(file, text)
    } catch (error) {
      await overwrite(file, old)
      throw error
    }
  } finally {
    await file.close()
  }
}

async function overwrite(file: FileHandle, content: string | Buffer): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, written)
    if (bytesWritten === 0) throw Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC' })
    written += bytesWritten
  }
  await file.truncate(bytes.length)
  await file.sync()
}

/** Makes renames and links in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** The error's code, such as `ENOENT`, or an empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
