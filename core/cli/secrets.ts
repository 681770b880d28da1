import { lockDataDir } from '../config/data-lock.ts'
import { findSettingsFile } from '../config/load.ts'
import { openSettingsFile, type SettingsFile } from '../config/settings-file.ts'
import { StartError } from '../config/start-error.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { RECORD_KINDS } from '../hub/record-kinds.ts'
import { countInFile, type Resealed, resealFileEntries, resealStored } from '../registry/sealed-values.ts'
import { beginRotation, endRotation, type MasterKey } from '../secrets/master-keys.ts'
import { createSealer } from '../secrets/seal.ts'
import { StoreOpenError } from '../store/errors.ts'
import { forgetOldPages, lockStore, openStore, type Store } from '../store/open.ts'
import type { DatabaseLock } from '../store/postgres-lock.ts'
import { CommandError, OUTPUT, readArguments, readVerb, UsageError } from './arguments.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'
import { plain, printJson } from './output.ts'
import { inspectSecrets } from './secrets-status.ts'

/** The text of `patchbay secrets --help`. */
export const help = `patchbay secrets status [--json]
patchbay secrets rotate [--json]

status   which master keys there are, and how many stored secrets each has sealed.
rotate   seals all stored secrets, of the database and of the settings file, with a new master key. The hub must be stopped.

Without MASTER_KEY the hub's key is the file master.key of its data folder: rotate makes a new one, keeps the old one as
master.key.old until everything is sealed again, and then removes it. With MASTER_KEY, set it to the new key and
MASTER_KEY_OLD to the present one, run rotate, and then unset MASTER_KEY_OLD. To move from the file to the environment, set
MASTER_KEY alone, run rotate, and then remove the file.

Until it is done both keys open what they sealed: a rotate that was cut short is simply run again, and a hub that is started
in between works. Exit code 1 when a value could not be opened; it is named, stays as it is, and so does the old key.
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { verb, rest } = readVerb(argv, ['status', 'rotate'])
  const { values } = readArguments(rest, { options: OUTPUT, positionals: [] })
  return verb === 'status' ? status(io, values.json ?? false) : rotate(io, values.json ?? false)
}

async function status(io: CommandIo, json: boolean): Promise<number> {
  const found = await inspectSecrets(io)
  if (json) printJson(io, found)
  else for (const line of found.lines) io.stdout(`${plain(line)}\n`)
  return found.lost > 0 ? 1 : 0
}

async function rotate(io: CommandIo, json: boolean): Promise<number> {
  const environment = readHubEnvironment(io.env)
  const dataDir = dataDirOf(io)
  const lock = await lockDataDir(dataDir).catch((error: unknown) => {
    if (error instanceof StartError && error.code === 'data_dir_unwritable') throw new CommandError(error.message)
    throw error
  })
  let databaseLock: DatabaseLock | undefined
  let store: Store | undefined
  let settings: SettingsFile | undefined
  try {
    const { databaseUrl } = environment
    const place = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) }
    databaseLock = await lockStore(place)
    store = await openStore({ ...place, usedBefore: true })
    const path = await findSettingsFile(environment.settingsFile, io.cwd, dataDir)
    settings = path === undefined ? undefined : await openSettingsFile(path, { dataDir, runtime: '', program: '' })
    const keys = await beginRotation(dataDir, environment)
    const [first] = keys
    if (!first) throw new CommandError(`There is no master key in ${dataDir}: no hub has run there yet`)
    const done = await sealAnew(keys, first, store, settings)
    if (done.lost.length === 0) {
      await forgetOldPages(store)
      // Done last: an interruption before it leaves both keys, and the command can be repeated.
      await endRotation(dataDir)
    }
    report(io, json, keys, done)
    return done.lost.length === 0 ? 0 : 1
  } catch (error) {
    throw error instanceof StoreOpenError ? new StartError(error.exitName, error.message, { cause: error }) : error
  } finally {
    settings?.dispose()
    await store?.close()
    await databaseLock?.release()
    await lock.release()
  }
}

async function sealAnew(
  keys: readonly MasterKey[],
  first: MasterKey,
  store: Store,
  settings: SettingsFile | undefined,
): Promise<Resealed> {
  if (keys.length === 1 && first.from === 'MASTER_KEY') {
    throw new UsageError('MASTER_KEY is the only key; set it to a new one, and MASTER_KEY_OLD to the present one')
  }
  const sealer = createSealer(keys.map(({ key }) => key))
  const stored = await resealStored(store, sealer, first.kid, { all: () => RECORD_KINDS })
  if (!settings) return stored
  const filed = await resealFileEntries(store, sealer, first.kid, settings.state.file.servers)
  if (filed.texts.size > 0) await settings.replaceTexts(filed.texts)
  const left = [...countInFile(settings.state.file.servers)].filter(([kid]) => kid !== first.kid)
  const unwritten = left.reduce((sum, [, values]) => sum + values, 0) - filed.lost.length
  return {
    changed: stored.changed + filed.changed,
    kept: stored.kept + filed.kept,
    lost: [
      ...stored.lost,
      ...filed.lost,
      ...(unwritten > 0
        ? [`settings file: ${unwritten} that are spelled in another way than the hub writes them`]
        : []),
    ],
  }
}

function report(io: CommandIo, json: boolean, keys: readonly MasterKey[], { changed, kept, lost }: Resealed): void {
  const [first, old] = keys
  if (json) return printJson(io, { key: first?.kid, old: old?.kid ?? null, sealedAnew: changed, kept, lost })
  io.stdout(`${changed} values sealed with key ${first?.kid}, ${kept} were already\n`)
  for (const where of lost) io.stdout(`not opened, left as it is: ${plain(where)}\n`)
  if (old === undefined) return
  if (lost.length > 0) io.stdout(`key ${old.kid} (${old.from}) is kept\n`)
  else if (old.from === 'master.key.old') io.stdout(`key ${old.kid} (${old.from}) is removed\n`)
  else io.stdout(`nothing needs key ${old.kid} any more: ${REMOVE[old.from]}\n`)
}

const REMOVE = {
  MASTER_KEY: 'unset MASTER_KEY',
  MASTER_KEY_OLD: 'unset MASTER_KEY_OLD',
  'master.key': 'remove the file master.key of the data folder',
} as const
