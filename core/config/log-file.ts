import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf } from './atomic-write.ts'
import { StartError } from './start-error.ts'

/** Forbidden folders: a hub that runs as root could otherwise append to a system file because of a typing error. */
const SYSTEM_FOLDERS = ['/etc', '/usr', '/bin', '/sbin', '/lib', '/lib64', '/boot', '/dev', '/proc', '/sys']

/**
 * Rejects a log file that is a folder, a device or the settings file, or is in a system folder. Throws StartError
 * log_file_forbidden.
 */
export async function checkLogFile(path: string, dataDir: string, others: readonly string[]): Promise<void> {
  const refuse = (why: string) =>
    new StartError(
      'log_file_forbidden',
      `LOG_FILE is "${path}", ${why}; wanted: a file of its own, such as /var/log/patchbay.log`,
    )
  const target = await behindLinks(resolve(path))
  if (SYSTEM_FOLDERS.some(folder => target === folder || target.startsWith(`${folder}/`))) {
    throw refuse('which lies in a folder of the system')
  }
  if (path.endsWith('/')) throw refuse('which is a folder')
  // The data folder holds the database and the keys, so only names ending in .log are allowed there.
  const besideKeys = dirname(target) === dataDir && !target.endsWith('.log')
  if (besideKeys || others.includes(target)) throw refuse('which the hub uses for something else')
  try {
    const stats = await stat(target)
    if (stats.isDirectory()) throw refuse('which is a folder')
    if (!stats.isFile()) throw refuse('which is no ordinary file')
  } catch (error) {
    if (error instanceof StartError) throw error
    if (codeOf(error) === 'ENOENT') return refuseFileParent(dirname(target), refuse)
    throw refuse(`which cannot be read (${codeOf(error)})`)
  }
}

/** Resolves links as far as the path exists. */
async function behindLinks(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await behindLinks(parent), basename(path))
  }
}

async function refuseFileParent(folder: string, refuse: (why: string) => StartError): Promise<void> {
  const stats = await stat(folder).catch(() => undefined)
  if (stats && !stats.isDirectory()) throw refuse(`and ${folder} is no folder`)
}
