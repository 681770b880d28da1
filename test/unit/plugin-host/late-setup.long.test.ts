import { afterEach, expect, test } from 'bun:test'
import type { Cleanup, PluginContext, PluginDefinition } from '../../../core/contract/plugin.ts'
import type { UserActor } from '../../../core/contract/records.ts'
import type { PluginHost } from '../../../core/plugin-host/host.ts'
import { pluginHost } from '../../support/plugin-host.ts'
import { until } from '../../support/wait.ts'

type Definition = PluginDefinition<unknown>
type Context = PluginContext<unknown>
const ADMIN = {
  ...{ kind: 'user', userId: 'u1', name: 'ann', role: 'admin' },
  credential: { kind: 'local' },
} as const satisfies UserActor
const hosts: PluginHost[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop()
})
async function started(...bundled: Definition[]): Promise<PluginHost> {
  const host = pluginHost({ bundled, folder: '.' })
  hosts.push(host)
  await host.start()
  return host
}
const plugin = (name: string, setup: (context: Context) => Cleanup | Promise<Cleanup>): Definition => ({
  ...{ name, contract: 1, setup },
})
const infoOf = (host: PluginHost, name: string) => host.list().find(info => info.name === name)

test('the end of a setup that comes after its time leaves those alone that need the plugin, which runs again', async () => {
  const first = Promise.withResolvers<Cleanup>()
  let starts = 0
  let cleaned = 0
  const slow = plugin('slow', () => {
    starts += 1
    return starts === 1 ? first.promise : undefined
  })
  const needing: Definition = { ...plugin('needing', () => undefined), needs: ['slow'] }
  const host = await started(slow, needing)
  expect([infoOf(host, 'slow')?.state, infoOf(host, 'needing')?.state]).toEqual(['failed', 'failed'])
  expect(await host.configure(ADMIN, 'slow', { enabled: true })).toMatchObject({ state: 'running' })
  expect(infoOf(host, 'needing')?.state).toBe('running')
  first.resolve(() => {
    cleaned += 1
  })
  await until(() => cleaned === 1, { what: 'the clean-up of the first setup' })
  expect([infoOf(host, 'slow')?.state, infoOf(host, 'needing')?.state]).toEqual(['running', 'running'])
}, 60_000)
