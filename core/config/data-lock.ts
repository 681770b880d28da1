import { open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { faultWords } from '../domain/fault-words.ts'
import { codeOf } from './atomic-write.ts'
import { inDataDir, StartError } from './start-error.ts'
import { watchPlace } from './watch-place.ts'

/** Held by the hub that uses the data folder; its presence alone says nothing. */
export const LOCK_FILE = 'hub.lock'
/** Whom to name when the lock is held; for people only. */
const PID_FILE = 'hub.pid'

export interface DataLock {
  /** False once the data folder, or its lock file, was moved, removed or replaced. Two system calls. */
  inPlace(): boolean
  /** Gives the folder up. Twice is once. */
  release(): Promise<void>
}

/**
 * One hub at a time uses a data folder. The lock is the kernel's own on an open file (taken through SQLite, the one way to a
 * file lock here), so that it goes with the process however that ends, and holds between containers that share a volume,
 * where process ids mean nothing. Throws StartError: data_dir_locked, data_dir_unwritable.
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
  // A database that nothing refers to is closed by the garbage collector, and the lock with it: the listener holds on to it.
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

/** The process that uses the data folder now: undefined when none does, `unknown` when it has left no id. */
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
    // Nothing is ever written to it, and a journal file would only puzzle whoever looks at the folder.
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
