import { afterEach, describe, expect, test } from 'bun:test'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { definePlugin, type PluginDefinition } from '../../../core/contract/plugin.ts'
import type { McpMessage } from '../../../core/contract/points.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { PluginHost } from '../../../core/plugin-host/host.ts'
import type { PluginHostOptions } from '../../../core/plugin-host/host-options.ts'
import { atMost } from '../../support/pace.ts'
import { pluginHost } from '../../support/plugin-host.ts'

const fixtures = join(import.meta.dir, 'fixtures')
const SYSTEM = { kind: 'system', purpose: 'test' } as const
const actor = { kind: 'user', userId: 'u1', name: 'ann', role: 'user', credential: { kind: 'local' } } as const
const context = {
  path: '/mcp',
  group: { id: 'g', name: 'g' },
  tags: { group: [], server: [] },
  client: { address: '127.0.0.1' },
}
const message = (method: string): McpMessage => ({ method, params: { text: 'quiet' }, actor, context })

/** `expect(…).rejects` waits in a nested event loop, in which a worker's messages may not arrive; so await first. */
const reason = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error('it was answered')
    },
    error => error,
  )

const running: PluginHost[] = []
afterEach(async () => {
  for (const host of running.splice(0)) await host.stop()
})

function newHost(options: Partial<PluginHostOptions>): { host: PluginHost; failed: string[] } {
  const bus = new EventBus(error => {
    throw error
  })
  const failed: string[] = []
  bus.on('plugin.failed', event => failed.push(`${event.data.plugin}: ${event.data.message}`))
  const host = pluginHost({ folder: fixtures, bus, ...options })
  running.push(host)
  return { host, failed }
}

const bridge = {
  serve() {
    throw new Error('It serves nothing')
  },
}
const contributing = (name: string, order: string[]): PluginDefinition<unknown> =>
  definePlugin<unknown>({
    name,
    contract: 1,
    setup(context) {
      order.push(`start ${name}`)
      context.contribute('bridge', name, bridge)
      return () => void order.push(`stop ${name}`)
    },
  })

describe('PluginHost', () => {
  test('starts in order and stops in reverse order', async () => {
    const order: string[] = []
    const { host } = newHost({ bundled: [contributing('a', order), contributing('b', order)] })
    await host.start()
    expect([...host.contributions('bridge').keys()]).toEqual(['a', 'b'])
    await host.stop()
    expect(order).toEqual(['start a', 'start b', 'stop b', 'stop a'])
    expect(host.contributions('bridge').size).toBe(0)
  })

  test('stops plugins side by side, in 5 s all of them, whatever hangs', async () => {
    const aborted: string[] = []
    const order: string[] = []
    const hanging = (name: string) =>
      definePlugin<unknown>({
        name,
        contract: 1,
        setup(context) {
          context.signal.addEventListener('abort', () => aborted.push(name))
          return () => {
            order.push(`stop ${name}`)
            return new Promise<void>(() => {})
          }
        },
      })
    const bus = new EventBus(error => {
      throw error
    })
    bus.on('plugin.changed', ({ data }) => {
      if (data.state === 'stopped') order.push(`${data.plugin} has stopped`)
    })
    const { host } = newHost({ bundled: [contributing('first', order), hanging('a'), hanging('b')], bus })
    await host.start()
    const sinceMs = performance.now()
    await host.stop()
    expect(performance.now() - sinceMs).toBeLessThan(atMost(8_000))
    // Each stop has begun before the time is up that ends a hanging one.
    expect(order).toEqual([
      ...['start first', 'stop b', 'stop a', 'stop first', 'first has stopped'],
      ...['b has stopped', 'a has stopped'],
    ])
    // A plugin that hangs in its own stop still gets its signal.
    expect(aborted.toSorted()).toEqual(['a', 'b'])
  }, 120_000)

  test('leaves nothing running once it has stopped', async () => {
    const program = Bun.spawn([process.execPath, join(fixtures, 'start-and-stop.ts')], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    // A plugin has 5 s for its stop; this measures the time after it.
    expect(Number((await new Response(program.stdout).text()) || Number.NaN)).toBeLessThan(atMost(2_500))
    expect(await program.exited).toBe(0)
  })

  test('withdraws the contributions of a failing plugin and continues with the others', async () => {
    const failing = definePlugin<unknown>({
      name: 'bad',
      contract: 1,
      setup(context) {
        context.contribute('bridge', 'bad', bridge)
        throw new Error('no luck')
      },
    })
    const { host, failed } = newHost({ bundled: [failing, contributing('good', [])] })
    await host.start()
    expect([...host.contributions('bridge').keys()]).toEqual(['good'])
    expect(failed).toEqual(['bad: no luck'])
    expect(host.list().map(plugin => [plugin.name, plugin.state])).toEqual([
      ['bad', 'failed'],
      ['good', 'running'],
    ])
  })

  test('ends the start when a required plugin fails', async () => {
    const failing = definePlugin<unknown>({
      name: 'bad',
      contract: 1,
      setup: () => Promise.reject(new Error('no luck')),
    })
    const { host } = newHost({ bundled: [failing], entries: [{ use: 'bad', required: true }] })
    await expect(host.start()).rejects.toThrow('Required plugin "bad" failed: no luck')
  })

  test('refuses a configuration block that the plugin does not take, and another contract number', async () => {
    const plain = definePlugin<unknown>({ name: 'plain', contract: 1, setup: () => undefined })
    const future = { ...plain, name: 'future', contract: 2 } as unknown as PluginDefinition<unknown>
    const { host, failed } = newHost({ bundled: [plain], entries: [{ use: 'plain', config: { a: 1 } }] })
    await host.start()
    expect(failed[0]).toContain('takes no configuration')
    const folder = await mkdtemp(join(tmpdir(), 'plugin-'))
    await writeFile(join(folder, 'future.ts'), `export default ${JSON.stringify({ ...future, setup: 0 })}; `)
    await writeFile(join(folder, 'p.ts'), 'export default { name: "p", contract: 2, setup() {} }')
    const other = newHost({ folder, entries: [{ use: './p.ts', isolate: false }] })
    await other.host.start()
    expect(other.failed[0]).toContain('contract 2; this hub offers contract 1')
    await rm(folder, { recursive: true })
  })

  test('refuses a plugin file that others may write', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugin-'))
    await writeFile(join(folder, 'p.ts'), 'export default { name: "p", contract: 1, setup() {} }')
    await chmod(join(folder, 'p.ts'), 0o666)
    const { host, failed } = newHost({ folder, entries: [{ use: './p.ts' }] })
    await host.start()
    expect(failed[0]).toContain('can be written by others')
    await rm(folder, { recursive: true })
  })

  test('configure() disables and enables a plugin', async () => {
    const order: string[] = []
    const { host } = newHost({ bundled: [contributing('a', order)] })
    await host.start()
    expect((await host.configure(SYSTEM, 'a', { enabled: false }))?.state).toBe('disabled')
    expect(host.contributions('bridge').size).toBe(0)
    expect((await host.configure(SYSTEM, 'a', { enabled: true }))?.state).toBe('running')
    expect(await host.configure(SYSTEM, 'nobody', { enabled: true })).toBeUndefined()
  })
})

