import { constants } from 'node:fs'
import {
  chmod,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Files of the folder `inside/` that run inside the sandbox; in the runtime's folder each begins with `sandbox-`. */
const HELPERS = ['report.ts', 'egress.ts', 'install.ts'] as const

/** A copy is made only where it leaves this many times its size free. */
const SPARE = 4

/** The hub's files that are shown in sandboxes, by their paths on this machine. */
export interface Runtime {
  /** The folder with the helpers and a mount point for the runtime. */
  readonly folder: string
  /** The program that runs this hub, readable for everybody. */
  readonly bun: string
}

/**
 * Creates the folder with the helpers that is mounted in sandboxes, and finds a path for the runtime: it often lies in
 * a home folder that other users cannot read. It is used in place if possible, otherwise linked, otherwise copied once
 * (100 MB). Throws when the disk has no room for that.
 */
export async function prepareRuntime(folder: string): Promise<Runtime> {
  const { size } = await stat(process.execPath)
  const name = `bun-${process.versions.bun}-${size}`
  const runtime = join(folder, name)
  await mkdir(runtime, { recursive: true, mode: 0o755 })
  await chmod(folder, 0o711)
  await chmod(runtime, 0o755)
  const bun = join(runtime, 'bun')
  const reachable = await everybodyReaches(process.execPath)
  // Even where the runtime is used in place, a file must exist here as its mount point.
  const present = await stat(bun).catch(() => undefined)
  if (reachable && !present) await writeFile(bun, '', { mode: 0o755 })
  else if (!reachable && present?.size !== size) await place(bun, size)
  await symlink('bun', join(runtime, 'bunx')).catch(ignoreExisting)
  for (const helper of HELPERS) await placeHelper(runtime, helper)
  for (const other of await readdir(folder)) {
    if (other !== name) await rm(join(folder, other), { recursive: true, force: true })
  }
  return { folder: runtime, bun: reachable ? process.execPath : bun }
}

async function everybodyReaches(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & 0o005) !== 0o005) return false
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    if (((await stat(parent)).mode & 0o001) === 0) return false
    if (parent === dirname(parent)) return true
  }
}

async function place(bun: string, size: number): Promise<void> {
  const temporary = `${bun}.new`
  await rm(temporary, { force: true })
  try {
    // A hard link shares the mode, which must not be changed.
    if (((await stat(process.execPath)).mode & 0o005) !== 0o005) throw new Error('not for everybody')
    await link(process.execPath, temporary)
  } catch {
    const { bavail, bsize } = await statfs(dirname(bun))
    if (bavail * bsize < SPARE * size) throw new Error(`the disk has no room for a copy of the runtime (${size} bytes)`)
    await copyFile(process.execPath, temporary, constants.COPYFILE_FICLONE)
    await chmod(temporary, 0o755)
  }
  await rename(temporary, bun)
}

async function placeHelper(runtime: string, name: string): Promise<void> {
  const source = await readFile(join(import.meta.dirname, 'inside', name), 'utf8')
  const target = join(runtime, `sandbox-${name}`)
  if ((await readFile(target, 'utf8').catch(() => undefined)) === source) return
  await writeFile(`${target}.new`, source, { mode: 0o644 })
  await chmod(`${target}.new`, 0o644)
  await rename(`${target}.new`, target)
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
