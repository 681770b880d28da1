/** The packages of bun.lock, with what their own package.json files say of their licences. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ParseError, parse } from 'jsonc-parser'

const ROOT = join(import.meta.dir, '../..')

export interface LockedPackage {
  /** Place below node_modules, as in bun.lock: `a`, or `a/b` for the b that only a uses. */
  readonly key: string
  readonly name: string
  readonly version: string
  /** Integrity in the form of the lock file: `sha512-<base64>`. */
  readonly integrity: string
  /** The package's SPDX expression or other statement; undefined for a package for some machines only. */
  readonly licence: string | undefined
  /** Keys of the packages that it needs. */
  readonly needs: readonly string[]
}

export interface LockedTree {
  /** The lock file's own text. */
  readonly text: string
  /** Sorted by key. */
  readonly packages: readonly LockedPackage[]
  /** Keys of those that the project itself names. */
  readonly direct: readonly string[]
}

interface Needs {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly os?: unknown
  readonly cpu?: unknown
}
type Locked = readonly [spec: string, registry: string, needs: Needs, integrity: string]
interface LockFile {
  readonly workspaces: { readonly '': Needs & { readonly devDependencies?: Readonly<Record<string, string>> } }
  readonly packages: Readonly<Record<string, Locked>>
}

/** The tree that `bun install --production` has, or with `dev` all of it. Throws for a lock file that cannot be read. */
export function lockedTree({ dev }: { readonly dev: boolean }): LockedTree {
  const text = readFileSync(join(ROOT, 'bun.lock'), 'utf8')
  const errors: ParseError[] = []
  const lock = parse(text, errors, { allowTrailingComma: true }) as LockFile
  if (errors.length > 0) throw new Error('bun.lock cannot be read as JSON with trailing commas')
  const project = lock.workspaces['']
  const direct = Object.keys({ ...project.dependencies, ...(dev ? project.devDependencies : {}) })
  const found = new Map<string, LockedPackage>()
  const visit = (key: string, everywhere: boolean): void => {
    const here = everywhere && !isMachineBound(lock.packages[key])
    const known = found.get(key)
    if (known && (known.licence !== undefined || !here)) return
    const read = lockedPackage(key, lock, here)
    found.set(key, read)
    for (const needed of read.needs) visit(needed, here)
  }
  for (const key of direct) visit(key, true)
  const packages = [...found.values()].toSorted((left, right) => (left.key < right.key ? -1 : 1))
  return { text, packages, direct: direct.toSorted() }
}

function lockedPackage(key: string, lock: LockFile, everywhere: boolean): LockedPackage {
  const entry = lock.packages[key]
  if (!entry) throw new Error(`bun.lock has no package "${key}"`)
  const [spec, , needs, integrity] = entry
  const at = spec.lastIndexOf('@')
  // Optional peers are installed if the lock file has them, as in Bun.
  const wanted = Object.keys({ ...needs.dependencies, ...needs.optionalDependencies, ...needs.peerDependencies })
  const resolved = wanted.flatMap(name => resolve(key, name, lock) ?? [])
  return {
    key,
    name: spec.slice(0, at),
    version: spec.slice(at + 1),
    integrity,
    licence: everywhere ? licenceOf(key) : undefined,
    needs: [...new Set(resolved)].toSorted(),
  }
}

/** True for a package that other machines do not install, with its dependencies: the result must be the same on all of them. */
function isMachineBound(entry: Locked | undefined): boolean {
  return entry?.[2].os !== undefined || entry?.[2].cpu !== undefined
}

/** The nearest package of that name, from the folder of the dependent one upwards. Undefined for one that bun.lock left out. */
function resolve(from: string, name: string, lock: LockFile): string | undefined {
  for (let path = names(from); ; path = path.slice(0, -1)) {
    const key = [...path, name].join('/')
    if (lock.packages[key]) return key
    if (path.length === 0) return undefined
  }
}

/** `@a/b/c` are the packages `@a/b` and `c`. */
function names(key: string): string[] {
  return key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? []
}

function licenceOf(key: string): string {
  const folder = join(ROOT, 'node_modules', names(key).join('/node_modules/'))
  const path = join(folder, 'package.json')
  if (!existsSync(path)) throw new Error(`${key} is not installed: run "bun install --frozen-lockfile"`)
  const { license, licenses } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  const said = license ?? (Array.isArray(licenses) ? licenses : [licenses]).map(spelled).filter(Boolean).join(' OR ')
  return spelled(said) || 'NOASSERTION'
}

/** Old packages have `{"type": "MIT", "url": …}`. */
function spelled(licence: unknown): string {
  if (typeof licence === 'string') return licence
  const type = typeof licence === 'object' && licence !== null && 'type' in licence ? licence.type : undefined
  return typeof type === 'string' ? type : ''
}
