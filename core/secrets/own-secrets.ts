import type { HubConfig } from '../config/schema.ts'
import { VARIABLES } from '../config/variables.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { openMasterKeys } from './master-keys.ts'
import { keyTexts, secretParts } from './parts.ts'
import type { Redactor } from './redact.ts'
import { createSealer, type Sealer } from './seal.ts'

/**
 * Opens the keys of the hub, hides them from its log, and says there which stored secrets wait for a new key and which are lost.
 * `stored` has how many values each key sealed. Throws StartError as {@link openMasterKeys} does.
 */
export async function openSealer(
  config: HubConfig,
  stored: ReadonlyMap<string, number>,
  redactor: Redactor,
  log: PluginLogger,
): Promise<Sealer> {
  const accept = config.acceptLostSecrets ?? false
  const keys = await openMasterKeys(config.dataDir, config, new Set(stored.keys()), accept)
  for (const form of keys.flatMap(({ key }) => keyTexts(key))) redactor.add(form)
  const [first, old] = keys
  const waiting = old && stored.get(old.kid)
  if (waiting) {
    const left = { key: first?.kid, old: old.kid, values: waiting }
    log.warn('Stored secrets wait to be sealed with the new key: stop the hub and run "patchbay secrets rotate"', left)
  }
  const lost = [...stored].filter(([kid]) => !keys.some(key => key.kid === kid))
  for (const [kid, values] of lost) {
    log.error('Stored secrets are lost with their key, and must be entered anew', { key: kid, values })
  }
  return createSealer(keys.map(({ key }) => key))
}

/** Everything secret that environment and settings file hold. */
export function secretSettings(config: HubConfig): string[] {
  const values = VARIABLES.filter(variable => variable.secret).map(({ key }) => config[key])
  return values.flatMap(value => (typeof value === 'string' ? secretParts(value) : []))
}
