import { lockDataDir } from '../../config/data-lock.ts'
import { StartError } from '../../config/start-error.ts'
import { nameKey } from '../../domain/names.ts'
import { readHubEnvironment } from '../../hub/bundled-settings.ts'
import { StoreOpenError } from '../../store/errors.ts'
import { lockStore, openStore, type Store } from '../../store/open.ts'
import type { DatabaseLock } from '../../store/postgres-lock.ts'
import { write } from '../../store/transact.ts'
import { CommandError, readArguments } from '../arguments.ts'
import type { CommandIo } from '../io.ts'
import { dataDirOf } from '../local-files.ts'
import { plain } from '../output.ts'

/**
 * Takes the second factor of a user away in the data folder of a hub that is stopped: the way in for an administrator who has lost
 * it, or whose hub cannot check it. Returns the exit code.
 */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = readArguments(argv, { options: {}, positionals: ['name'] })
  const [name = ''] = positionals
  const { databaseUrl } = readHubEnvironment(io.env)
  const dataDir = dataDirOf(io)
  const lock = await lockDataDir(dataDir).catch((error: unknown) => {
    if (error instanceof StartError && error.code === 'data_dir_unwritable') throw new CommandError(error.message)
    throw error
  })
  let databaseLock: DatabaseLock | undefined
  let store: Store | undefined
  try {
    const place = { dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) }
    databaseLock = await lockStore(place)
    store = await openStore({ ...place, usedBefore: true })
    await takeAway(store, name)
    io.stdout(plain(`the password of ${name} is enough again; all its sessions have ended\n`))
    return 0
  } catch (error) {
    throw error instanceof StoreOpenError ? new StartError(error.exitName, error.message, { cause: error }) : error
  } finally {
    await store?.close()
    await databaseLock?.release()
    await lock.release()
  }
}

async function takeAway(store: Store, name: string): Promise<void> {
  await write(store, async trx => {
    const key = nameKey(name)
    const row = await trx
      .selectFrom('user')
      .select(['id', 'token_epoch', 'revision', 'second_factor'])
      .where('name_key', '=', key)
      .executeTakeFirst()
    if (!row) throw new CommandError(`There is no user "${name}"`)
    if (row.second_factor === null) throw new CommandError(`The user "${name}" has no second factor`)
    const change = { second_factor: null, token_epoch: row.token_epoch + 1, revision: row.revision + 1 }
    await trx.updateTable('user').set(change).where('id', '=', row.id).execute()
  })
}
