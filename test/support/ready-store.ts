import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openStore, SQLITE_FILE } from '../../core/store/open.ts'
import { makeTemp, removeTemp } from './temp.ts'

let made: Promise<Buffer> | undefined

/**
 * Puts an empty SQLite database with the newest tables into a data folder, so that a test that opens a store of its own does not
 * pay for all migrations each time, which are more than half of its start.
 */
export async function putReadyStore(dataDir: string): Promise<void> {
  made ??= make()
  await writeFile(join(dataDir, SQLITE_FILE), await made, { mode: 0o600 })
}

async function make(): Promise<Buffer> {
  const dataDir = await makeTemp('ready-store')
  try {
    await (await openStore({ dataDir })).close()
    return await readFile(join(dataDir, SQLITE_FILE))
  } finally {
    await removeTemp(dataDir)
  }
}