describe('an isolated plugin', () => {
  const start = async () => {
    const made = newHost({ entries: [{ use: './middleware.ts' }] })
    await made.host.start()
    const middleware = made.host.contributions('mcpMiddleware').get('shout')
    if (!middleware) throw new Error(`no middleware: ${made.failed.join()}`)
    return { ...made, middleware }
  }

  test('answers calls, with next crossing back to main', async () => {
    const { host, middleware } = await start()
    const answer = await middleware.handle(message('tools/call'), received =>
      Promise.resolve({ got: String(received.params?.text) }),
    )
    expect(answer).toEqual({ wrapped: { got: 'QUIET' } })
    expect(host.list()[0]).toMatchObject({ name: 'fixture-middleware', isolated: true, state: 'running' })
  })

  test('keeps code, message and data of an error across the port', async () => {
    const { middleware } = await start()
    const refused = middleware.handle(message('tools/refuse'), () => Promise.resolve(null))
    expect(await reason(refused)).toMatchObject({
      code: 'params_invalid',
      message: 'Refused by the fixture',
      data: { why: 'test' },
    })
  })

  test('passes on what next threw, as it was, and is not charged for the time of next', async () => {
    const { middleware } = await start()
    class UpstreamError extends Error {}
    const slow = middleware.handle(message('tools/call'), async () => {
      await Bun.sleep(2_500)
      throw new UpstreamError('from the upstream')
    })
    expect(await reason(slow)).toBeInstanceOf(UpstreamError)
  })

  test('is cut off at its own time limit', async () => {
    const { middleware } = await start()
    expect(await reason(middleware.handle(message('tools/hang'), () => Promise.resolve(null)))).toMatchObject({
      code: 'upstream_timeout',
    })
  })

  test('that exits takes its contributions and open calls along, and nothing else', async () => {
    const { host, middleware, failed } = await start()
    expect(await reason(middleware.handle(message('tools/exit'), () => Promise.resolve(null)))).toMatchObject({
      code: 'connection_lost',
    })
    while (failed.length === 0) await Bun.sleep(1)
    expect(host.contributions('mcpMiddleware').size).toBe(0)
    expect(failed).toHaveLength(1)
  })

  test('serves routes', async () => {
    const { host } = await start()
    const answer = await host
      .contributions('routes')
      .get('./middleware.ts/status')!
      .fetch(new Request('http://hub/x', { method: 'POST', body: 'hi' }), actor)
    expect(answer.status).toBe(201)
    expect(await answer.json()).toEqual({ method: 'POST', echo: 'hi' })
  })

  test('that contributes to a point of the main thread is refused with that reason', async () => {
    const { host, failed } = newHost({ entries: [{ use: './main-only.ts' }] })
    await host.start()
    expect(host.contributions('headerProvider').size).toBe(0)
    expect(failed[0]).toContain('set "isolate": false')
  })
})
