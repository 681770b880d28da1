import { constants } from 'node:fs'
import { chmod, copyFile, link, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Helper programs that run inside the sandbox. */
const HELPERS = ['sandbox-report.ts', 'sandbox-egress.ts', 'sandbox-install.ts'] as const

/**
 * A folder that everybody may read with the runtime that runs this hub and the helpers, to be bound into sandboxes: the
 * runtime itself often lies in somebody's home, where other users cannot reach it. Linked where it can be, else copied
 * once (100 MB).
 */
export async function prepareRuntime(folder: string): Promise<string> {
  const { size } = await stat(process.execPath)
  const name = `bun-${process.versions.bun}-${size}`
  const runtime = join(folder, name)
  await mkdir(runtime, { recursive: true, mode: 0o755 })
  await chmod(folder, 0o711)
  await chmod(runtime, 0o755)
  const bun = join(runtime, 'bun')
  if ((await stat(bun).catch(() => undefined))?.size !== size) await place(bun)
  await symlink('bun', join(runtime, 'bunx')).catch(ignoreExisting)
  for (const helper of HELPERS) await placeHelper(runtime, helper)
  for (const other of await readdir(folder)) {
    if (other !== name) await rm(join(folder, other), { recursive: true, force: true })
  }
  return runtime
}

async function place(bun: string): Promise<void> {
  const temporary = `${bun}.new`
  await rm(temporary, { force: true })
  const { mode } = await stat(process.execPath)
  try {
    // A link shares the mode, which is not ours to change.
    if ((mode & 0o005) !== 0o005) throw new Error('not for everybody')
    await link(process.execPath, temporary)
  } catch {
    await copyFile(process.execPath, temporary, constants.COPYFILE_FICLONE)
    await chmod(temporary, 0o755)
  }
  await rename(temporary, bun)
}

async function placeHelper(runtime: string, name: string): Promise<void> {
  const source = await readFile(join(import.meta.dirname, name), 'utf8')
  const target = join(runtime, name)
  if ((await readFile(target, 'utf8').catch(() => undefined)) === source) return
  await writeFile(`${target}.new`, source, { mode: 0o644 })
  await chmod(`${target}.new`, 0o644)
  await rename(`${target}.new`, target)
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}
