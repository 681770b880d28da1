import { readFile, rm } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import type { ConfigLayer } from '../config/env.ts'
import { findSettingsFile } from '../config/load.ts'
import { openSettingsFile } from '../config/settings-file.ts'
import { StartError } from '../config/start-error.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { BACKUP_KEYS, type BackupOptions, backUp } from '../moving/backup/backup.ts'
import { PASSPHRASE_CHARACTERS, sealWithPassphrase } from '../moving/passphrase.ts'
import { readMasterKeys } from '../secrets/master-keys.ts'
import { StoreOpenError } from '../store/errors.ts'
import { openStoreReadOnly } from '../store/open.ts'
import { CommandError, OUTPUT, readArguments } from './arguments.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'
import { plain, printJson } from './output.ts'

/** The text of `patchbay backup --help`. */
export const help = `patchbay backup <file> [--with-key] [--json]

Writes everything of the database, and the settings file, to a new file; the hub may run meanwhile. It reads SQLite and
PostgreSQL, and "patchbay restore" writes either. Not in it: log records and metrics, sign-ins, files of plugins, and lists
of tools, which are read again.

Secrets stay sealed: without the master key (the file master.key of the data folder, or MASTER_KEY) they cannot be
opened. Keep it elsewhere, or add it:

  --with-key      add the master key, sealed with a passphrase of ${PASSPHRASE_CHARACTERS} characters or more from standard input
  --json          what was written, as JSON
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, 'with-key': { type: 'boolean' } },
    positionals: ['file'],
  })
  const path = resolve(io.cwd, positionals[0] ?? '')
  const environment = readHubEnvironment(io.env)
  const dataDir = dataDirOf(io)
  const { databaseUrl } = environment
  const store = await openStoreReadOnly({ dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) }).catch(
    (error: unknown) => {
      throw error instanceof StoreOpenError ? new StartError(error.exitName, error.message, { cause: error }) : error
    },
  )
  if (!store) throw new CommandError(`There is no database in ${dataDir} yet`)
  try {
    const options = await optionsOf(io, environment, dataDir, values['with-key'] === true)
    const dialect = databaseUrl === undefined ? 'sqlite' : 'postgres'
    const done = await written(path, () => backUp({ db: store.db, dialect }, path, options))
    const rows = Object.values(done.rows).reduce((sum, count) => sum + count, 0)
    if (values.json) printJson(io, { file: path, ...done, withKey: options.masterKeys !== undefined })
    else io.stdout(plain(`${rows} rows written to ${path}\n${keyLine(done.keys, options)}`))
    return 0
  } finally {
    await store.close()
  }
}

function keyLine(keys: readonly string[], { masterKeys }: BackupOptions): string {
  if (keys.length === 0) return ''
  if (masterKeys) return 'Its secrets are opened by the passphrase.\n'
  return `Its secrets are opened by the master key ${keys.join(', ')}, which is not in it: keep that too.\n`
}

async function optionsOf(
  io: CommandIo,
  environment: ConfigLayer,
  dataDir: string,
  withKey: boolean,
): Promise<BackupOptions> {
  const path = await findSettingsFile(environment.settingsFile, io.cwd, dataDir)
  const file = path === undefined ? undefined : await openSettingsFile(path, { dataDir, runtime: '', program: '' })
  try {
    const masterKeys = withKey ? await sealedKeys(io, environment, dataDir) : undefined
    const settings =
      path === undefined || !file
        ? undefined
        : { name: basename(path), text: await readFile(path, 'utf8'), entries: file.state.file.servers }
    return { ...(settings ? { settings } : {}), ...(masterKeys ? { masterKeys } : {}) }
  } finally {
    file?.dispose()
  }
}

async function sealedKeys(io: CommandIo, environment: ConfigLayer, dataDir: string) {
  const passphrase = await readPassphrase(io)
  const keys = await readMasterKeys(dataDir, environment)
  const texts = keys.map(({ key }) => Buffer.from(key).toString('base64url'))
  return sealWithPassphrase(JSON.stringify(texts), passphrase, BACKUP_KEYS)
}

/** Throws CommandError for one that is too short. */
export async function readPassphrase(io: CommandIo): Promise<string> {
  const given = (await io.stdin()).replace(/\r?\n$/, '')
  const characters = [...given].length
  if (characters >= PASSPHRASE_CHARACTERS) return given
  const what = characters === 0 ? 'No passphrase came on standard input' : `The passphrase has ${characters} characters`
  throw new CommandError(`${what}; at least ${PASSPHRASE_CHARACTERS} are needed`)
}

async function written<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') throw new CommandError(`There is a file ${path} already; it was left as it is`)
    // The written part is not a usable backup.
    await rm(path, { force: true })
    if (error instanceof StartError || error instanceof CommandError) throw error
    throw new CommandError(`Cannot write ${path}: ${code || String(error)}`, { cause: error })
  }
}
