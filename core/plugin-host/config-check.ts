import { HubError } from '../contract/errors.ts'
import { isJsonObject } from '../contract/json.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import type { Actor } from '../contract/records.ts'
import { registerPluginModules } from '../transport-kit/module.ts'
import type { PluginChange, PluginHostOptions } from './host-options.ts'
import { shapeOf } from './info.ts'
import { endPluginWorker, newPluginWorker } from './isolate.ts'
import type { FromPlugin, PluginToLoad, ToPlugin } from './isolate-protocol.ts'
import { asDefinition, type PluginEntry, parsePluginConfig, resolvePlugin } from './resolve.ts'
import { SETUP_LIMIT_MS, withVariables } from './run.ts'
import { keepSecrets } from './shown-config.ts'
import type { Slot } from './slot.ts'

/** A change with the secrets for which its configuration has masks. Throws `validation_failed` where the schema rejects that. */
export async function checkedChange(
  actor: Actor,
  slot: Slot,
  wanted: PluginChange,
  { services, folder }: PluginHostOptions,
): Promise<PluginChange> {
  if (wanted.config === undefined) return wanted
  const stored = isJsonObject(slot.entry.config) ? slot.entry.config : {}
  const config = keepSecrets(actor, wanted.config, stored, shapeOf(slot))
  const entry = { ...slot.entry, config: withVariables(slot, config, services) }
  await checkPluginConfig(entry, slot.definition, folder, SETUP_LIMIT_MS)
  return { ...wanted, config }
}

/**
 * Throws `validation_failed` for a configuration that the plugin's schema rejects. Its setup does not run. What else is wrong
 * with a plugin is reported when it starts. `folder`: where relative paths resolve from; `limitMs`: for an isolated one.
 */
async function checkPluginConfig(
  { use, config, isolate }: PluginEntry,
  definition: PluginDefinition<unknown> | undefined,
  folder: string,
  limitMs: number,
): Promise<void> {
  try {
    if (definition) return void (await parsePluginConfig(definition, config))
    const { file, sha256 } = await resolvePlugin(use, folder)
    if (isolate !== false) return await checkInWorker({ use, file, config }, limitMs)
    registerPluginModules()
    await parsePluginConfig(asDefinition(await import(`${file}?${sha256}`), use), config)
  } catch (error) {
    if (error instanceof HubError && error.code === 'validation_failed') throw error
  }
}

async function checkInWorker(plugin: PluginToLoad, limitMs: number): Promise<void> {
  const worker = newPluginWorker()
  const { promise, resolve } = Promise.withResolvers<FromPlugin | undefined>()
  const limit = setTimeout(resolve, limitMs)
  worker.onmessage = ({ data }: MessageEvent<FromPlugin>) => {
    if (data.type !== 'about') resolve(data)
  }
  worker.onerror = event => event.preventDefault()
  worker.addEventListener('close', () => resolve(undefined))
  worker.postMessage({ type: 'check', ...plugin } satisfies ToPlugin)
  const answer = await promise
  clearTimeout(limit)
  endPluginWorker(worker)
  if (answer?.type === 'failed' && answer.errors)
    throw new HubError('validation_failed', answer.message, { errors: answer.errors })
}
