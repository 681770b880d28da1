import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { unpackedPrograms } from './debian-packages.ts'

/** Place and requirements of PostgreSQL's programs. */
export interface PostgresPrograms {
  readonly bin: string
  /** Argument of `initdb -L`; undefined if the programs find it themselves. */
  readonly share: string | undefined
  readonly env: Readonly<Record<string, string>>
}

const VERSION = '15'
const PACKAGES = [`postgresql-${VERSION}`, `postgresql-client-${VERSION}`, 'libpq5']
/** Packages that these programs link against, for a machine without them. */
const LIBRARIES = (
  'libldap-2.5-0 libsasl2-2 libxml2 libicu72 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 ' +
  'libkeyutils1 liblz4-1 libzstd1 libssl3 libsystemd0 libgcrypt20 libgpg-error0 libcap2 libuuid1 libpam0g libaudit1 ' +
  'libcap-ng0 libselinux1 libpcre2-8-0 libreadline8'
).split(' ')
const INSTALLED = '/usr/lib/postgresql'
const BIN = `usr/lib/postgresql/${VERSION}/bin`

/**
 * Finds PostgreSQL on this machine, else unpacks Debian's packages into a folder below the system's temporary one, where later
 * runs find them; nothing is installed or started by that. Throws with the name of a missing part.
 */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const installed = existsSync(INSTALLED) ? readdirSync(INSTALLED).sort((a, b) => Number(b) - Number(a)) : []
  for (const version of installed) {
    const bin = join(INSTALLED, version, 'bin')
    const complete = ['initdb', 'postgres'].every(program => existsSync(join(bin, program)))
    if (Number(version) >= Number(VERSION) && complete) return { bin, share: undefined, env: {} }
  }
  const { folder, env } = await unpackedPrograms({
    ...{ name: `postgresql-${VERSION}`, packages: PACKAGES, libraries: LIBRARIES },
    programs: [`${BIN}/initdb`, `${BIN}/postgres`],
  })
  return { bin: join(folder, BIN), share: join(folder, 'usr/share/postgresql', VERSION), env }
}
