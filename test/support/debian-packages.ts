import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface PackagedPrograms {
  /** For people, and for the folder's name. */
  readonly name: string
  readonly packages: readonly string[]
  /** Packages that the programs link against, for a machine without them. */
  readonly libraries: readonly string[]
  /** Paths inside the packages, without which they are of no use. */
  readonly programs: readonly string[]
}

export interface UnpackedPrograms {
  /** Root folder of the packages. */
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
}

/**
 * Unpacks Debian's packages into a folder below the system's temporary one, where later runs find them; nothing is installed or
 * started by that. Throws with the name of a missing part.
 */
export async function unpackedPrograms(wanted: PackagedPrograms): Promise<UnpackedPrograms> {
  const folder = join(tmpdir(), `patchbay-${wanted.name}-${process.arch}`)
  if (!complete(folder, wanted)) await unpack(folder, wanted)
  return unpackedIn(folder)
}

function complete(folder: string, { programs }: PackagedPrograms): boolean {
  return programs.every(program => existsSync(join(folder, program)))
}

function unpackedIn(folder: string): UnpackedPrograms {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const libraries = ['usr/lib', 'lib'].map(part => join(folder, part, `${machine}-linux-gnu`))
  return { folder, env: { LD_LIBRARY_PATH: libraries.join(':') } }
}

async function unpack(place: string, wanted: PackagedPrograms): Promise<void> {
  // Renamed into place at the end, so that no other run finds it incomplete.
  const folder = await mkdtemp(`${place}-`)
  try {
    const debs = join(folder, 'debs')
    await mkdir(debs)
    download(wanted, wanted.packages, debs)
    extract(wanted, debs, folder)
    if (missingLibraries(folder, wanted) !== '' && wanted.libraries.length > 0) {
      download(wanted, wanted.libraries, debs)
      extract(wanted, debs, folder)
    }
    const missing = missingLibraries(folder, wanted)
    if (missing !== '') throw new Error(cannot(wanted, `the unpacked programs miss libraries:\n${missing}`))
    await rm(debs, { recursive: true })
    Bun.spawnSync(['chmod', '-R', 'a+rX', folder])
    await rename(folder, place).catch((error: unknown) => {
      if (!complete(place, wanted)) throw error
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function download(wanted: PackagedPrograms, packages: readonly string[], into: string): void {
  if (Bun.which('apt-get') === null)
    throw new Error(cannot(wanted, 'it is not installed, and there is no apt-get to get it with'))
  const get = () =>
    Bun.spawnSync(['apt-get', 'download', '-q', ...packages], { cwd: into, stdout: 'ignore', stderr: 'pipe' })
  let result = get()
  if (!result.success) {
    // A bare container has no lists of packages yet.
    Bun.spawnSync(['apt-get', 'update', '-q'], { stdout: 'ignore', stderr: 'ignore' })
    result = get()
  }
  if (!result.success) {
    throw new Error(cannot(wanted, `apt-get download ${packages.join(' ')} failed:\n${result.stderr}`))
  }
}

function extract(wanted: PackagedPrograms, debs: string, into: string): void {
  for (const name of readdirSync(debs)) {
    const result = Bun.spawnSync(['dpkg', '-x', join(debs, name), into], { stderr: 'pipe' })
    if (!result.success) throw new Error(cannot(wanted, `dpkg -x ${name} failed:\n${result.stderr}`))
  }
}

function missingLibraries(folder: string, { programs }: PackagedPrograms): string {
  const { env } = unpackedIn(folder)
  const { stdout } = Bun.spawnSync(['ldd', ...programs.map(program => join(folder, program))], {
    env: { PATH: process.env.PATH ?? '', ...env },
  })
  return stdout
    .toString()
    .split('\n')
    .filter(line => line.includes('not found'))
    .join('\n')
}

function cannot({ name, packages }: PackagedPrograms, why: string): string {
  return `These tests need ${name}, and it cannot be had: ${why}\nInstall it: apt-get install ${packages[0]}`
}
