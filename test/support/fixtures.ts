/**
 * The MCP servers of the tests, each built into one file below `out/mcp-servers`, once for each state of the sources: loading
 * the SDK's modules one by one takes three quarters of such a server's start.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const SOURCES = join(import.meta.dir, 'mcp-servers')
const BUILT = join(ROOT, 'out/mcp-servers')

/** The folder of the built servers, `NAME.js` each. */
const FOLDER = await built()

/** The path of what Bun runs as the server `name` of test/support/mcp-servers. */
export function fixture(name: string): string {
  return join(FOLDER, `${name}.js`)
}

async function built(): Promise<string> {
  const sources = (await readdir(SOURCES, { recursive: true })).filter(name => name.endsWith('.ts')).sort()
  const hash = createHash('sha256').update(Bun.version)
  for (const path of [...sources.map(name => join(SOURCES, name)), join(ROOT, 'bun.lock'), import.meta.path]) {
    hash.update(await readFile(path))
  }
  const folder = join(BUILT, hash.digest('hex').slice(0, 16))
  if (existsSync(folder)) return folder
  const unfinished = `${folder}-${process.pid}`
  await mkdir(BUILT, { recursive: true })
  const entrypoints = sources.filter(name => !name.includes('/')).map(name => join(SOURCES, name))
  await Bun.build({ entrypoints, root: SOURCES, outdir: unfinished, target: 'bun', format: 'esm' })
  try {
    await rename(unfinished, folder)
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(folder)) throw error
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}
