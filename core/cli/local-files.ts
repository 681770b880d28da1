import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import { DEFAULT_DATA_DIR } from '../config/load.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import type { CommandIo } from './io.ts'

/** Files of the data folder that a running hub shares with the command line; mode 0600. */
export const ADDRESS_FILE = 'address'
/** A session token of the first administrator, for commands on the hub's machine. */
export const CLI_TOKEN_FILE = 'cli-token'
/** The token for `POST /api/setup`. */
export const SETUP_TOKEN_FILE = 'setup-token'

/** Absolute. Throws StartError env_invalid. */
export function dataDirOf(io: CommandIo): string {
  return resolve(io.cwd, readHubEnvironment(io.env).dataDir ?? DEFAULT_DATA_DIR)
}

/** The one line of such a file, or undefined when it is absent or unreadable. */
export async function readLocalFile(dataDir: string, name: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataDir, name), 'utf8')).trim() || undefined
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(codeOf(error))) return undefined
    throw error
  }
}
