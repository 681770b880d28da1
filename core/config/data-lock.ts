import { open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { faultWords } from '../domain/fault-words.ts'
import { codeOf } from './atomic-write.ts'
import { inDataDir, StartError } from './start-error.ts'
import { watchPlace } from './watch-place.ts'

/** Locked by the hub that uses the data folder; the file's presence alone means nothing. */
export const LOCK_FILE = 'hub.lock'
/** The process id for the error message, nothing else. */
const PID_FILE = 'hub.pid'

/** The lock of one process on its data folder. */
export interface DataLock {
  /** False once the data folder, or its lock file, was moved, removed or replaced. Two system calls. */
  inPlace(): boolean
  /** Releases the lock. Idempotent. */
  release(): Promise<void>
}

/**
 * Ensures that one hub at a time uses a data folder. The lock is the kernel's lock on an open file (taken through
 * SQLite, the only file lock available here): it ends with the process, however that ends, and works between containers
 * that share a volume, where process ids mean nothing. Throws StartError: data_dir_locked, data_dir_unwritable.
 */
export async function lockDataDir(dataDir: string): Promise<DataLock> {
  const database = await take(dataDir)
  if (!database) {
    const pid = await holderOf(dataDir)
    throw new StartError(
      'data_dir_locked',
      `Another hub${pid === undefined ? '' : ` (process ${pid})`} uses the data folder ${dataDir}; stop it, or set DATA_DIR to another folder`,
    )
  }
  const pidFile = join(dataDir, PID_FILE)
  await inDataDir(pidFile, () => writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 })).catch((error: unknown) => {
    database.close()
    throw error
  })
  let held = true
  // The listener keeps a reference: a garbage-collected database is closed and loses the lock.
  const close = () => {
    held = false
    database.close()
  }
  process.once('exit', close)
  return {
    inPlace: watchPlace(join(dataDir, LOCK_FILE)),
    async release() {
      if (!held) return
      process.off('exit', close)
      await rm(pidFile, { force: true })
      close()
    },
  }
}

/** The id of the process that uses the data folder; undefined if none does, `unknown` if it left no id. */
export async function dataDirHolder(dataDir: string): Promise<number | 'unknown' | undefined> {
  const database = await take(dataDir)
  if (!database) return (await holderOf(dataDir)) ?? 'unknown'
  database.close()
  return undefined
}

async function take(dataDir: string): Promise<Database | undefined> {
  const path = join(dataDir, LOCK_FILE)
  let database: Database | undefined
  try {
    await (await open(path, 'a', 0o600)).close()
    database = new Database(path, { timeout: 0 })
    // The file is never written, so a journal file would be useless.
    database.pragma('journal_mode = MEMORY')
    database.exec('BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined
    throw new StartError(
      'data_dir_unwritable',
      `Cannot lock ${path} (${faultWords(error)}); it holds nothing, and may be removed while no hub uses the folder`,
      { cause: error },
    )
  }
}

async function holderOf(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, PID_FILE), 'utf8').catch(() => '')
  return /^\d+$/.test(text.trim()) ? Number(text) : undefined
}
