import { HubError } from '../contract/errors.ts'
import type { PluginDefinition } from '../contract/plugin.ts'
import { registerPluginModules } from '../transport-kit/module.ts'
import { endPluginWorker, newPluginWorker } from './isolate.ts'
import type { FromPlugin, PluginToLoad, ToPlugin } from './isolate-protocol.ts'
import { asDefinition, type PluginEntry, parsePluginConfig, resolvePlugin } from './resolve.ts'

/**
 * Throws `validation_failed` for a configuration that the plugin's schema rejects. Its setup does not run. What else is wrong
 * with a plugin is reported when it starts. `folder`: where relative paths resolve from; `limitMs`: for an isolated one.
 */
export async function checkPluginConfig(
  { use, config, isolate }: PluginEntry,
  definition: PluginDefinition<unknown> | undefined,
  folder: string,
  limitMs: number,
): Promise<void> {
  try {
    if (definition) return void (await parsePluginConfig(definition, config))
    const { file } = await resolvePlugin(use, folder)
    if (isolate !== false) return await checkInWorker({ use, file, config }, limitMs)
    registerPluginModules()
    await parsePluginConfig(asDefinition(await import(file), use), config)
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
