import { randomUUID } from 'node:crypto'
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
import { bunScript, IS_ONE_FILE } from '../../config/one-file.ts'
import { RUNTIME_FOLDER } from './profile.ts'

/** Files of the folder `inside/` that run inside the sandbox; in the runtime's folder each begins with `sandbox-`. */
const HELPERS = ['report.ts', 'egress.ts', 'install.ts'] as const
/** The program's name in the runtime's folder: the hub's own one is Bun only by a script. */
const PROGRAM = IS_ONE_FILE ? 'program' : 'bun'

const CERTIFICATES = 'certificates.pem'

/** A copy is made only where it leaves this many times its size free. */
const SPARE = 4

/** The hub's files that are shown in sandboxes, by their paths on this machine. */
export interface Runtime {
  /** The folder with the helpers and a mount point for the runtime. */
  readonly folder: string
  /** The program that runs this hub, readable for everybody. */
  readonly program: string
  /** The file's name in that folder over which the program is mounted. */
  readonly name: string
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
  const program = join(runtime, PROGRAM)
  const reachable = await everybodyReaches(process.execPath)
  // Even where the runtime is used in place, a file must exist here as its mount point.
  const present = await stat(program).catch(() => undefined)
  if (reachable && !present) await writeFile(program, '', { mode: 0o755 })
  else if (!reachable && present?.size !== size) await place(program, size)
  if (IS_ONE_FILE) {
    const inside = `${RUNTIME_FOLDER}/${PROGRAM}`
    await placeFile(join(runtime, 'bun'), bunScript(inside), 0o755)
    await placeFile(join(runtime, 'bunx'), bunScript(inside, 'x'), 0o755)
  } else await symlink('bun', join(runtime, 'bunx')).catch(ignoreExisting)
  for (const helper of HELPERS) await placeHelper(runtime, helper)
  for (const other of await readdir(folder)) {
    if (other !== name) await rm(join(folder, other), { recursive: true, force: true })
  }
  return { folder: runtime, program: reachable ? process.execPath : program, name: PROGRAM }
}

/** Shows certificates to every sandbox, at the path that is returned. They are the same for all. */
export async function placeCertificates({ folder }: Runtime, pem: string): Promise<string> {
  const target = join(folder, CERTIFICATES)
  if ((await readFile(target, 'utf8').catch(() => undefined)) !== pem) {
    // The temporary file has a unique name, since two installations may begin at the same time.
    const temporary = `${target}.${randomUUID()}`
    await writeFile(temporary, pem, { mode: 0o644 })
    await chmod(temporary, 0o644)
    await rename(temporary, target)
  }
  return `${RUNTIME_FOLDER}/${CERTIFICATES}`
}

async function everybodyReaches(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & 0o005) !== 0o005) return false
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    if (((await stat(parent)).mode & 0o001) === 0) return false
    if (parent === dirname(parent)) return true
  }
}

async function place(program: string, size: number): Promise<void> {
  const temporary = `${program}.new`
  await rm(temporary, { force: true })
  try {
    // A hard link shares the mode, which must not be changed.
    if (((await stat(process.execPath)).mode & 0o005) !== 0o005) throw new Error('not for everybody')
    await link(process.execPath, temporary)
  } catch {
    const { bavail, bsize } = await statfs(dirname(program))
    if (bavail * bsize < SPARE * size) throw new Error(`the disk has no room for a copy of the runtime (${size} bytes)`)
    await copyFile(process.execPath, temporary, constants.COPYFILE_FICLONE)
    await chmod(temporary, 0o755)
  }
  await rename(temporary, program)
}

async function placeHelper(runtime: string, name: string): Promise<void> {
  const source = await readFile(join(import.meta.dirname, 'inside', name), 'utf8')
  await placeFile(join(runtime, `sandbox-${name}`), source, 0o644)
}

async function placeFile(target: string, text: string, mode: number): Promise<void> {
  if ((await readFile(target, 'utf8').catch(() => undefined)) === text) return
  await writeFile(`${target}.new`, text, { mode })
  await chmod(`${target}.new`, mode)
  await rename(`${target}.new`, target)
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
