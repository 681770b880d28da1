import { afterEach, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Cleanup, PluginContext, PluginDefinition } from '../../../core/contract/plugin.ts'
import type { UserActor } from '../../../core/contract/records.ts'
import type { PluginHost } from '../../../core/plugin-host/host.ts'
import type { HubServices } from '../../../core/plugin-host/services/services.ts'
import { pluginHost } from '../../support/plugin-host.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { openWorld } from '../registry/world.ts'

type Definition = PluginDefinition<unknown>
type Context = PluginContext<unknown>
const ADMIN = {
  ...{ kind: 'user', userId: 'u1', name: 'ann', role: 'admin' },
  credential: { kind: 'local' },
} as const satisfies UserActor
const BRIDGE = {
  serve() {
    throw new Error('It serves nothing')
  },
}

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

test('changes of a plugin at the same time run one after the other, and the last one holds', async () => {
  const running = new Set<number>()
  let starts = 0
  const slow: Definition = {
    ...plugin('slow', async context => {
      starts += 1
      const number = starts
      running.add(number)
      context.contribute('bridge', 'slow', BRIDGE)
      await new Promise(setImmediate)
      return async () => {
        await new Promise(setImmediate)
        running.delete(number)
      }
    }),
    points: { shelf: {} },
  }
  const host = await started(slow)
  const answers = await Promise.all(
    [false, true, false, true, true, false, true].map(enabled => host.configure(ADMIN, 'slow', { enabled })),
  )
  expect(answers.map(info => info?.state)).toEqual([
    ...['disabled', 'running', 'disabled', 'running', 'running', 'disabled', 'running'],
  ] as never)
  expect(infoOf(host, 'slow')).toMatchObject({ state: 'running', contributions: ['bridge/slow'] })
  expect([...running]).toEqual([starts])
})

test('a change that is refused keeps none of the next ones from running', async () => {
  const config = z.object({ size: z.number().default(1) })
  const host = await started({ ...plugin('sized', () => undefined), config })
  const change = (wanted: object) => host.configure(ADMIN, 'sized', wanted).then(info => info?.state, String)
  const answers = [{ config: { size: 'none' } }, { enabled: false }, { enabled: true }].map(change)
  expect(await Promise.all(answers)).toEqual([expect.stringContaining('size'), 'disabled', 'running'])
})

test('a plugin that has ended adds nothing more, and starts again', async () => {
  let late: (() => Record<string, unknown>) | undefined
  const attempt = (work: () => unknown): unknown => {
    try {
      work()
      return 'done'
    } catch (error) {
      return error instanceof Error ? error.message : error
    }
  }
  const shop = { kind: 'shops', title: 'shop', schema: z.object({}), most: 2, example: {} }
  const host = await started({
    ...plugin('late', context => {
      late ??= () => ({
        contribute: attempt(() => context.contribute('bridge', 'late', BRIDGE)),
        routes: attempt(() =>
          context.routes.add({
            ...{ method: 'GET', path: '/late', access: 'user', summary: 'Late' },
            answers: { 200: { description: 'Never' } },
            handle: () => ({ body: {} }),
          }),
        ),
        records: attempt(() => context.records.define(shop)),
        events: attempt(() => context.events.on('*', () => undefined)),
      })
      context.contribute('bridge', 'late', BRIDGE)
      return undefined
    }),
  })
  await host.configure(ADMIN, 'late', { enabled: false })
  const ended = 'plugin "late" has ended and can add nothing more'
  expect(late?.()).toEqual({ contribute: ended, routes: ended, records: ended, events: ended })
  expect(host.contributions('bridge').size).toBe(0)
  expect(await host.configure(ADMIN, 'late', { enabled: true })).toMatchObject({ state: 'running' })
})

test('a plugin that has ended stores no settings and secrets, and its jobs store theirs until they end', async () => {
  const world = await openWorld()
  hosts.push({ stop: () => world.end() } as PluginHost)
  let own: Context | undefined
  let job: Promise<void> | undefined
  const host = pluginHost({
    ...{ folder: '.', services: { settings: world.registry.settings, formerPlaces: {} } as unknown as HubServices },
    bundled: [
      plugin('keeper', context => {
        own ??= context
        const { jobs, settings } = context
        job ??= jobs.once('last', async signal => {
          await new Promise(resolve => signal.addEventListener('abort', resolve))
          await settings.setHub({ job: 'ended' })
        })
        return () => settings.setHub({ cleanUp: 'done' })
      }),
    ],
  })
  hosts.push(host)
  await host.start()
  await host.configure(ADMIN, 'keeper', { enabled: false })
  await job
  const ended = 'plugin "keeper" has ended and can store nothing more'
  expect(await own?.settings.hub()).toEqual({ job: 'ended', cleanUp: 'done' })
  const late = [
    () => own?.settings.setHub({ late: true }),
    () => own?.settings.setUser('u1', { late: true }),
    () => own?.secrets.hub('late').put('secret'),
    () => own?.secrets.user('u1', 'late').put('secret'),
  ]
  for (const store of late) await expect(store()).rejects.toThrow(ended)
  expect(await own?.settings.hub()).toEqual({ job: 'ended', cleanUp: 'done' })
  expect(await own?.secrets.hub('late').describe()).toBeUndefined()
  expect(await host.configure(ADMIN, 'keeper', { enabled: true })).toMatchObject({ state: 'running' })
  await expect(own?.settings.setHub({ late: true })).rejects.toThrow(ended)
})

