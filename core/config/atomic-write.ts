import { randomUUID } from 'node:crypto'
import { chmod, copyFile, type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** How a file came to its new content. */
export type WriteOutcome = 'replaced' | 'in-place'

/** Loosest mode of a file that the hub writes. One that was stricter stays so. */
const PRIVATE = 0o600

/**
 * Replaces a file's content so that at every moment, a full disk or `kill -9` included, it is wholly the old or wholly the new.
 * A link is followed, so that it stays one. Where the file cannot be replaced (a single file mounted into a container is
 * `EBUSY`, a folder may be closed to the hub) it is written in place, after a copy of the old content was made in
 * `backupDir`. Throws the error of the file system; the old content is then still there.
 */
export async function writeFileAtomically(path: string, text: string, backupDir: string): Promise<WriteOutcome> {
  const target = await realpath(path)
  // Opened before anything is changed: once the file is replaced, there is nothing left to refuse.
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
  // The new content is in force, whatever comes of this: a refusal would be untrue, and a power cut at most takes it back.
  await folder.sync().catch(() => undefined)
  return 'replaced'
}

async function writeWhole(path: string, text: string, old: { mode: number; uid: number; gid: number }): Promise<void> {
  const stricter = (old.mode & 0o777 & ~PRIVATE) === 0
  // FileHandle.writeFile is the one that reports a full disk: fs.write and fs.writeSync of Bun 1.4.5 write less and say nothing.
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

/** A hub that runs as root writes into files of the host's users: they must be able to read them afterwards. */
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
 * Writes over the old content, of which `backupDir` gets a copy first. A write that fails is undone from it; one that is cut
 * short by a `kill -9` leaves it as the way back.
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

/** Makes what was renamed or linked in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** `ENOENT` and its kind, or an empty text. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
