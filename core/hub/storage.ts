import type { HubConfig } from '../config/schema.ts'
import { StartError } from '../config/start-error.ts'
import { within } from '../connections/within.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { OpenRegistry } from '../registry/create.ts'
import { hasMasterKeyFile } from '../secrets/master-keys.ts'
import { StoreOpenError } from '../store/errors.ts'
import { openStore, type Store } from '../store/open.ts'

/** How long the stopping hub waits for the store to write what is pending, in milliseconds. */
const STORE_LAST_MS = 3_000

/** Pending writes are lost when the database does not accept them in time: logged, but no reason to hang or to fail. */
export async function closeRegistry(room: OpenRegistry, log: PluginLogger): Promise<void> {
  const outcome = await within(
    room.close().then(
      () => 'kept',
      (error: unknown) => String(error),
    ),
    STORE_LAST_MS,
  )
  if (outcome === 'kept') return
  const error = outcome ?? `no answer within ${STORE_LAST_MS} ms`
  log.error('The last audit records and uses of keys were not stored', { error })
}

/** Opens the database that is configured. Throws StartError: a problem with it is for the person who starts the hub. */
export async function openHubStore({ dataDir, databaseUrl }: HubConfig): Promise<Store> {
  try {
    // The master key is created after the first database.
    const usedBefore = await hasMasterKeyFile(dataDir)
    return await openStore({ dataDir, usedBefore, ...(databaseUrl ? { databaseUrl } : {}) })
  } catch (error) {
    if (error instanceof StoreOpenError) throw new StartError(error.exitName, error.message, { cause: error })
    throw error
  }
}
