import { expect } from 'bun:test'
import { definePlugin, type PluginDefinition } from '../../core/contract/plugin.ts'
import type { SystemActor } from '../../core/contract/records.ts'
import { atMost } from '../support/pace.ts'
import { pluginHost } from '../support/plugin-host.ts'
import { until } from '../support/wait.ts'

const NAMES = ['a', 'b', 'c', 'd']
const SYSTEM: SystemActor = { kind: 'system', purpose: 'test' }

/** Plugins whose clean-up never ends: withdrawn together, and stopped together with the hub. */
export async function hangingPlugins(): Promise<void> {
  const hanging = (name: string): PluginDefinition<unknown> =>
    definePlugin<unknown>({ name, contract: 1, setup: () => () => new Promise<void>(() => {}) })
  const host = pluginHost({ folder: import.meta.dir, bundled: NAMES.map(hanging) })
  await host.start()
  const withdrawnMs = performance.now()
  await Promise.all(NAMES.map(name => host.configure(SYSTEM, name, { enabled: false })))
  expect(performance.now() - withdrawnMs).toBeLessThan(atMost(8_000))
  await Promise.all(NAMES.map(name => host.configure(SYSTEM, name, { enabled: true })))
  expect(host.list().map(({ state }) => state)).toEqual(NAMES.map(() => 'running'))
  const stoppedMs = performance.now()
  await host.stop()
  expect(performance.now() - stoppedMs).toBeLessThan(atMost(8_000))
}

/** A setup that ends after its 10 seconds: its clean-up runs, though the plugin has failed. */
export async function lateSetup(): Promise<void> {
  const setup = Promise.withResolvers<() => void>()
  let cleaned = 0
  const late = definePlugin<unknown>({ name: 'late', contract: 1, setup: () => setup.promise })
  const host = pluginHost({ folder: import.meta.dir, bundled: [late] })
  await host.start()
  expect(host.list()).toMatchObject([{ name: 'late', state: 'failed' }])
  setup.resolve(() => {
    cleaned += 1
  })
  await until(() => cleaned === 1, { what: 'the clean-up of a late setup' })
  await host.stop()
  expect(cleaned).toBe(1)
}
