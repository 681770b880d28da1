import { findSettingsFile } from '../config/load.ts'
import { openSettingsFile } from '../config/settings-file.ts'
import { readHubEnvironment } from '../hub/bundled-settings.ts'
import { countInFile, countStored, type SealedCounts } from '../registry/sealed-values.ts'
import { readMasterKeys } from '../secrets/master-keys.ts'
import { openStoreReadOnly } from '../store/open.ts'
import type { CommandIo } from './io.ts'
import { dataDirOf } from './local-files.ts'

/** Master keys and the number of secrets each has sealed. Holds no secret itself. */
export interface SecretsFound {
  /**
   * Keys in the order of use: the first one encrypts. `values`: number of values in the database and the settings file that each
   * encrypted.
   */
  readonly keys: readonly { readonly kid: string; readonly from: string; readonly values: number }[]
  /** Number of values whose key is absent. */
  readonly lost: number
  /** Values that are still sealed with the old key. */
  readonly waiting: number
  /** The same as sentences. */
  readonly lines: readonly string[]
}

/** Changes nothing; can run beside a running hub. Throws StartError for unreadable keys, environment or files. */
export async function inspectSecrets(io: CommandIo): Promise<SecretsFound> {
  const environment = readHubEnvironment(io.env)
  const dataDir = dataDirOf(io)
  const keys = await readMasterKeys(dataDir, environment)
  const counts = new Map<string, number>()
  const add = (found: SealedCounts): void => {
    for (const [kid, values] of found) counts.set(kid, (counts.get(kid) ?? 0) + values)
  }
  const { databaseUrl } = environment
  const store = await openStoreReadOnly({ dataDir, ...(databaseUrl === undefined ? {} : { databaseUrl }) })
  try {
    if (store) add(await countStored(store.db))
  } finally {
    await store?.close()
  }
  const path = await findSettingsFile(environment.settingsFile, io.cwd, dataDir)
  if (path !== undefined) {
    const settings = await openSettingsFile(path, { dataDir, runtime: '', program: '' })
    settings.dispose()
    add(countInFile(settings.state.file.servers))
  }
  const found = keys.map(({ kid, from }) => ({ kid, from, values: counts.get(kid) ?? 0 }))
  const unknown = [...counts].filter(([kid]) => !keys.some(key => key.kid === kid))
  return {
    keys: found,
    lost: unknown.reduce((sum, [, values]) => sum + values, 0),
    waiting: found[1]?.values ?? 0,
    lines: [
      ...(found.length === 0 ? ['no master key yet; the hub makes one at its first start'] : []),
      ...found.map(
        ({ kid, from, values }, at) =>
          `key ${kid} (${from}) ${at === 0 ? 'seals' : 'is the old one'}: ${values} values`,
      ),
      ...unknown.map(([kid, values]) => `key ${kid} is missing: ${values} values cannot be opened`),
    ],
  }
}
