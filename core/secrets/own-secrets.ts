import type { HubConfig } from '../config/schema.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { openMasterKeys } from './master-keys.ts'
import { keyTexts } from './parts.ts'
import type { Redactor } from './redact.ts'
import { createSealer, type Sealer } from './seal.ts'

/**
 * Opens the hub's keys, redacts the generated ones from its log, and logs which stored secrets wait for re-encryption and which
 * are lost. `stored`: number of values that each key encrypted. Throws StartError as {@link openMasterKeys} does.
 */
export async function openSealer(
  config: HubConfig,
  stored: ReadonlyMap<string, number>,
  redactor: Redactor,
  log: PluginLogger,
): Promise<Sealer> {
  const accept = config.acceptLostSecrets ?? false
  const keys = await openMasterKeys(config.dataDir, config, new Set(stored.keys()), accept)
  // Keys from the environment may be weak, and redaction would confirm a guess that a user manages to write to the log.
  const made = keys.filter(({ from }) => from !== 'MASTER_KEY' && from !== 'MASTER_KEY_OLD')
  redactor.add(...made.flatMap(({ key }) => keyTexts(key)))
  const [first, old] = keys
  const waiting = old && stored.get(old.kid)
  if (waiting) {
    const left = { key: first?.kid, old: old.kid, values: waiting }
    log.warn('Stored secrets wait to be sealed with the new key: stop the hub and run "patchbay secrets rotate"', left)
  }
  const lost = [...stored].filter(([kid]) => !keys.some(key => key.kid === kid))
  for (const [kid, values] of lost) {
    log.error('Stored secrets are lost with their key, and must be entered again', { key: kid, values })
  }
  return createSealer(keys.map(({ key }) => key))
}
