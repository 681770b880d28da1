import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/**
 * True when the hub is the single executable that `deploy/binary.ts` builds. `process.execPath` is then the hub itself, which
 * acts as Bun only with BUN_BE_BUN=1 in its environment.
 */
export const IS_ONE_FILE = import.meta.dirname.startsWith('/$bunfs/')

/** Returns a shell script that runs the Bun inside the executable at `path`. `command` precedes the script's arguments. */
export function bunScript(path: string, command = ''): string {
  const program = `'${path.replaceAll("'", `'\\''`)}'`
  return `#!/bin/sh\nBUN_BE_BUN=1 exec ${program} ${command && `${command} `}"$@"\n`
}

/**
 * The folder with the programs `bun` and `bunx` of the hub's own runtime. For the one program it is made in the data
 * folder.
 */
export async function ownRuntimeFolder(dataDir: string): Promise<string> {
  if (!IS_ONE_FILE) return dirname(process.execPath)
  const folder = join(dataDir, 'bin')
  await mkdir(folder, { recursive: true, mode: 0o755 })
  await writeFile(join(folder, 'bun'), bunScript(process.execPath), { mode: 0o755 })
  await writeFile(join(folder, 'bunx'), bunScript(process.execPath, 'x'), { mode: 0o755 })
  return folder
}
