import { randomUUID } from 'node:crypto'
import { chmod, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './atomic-write.ts'
import { LOCK_FILE } from './data-lock.ts'
import { StartError } from './start-error.ts'

/** Searchable by everybody, readable by the hub only: sandboxed servers run as other users inside it. */
const FOLDER_MODE = 0o711

/**
 * Creates the data folder or prepares an existing one: mode 0711, and its files closed to other users when a hub has
 * run here before. Throws StartError: data_dir_unwritable, env_invalid for a folder shared by the whole machine.
 */
export async function prepareDataDir(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: FOLDER_MODE })
    const { mode, uid } = await stat(path)
    if (path === '/' || (mode & 0o1000) !== 0) {
      throw new StartError('env_invalid', `DATA_DIR is "${path}", which everybody shares; wanted: a folder of its own`)
    }
    if ((mode & 0o777) !== FOLDER_MODE && uid === process.getuid?.()) await chmod(path, FOLDER_MODE)
    await tryWriting(path)
    await closeToOthers(path)
  } catch (error) {
    if (error instanceof StartError) throw error
    const code = codeOf(error)
    throw new StartError(
      'data_dir_unwritable',
      `DATA_DIR is "${path}", and the hub cannot write there (${code || String(error)}); give it to the hub's user or name another folder`,
      { cause: error },
    )
  }
}

/** A StartError in place of an error of the file system about this folder or what is in it; other errors as they are. */
export function dataDirFault(error: unknown, dataDir: string): unknown {
  const { code, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {}
  if (error instanceof StartError || !code || typeof path !== 'string') return error
  if (path !== dataDir && !path.startsWith(join(dataDir, '/'))) return error
  return new StartError(
    'data_dir_unwritable',
    `DATA_DIR is "${dataDir}", and the hub cannot use "${path}" (${code}); see that its disk works and has room, and start again`,
    { cause: error },
  )
}

/** Files that a hub creates only after its database exists: they show that one has run here. */
const SIGNS = ['master.key', 'processes.json'] as const

/**
 * Throws StartError `store_missing` when a hub has run in this folder but its SQLite database is gone: a new one would
 * look like total data loss, and the old one could no longer be restored beside it.
 */
export async function requireDatabase(path: string, database: string): Promise<void> {
  const names = new Set(await readdir(path))
  if (names.has(database)) return
  const signs = SIGNS.filter(name => names.has(name))
  if (signs.length === 0) return
  throw new StartError(
    'store_missing',
    `A hub has run in the data folder ${path} (${signs.join(', ')} are there), and its database ${database} is not; restore it from a backup, set DATABASE_URL if it is on PostgreSQL, or remove ${signs.map(name => join(path, name)).join(' and ')} to start with an empty database`,
  )
}

async function tryWriting(path: string): Promise<void> {
  const probe = join(path, `.probe-${randomUUID().slice(0, 8)}`)
  await (await open(probe, 'wx', 0o600)).close()
  await rm(probe)
}

async function closeToOthers(path: string): Promise<void> {
  const entries = await readdir(path, { withFileTypes: true })
  if (!entries.some(entry => entry.name === LOCK_FILE)) return
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const file = join(path, entry.name)
    const { mode } = await stat(file)
    if ((mode & 0o077) !== 0) await chmod(file, mode & 0o700)
  }
}
