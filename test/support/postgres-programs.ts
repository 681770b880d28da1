import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where the programs of PostgreSQL are, and what they need to run. */
export interface PostgresPrograms {
  readonly bin: string
  /** For `initdb -L`; undefined where the programs know it themselves. */
  readonly share: string | undefined
  readonly env: Readonly<Record<string, string>>
}

const VERSION = '15'
const PACKAGES = [`postgresql-${VERSION}`, `postgresql-client-${VERSION}`, 'libpq5']
/** What these link against, where the machine is too bare to have it. */
const LIBRARIES = (
  'libldap-2.5-0 libsasl2-2 libxml2 libicu72 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 ' +
  'libkeyutils1 liblz4-1 libzstd1 libssl3 libsystemd0 libgcrypt20 libgpg-error0 libcap2 libuuid1 libpam0g libaudit1 ' +
  'libcap-ng0 libselinux1 libpcre2-8-0 libreadline8'
).split(' ')
const INSTALLED = '/usr/lib/postgresql'
const CACHE = join(tmpdir(), `patchbay-postgresql-${VERSION}-${process.arch}`)

/**
 * Finds PostgreSQL on this machine, else unpacks Debian's packages into a folder below the system's temporary one, where
 * later runs find them; nothing is installed and nothing started by that. Throws with what is missing.
 */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const installed = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a)) : []
  for (const version of installed) {
    const bin = join(INSTALLED, version, 'bin')
    if (Number(version) >= Number(VERSION) && complete(bin)) return { bin, share: undefined, env: {} }
  }
  if (!complete(binIn(CACHE))) await unpack()
  return unpackedIn(CACHE)
}

function complete(bin: string): boolean {
  return ['initdb', 'postgres'].every(program => existsSync(join(bin, program)))
}

function binIn(folder: string): string {
  return join(folder, 'usr/lib/postgresql', VERSION, 'bin')
}

function unpackedIn(folder: string): PostgresPrograms {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const libraries = ['usr/lib', 'lib'].map(part => join(folder, part, `${machine}-linux-gnu`))
  return {
    bin: binIn(folder),
    share: join(folder, 'usr/share/postgresql', VERSION),
    env: { LD_LIBRARY_PATH: libraries.join(':') },
  }
}

async function unpack(): Promise<void> {
  // Moved into place as a whole, so that no other run meets half of it.
  const folder = await mkdtemp(`${CACHE}-`)
  try {
    const debs = join(folder, 'debs')
    await mkdir(debs)
    download(PACKAGES, debs)
    extract(debs, folder)
    if (missingLibraries(folder) !== '') {
      download(LIBRARIES, debs)
      extract(debs, folder)
    }
    const missing = missingLibraries(folder)
    if (missing !== '') throw new Error(cannot(`the unpacked programs miss libraries:\n${missing}`))
    await rm(debs, { recursive: true })
    Bun.spawnSync(['chmod', '-R', 'a+rX', folder])
    await rename(folder, CACHE).catch((error: unknown) => {
      if (!complete(binIn(CACHE))) throw error
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function download(packages: readonly string[], into: string): void {
  if (Bun.which('apt-get') === null)
    throw new Error(cannot('it is not installed, and there is no apt-get to get it with'))
  const get = () =>
    Bun.spawnSync(['apt-get', 'download', '-q', ...packages], { cwd: into, stdout: 'ignore', stderr: 'pipe' })
  let result = get()
  if (!result.success) {
    // A bare container has no lists of packages yet.
    Bun.spawnSync(['apt-get', 'update', '-q'], { stdout: 'ignore', stderr: 'ignore' })
    result = get()
  }
  if (!result.success) throw new Error(cannot(`apt-get download ${packages.join(' ')} failed:\n${result.stderr}`))
}

function extract(debs: string, into: string): void {
  for (const name of readdirSync(debs)) {
    const result = Bun.spawnSync(['dpkg', '-x', join(debs, name), into], { stderr: 'pipe' })
    if (!result.success) throw new Error(cannot(`dpkg -x ${name} failed:\n${result.stderr}`))
  }
}

function missingLibraries(folder: string): string {
  const { bin, env } = unpackedIn(folder)
  const programs = ['postgres', 'initdb'].map(program => join(bin, program))
  const { stdout } = Bun.spawnSync(['ldd', ...programs], { env: { PATH: process.env.PATH ?? '', ...env } })
  return stdout
    .toString()
    .split('\n')
    .filter(line => line.includes('not found'))
    .join('\n')
}

function cannot(why: string): string {
  return `These tests need PostgreSQL ${VERSION} or later, and it cannot be had: ${why}\nInstall it: apt-get install postgresql-${VERSION}`
}
