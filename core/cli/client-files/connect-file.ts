import { chmod, copyFile, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { codeOf, writeFileAtomically } from '../../config/atomic-write.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { CommandError } from '../arguments.ts'
import type { CommandIo } from '../io.ts'

const SYSTEMS: Readonly<Record<string, string>> = { darwin: 'mac', win32: 'windows', linux: 'linux' }

/** The file of a client on this machine: its user's, or the one of a project in a folder, which is absolute. */
export function placeOf(places: readonly unknown[], project: string | undefined, io: CommandIo): string | undefined {
  const all = places.filter(isJsonObject)
  const here = [...all.filter(({ os }) => os === SYSTEMS[platform()]), ...all.filter(({ os }) => os === undefined)]
  const paths = here.flatMap(({ path }) => (typeof path === 'string' ? path : []))
  const isOfUser = (path: string): boolean => /^[~%]/.test(path)
  const ofUser = paths.find(isOfUser)
  const ofProject = paths.find(path => !isOfUser(path))
  const path = project === undefined ? (ofUser ?? ofProject) : ofProject
  return path === undefined ? undefined : expanded(path, { ...io, cwd: project ?? io.cwd })
}

function expanded(path: string, { env, cwd }: CommandIo): string {
  const home = env.HOME ?? env.USERPROFILE
  if (home === undefined) throw new CommandError('HOME is not set, so the client’s file cannot be found')
  if (path.startsWith('%APPDATA%/')) return join(env.APPDATA ?? join(home, 'AppData/Roaming'), path.slice(10))
  if (path.startsWith('~/.config/') && env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, path.slice(10))
  return path.startsWith('~/') ? join(home, path.slice(2)) : resolve(cwd, path)
}

/** Empty when there is no file yet. */
export async function readConfig(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw new CommandError(`Cannot read "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  }
}

/**
 * Replaces a client's file, after copying it beside the original with the same mode. Only the file's user can read the new one,
 * since it contains a key. Returns the path of the copy; undefined: there was no file.
 */
export async function writeConfig(file: string, text: string): Promise<string | undefined> {
  const target = await realpath(file).catch(() => undefined)
  if (target === undefined) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
    return undefined
  }
  const copy = `${target}.patchbay-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.bak`
  await copyFile(target, copy)
  await chmod(copy, 0o600)
  await writeFileAtomically(target, text, dirname(target))
  return copy
}

/** The copies that `writeConfig` made, the newest first. */
export async function copiesOf(file: string): Promise<readonly string[]> {
  const target = await realpath(file).catch(() => file)
  const begin = `${basename(target)}.patchbay-`
  const names = await readdir(dirname(target)).catch(() => [])
  const copies = names.filter(name => name.startsWith(begin) && name.endsWith('.bak')).toSorted()
  return copies.reverse().map(name => join(dirname(target), name))
}

/** The access key in an entry; undefined: it contains no key of this kind. */
export function keyIn(entry: JsonObject): string | undefined {
  return /pb_[A-Za-z0-9_-]{16,}/.exec(JSON.stringify(entry))?.[0]
}