describe('an end', () => {
  test('runs what the setup returned before the signal aborts, and then waits for jobs', async () => {
    const order: string[] = []
    const host = await started(
      plugin('ends', ({ jobs, signal }) => {
        signal.addEventListener('abort', () => order.push('aborted'))
        void jobs.once('long', async aborted => {
          await new Promise(resolve => aborted.addEventListener('abort', resolve))
          order.push('job ended')
        })
        return () => void order.push(signal.aborted ? 'too late' : 'cleaned up')
      }),
    )
    await host.configure(ADMIN, 'ends', { enabled: false })
    expect(order).toEqual(['cleaned up', 'aborted', 'job ended'])
  })
})

test('a setup that returns no function, or throws nothing, fails its plugin by a reason', async () => {
  const host = await started(
    plugin('number', () => 3 as unknown as Cleanup),
    plugin('nothing', () => Promise.reject(undefined)),
  )
  expect(infoOf(host, 'number')).toMatchObject({ state: 'failed', message: expect.stringContaining('returned number') })
  expect(infoOf(host, 'nothing')?.message).toContain('threw nothing')
})

describe('a definition', () => {
  const audience = 'everybody' as 'owner'
  test.each<[string, Partial<Definition>]>([
    ['"needs" of its definition is no list', { needs: 'other' as unknown as string[] }],
    ['has the audience "everybody"', { events: { 'a.opened': { audience } } }],
    ['"A_KEY" is for "key", which "config" does not have', { variables: { A_KEY: 'key' } }],
    [
      'which "config" does not have',
      { variables: { A_KEY: 'key' }, config: z.object({ keys: z.string().optional() }) },
    ],
  ])('is refused: %s', async (why, rest) => {
    const host = await started({ ...plugin('a', () => undefined), ...rest })
    expect(infoOf(host, 'a')).toMatchObject({ state: 'failed', message: expect.stringContaining(why) })
  })

  test.each([
    [true, 'that runs'],
    [false, 'that runs'],
    [false, 'that is off'],
  ])('cannot have an error code of a bundled plugin; isolated: %p, of one %s', async (isolate, state) => {
    const errors = { shop_front_full: { status: 409, title: 'Full', remedy: 'Wait.' } }
    const folder = await makeTemp('codes')
    await using _ = { [Symbol.asyncDispose]: () => removeTemp(folder) }
    const source = `import { definePlugin } from 'patchbay/contract'
export default definePlugin({ name: 'shop', contract: 1, errors: ${JSON.stringify(errors)}, setup: () => undefined })`
    await writeFile(join(folder, 'shop.ts'), source, { mode: 0o600 })
    const market = { ...plugin('market', () => undefined), errors }
    const enabled = state === 'that runs'
    const entries = [{ use: './shop.ts', isolate }, ...(enabled ? [] : [{ use: 'market', enabled }])]
    const host = pluginHost({ bundled: [market], entries, folder })
    hosts.push(host)
    await host.start()
    expect(infoOf(host, 'market')?.state).toBe(enabled ? 'running' : 'disabled')
    expect(host.list().find(info => info.name !== 'market')?.message).toContain(
      '"shop_front_full", which is a code of plugin "market"',
    )
  })
})

test.each(['a-', 'a--b', '-a', 'a_b'])(
  'the name "%s" is refused, whose tables another plugin could hold',
  async name => {
    const folder = await makeTemp('names')
    await using _ = { [Symbol.asyncDispose]: () => removeTemp(folder) }
    const source = `import { definePlugin } from 'patchbay/contract'
export default definePlugin({ name: '${name}', contract: 1, setup: () => undefined })`
    await writeFile(join(folder, 'named.ts'), source, { mode: 0o600 })
    const host = pluginHost({ entries: [{ use: './named.ts', isolate: false }], folder })
    hosts.push(host)
    await host.start()
    expect(host.list()).toMatchObject([{ state: 'failed', message: expect.stringContaining('single dashes') }])
  },
)
