import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import { prepareDataDir } from '../config/data-dir.ts'
import { lockDataDir } from '../config/data-lock.ts'
import type { ConfigLayer } from '../config/env.ts'
import { findSettingsFile, SETTINGS_NAME } from '../config/load.ts'
import { StartError } from '../config/start-error.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { asStartError } from '../hub/storage.ts'
import { BACKUP_KEYS, backUp } from '../moving/backup/backup.ts'
import { isUnused, type ReadBackup, readBackup, restoreRows } from '../moving/backup/restore.ts'
import { putSettings } from '../moving/backup/restore-settings.ts'
import { openWithPassphrase } from '../moving/passphrase.ts'
import { endRotation, hasMasterKeyFile, putAsideOldKey, readMasterKeys, takeMasterKey } from '../secrets/master-keys.ts'
import { kidOf } from '../secrets/seal.ts'
import { forgetOldPages, lockStore, openStore, refreshStatistics } from '../store/open.ts'
import { CommandError, OUTPUT, readArguments } from './arguments.ts'
import { readPassphrase } from './backup.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'
import { plain, printJson } from './output.ts'

/** The text of `patchbay restore --help`. */
export const help = `patchbay restore <file> [--replace] [--passphrase-stdin] [--json]

Puts back what "patchbay backup" has written, into the database of this hub, SQLite or PostgreSQL (DATABASE_URL), with the
settings file. The hub must be stopped. The whole file is checked before anything is changed, and the rows are written in
one transaction. All sign-ins end; access keys go on working.

  --replace            replace what the hub holds; the old is put aside in the folder "backups" of the data folder
  --passphrase-stdin   the passphrase of a backup that was made with --with-key, on standard input
  --json               what was restored, as JSON

Exit code 78 for a backup that is damaged (backup_corrupt) or newer than this hub (backup_newer), or whose master key is
missing (backup_key_missing).
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, replace: { type: 'boolean' }, 'passphrase-stdin': { type: 'boolean' } },
    positionals: ['file'],
  })
  const passphrase = values['passphrase-stdin'] ? await readPassphrase(io) : undefined
  const dataDir = dataDirOf(io)
  await prepareDataDir(dataDir)
  const lock = await lockDataDir(dataDir)
  const folder = await mkdtemp(join(dataDir, 'restore-'))
  try {
    const file = positionals[0] ?? ''
    const backup = await readBackup(resolve(io.cwd, file), join(folder, 'rows.db')).catch((error: unknown) => {
      throw error instanceof StartError ? error : new CommandError(`Cannot read "${file}": ${codeOf(error)}`)
    })
    try {
      const done = await restore(backup, { io, dataDir, passphrase, replace: values.replace === true })
      if (values.json) printJson(io, done)
      else io.stdout(plain(report(done)))
      return 0
    } finally {
      await backup.scratch.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
    await lock.release()
  }
}

interface RestoreOptions {
  readonly io: CommandIo
  readonly dataDir: string
  readonly passphrase: string | undefined
  readonly replace: boolean
}

interface Restored {
  readonly backup: { readonly createdAt: string; readonly hub: string; readonly database: string }
  readonly users: number
  readonly servers: number
  readonly groups: number
  readonly settings: string | null
  /** The folder with the replaced files; null if there were none. */
  readonly aside: string | null
}

function report({ backup, users, servers, groups, settings, aside }: Restored): string {
  return [
    `restored the backup of ${backup.createdAt}: ${users} users, ${servers} servers, ${groups} groups`,
    ...(settings === null ? [] : [`settings file: ${settings}`]),
    ...(aside === null ? [] : [`what was there before is in ${aside}`]),
    'all sign-ins have ended; access keys go on working',
    '',
  ].join('\n')
}

async function restore(backup: ReadBackup, { io, dataDir, passphrase, replace }: RestoreOptions): Promise<Restored> {
  const environment = readHubEnvironment(io.env)
  const key = await missingKey(backup, environment, dataDir, passphrase)
  const aside = join(dataDir, 'backups', `replaced-${new Date().toISOString().replaceAll(/[-:]/g, '')}`)
  const { store, lock } = await openTarget(environment, dataDir)
  try {
    const path = await settingsPath(environment, io, dataDir)
    const settings = await putSettings(path, backup.settings)
    const isFree = await isUnused(store)
    if (!replace && !isFree) throw new CommandError('The database holds users or servers; --replace puts them aside')
    if (!replace && settings.differs) {
      throw new CommandError(`${path} differs from that of the backup; --replace puts it aside`)
    }
    if (!isFree || settings.differs) await mkdir(aside, { recursive: true, mode: 0o700 })
    if (!isFree) await backUp(store, join(aside, 'database.backup'), {})
    if (key) await takeMasterKey(dataDir, key)
    await restoreRows(store, backup)
    await settings.put(aside)
    if (key) await (isFree ? endRotation(dataDir) : putAsideOldKey(dataDir, aside))
    await forgetOldPages(store)
    await refreshStatistics(store)
    const { header, scratch } = backup
    const count = async (table: 'user' | 'server' | 'server_group') => {
      const { rows } = await scratch.db
        .selectFrom(table)
        .select(one => one.fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow()
      return Number(rows)
    }
    return {
      backup: { createdAt: header.createdAt, hub: header.hub, database: header.database },
      ...{ users: await count('user'), servers: await count('server'), groups: await count('server_group') },
      settings: backup.settings ? path : null,
      aside: !isFree || settings.differs ? aside : null,
    }
  } finally {
    await store.close()
    await lock?.release()
  }
}

/** The store, and the lock that keeps hubs off it when it is on PostgreSQL. */
async function openTarget({ databaseUrl }: ConfigLayer, dataDir: string) {
  const options = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) }
  return asStartError(async () => {
    const lock = await lockStore(options)
    try {
      const usedBefore = await hasMasterKeyFile(dataDir)
      return { store: await openStore({ ...options, usedBefore }), lock }
    } catch (error) {
      await lock?.release()
      throw error
    }
  })
}

async function settingsPath(environment: ConfigLayer, io: CommandIo, dataDir: string): Promise<string> {
  if (environment.settingsFile !== undefined) return resolve(io.cwd, environment.settingsFile)
  return (await findSettingsFile(undefined, io.cwd, dataDir)) ?? join(dataDir, SETTINGS_NAME)
}

/** The key of the backup that this hub lacks. Throws StartError `backup_key_missing` when it cannot be had. */
async function missingKey(
  { header }: ReadBackup,
  environment: ConfigLayer,
  dataDir: string,
  passphrase: string | undefined,
): Promise<Uint8Array | undefined> {
  const present = new Set((await readMasterKeys(dataDir, environment)).map(({ kid }) => kid))
  const missing = header.keys.filter(kid => !present.has(kid))
  if (missing.length === 0) return undefined
  const what = `The secrets of the backup are sealed with the master key ${missing.join(', ')}`
  const lacks = (how: string) => new StartError('backup_key_missing', `${what}, ${how}. Nothing was changed`)
  if (!header.masterKeys) {
    throw lacks(`and it is not in the backup: give it as MASTER_KEY, or as the file ${join(dataDir, 'master.key')}`)
  }
  if (passphrase === undefined) throw lacks('which is in it: give its passphrase with --passphrase-stdin')
  const opened = await openWithPassphrase(header.masterKeys, passphrase, BACKUP_KEYS)
  if (opened === undefined) throw lacks('which is in it, and this is not its passphrase')
  const keys = (JSON.parse(opened) as string[]).map(text => Buffer.from(text, 'base64url'))
  const found = keys.filter(key => missing.includes(kidOf(key)))
  const [only] = found
  if (!only || found.length < missing.length) throw lacks('and the backup holds another one')
  if (found.length > 1)
    throw lacks('of which one hub takes one: finish "patchbay secrets rotate" there, and make a new backup')
  if (environment.masterKey !== undefined) throw lacks('and MASTER_KEY is set to another one')
  return only
}
