import { afterEach, expect, test } from 'bun:test'
import type { ServerContext } from '../../../core/connections/server/server-context.ts'
import { type DrivenParts, ServerDriver } from '../../../core/connections/server/server-driver.ts'
import { ServerState } from '../../../core/connections/server/server-state.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { fixture, type Rig, serverRecord, startRig, textOf, until } from './support.ts'

let rig: Rig | undefined
afterEach(async () => {
  await rig?.dispose()
  rig = undefined
})

/** Number of known tools at each moment when a server became online. */
function toolsWhenOnline({ bus, connections }: Rig): number[] {
  const counts: number[] = []
  bus.on('connection.state', ({ data }) => {
    if (data.state === 'online') counts.push(connections.status(data.serverId).counts.tools)
  })
  return counts
}

test('a server is online once its lists are read, and its calls do not wait for that', async () => {
  rig = await startRig([fixture('a', 'held-list', { enabled: false })])
  const { connections } = rig
  const counts = toolsWhenOnline(rig)
  rig.turn('a', true)
  await until('it is connected', () => connections.status('a').serverInfo !== undefined)
  expect(connections.status('a')).toMatchObject({ state: 'connecting', counts: { tools: 0 } })
  expect(textOf(await rig.call('a', 'echo', { x: 1 }))).toBe('{"x":1}')
  await until('it is online', () => connections.status('a').state === 'online')
  expect(counts).toEqual([5])
})

test('a list that is refused is the reason of a server that is online, until it is read', async () => {
  rig = await startRig([fixture('a', 'refused-list')])
  const { connections, call } = rig
  await until('it is online', () => connections.status('a').state === 'online')
  const { reason } = connections.status('a')
  expect(reason?.code).toBe('upstream_protocol')
  expect(reason?.message).toContain('tools/list: ')
  expect(reason?.message).toContain('no lists today')
  await call('a', 'change')
  await until('the reason is gone', () => connections.status('a').reason === undefined)
  expect(connections.status('a')).toMatchObject({ state: 'online', counts: { tools: 6 } })
})

test('a list that is never answered keeps a server from being online for a time, and is its reason then', async () => {
  rig = await startRig([fixture('a', 'held-list', { timeoutMs: 500 })])
  const { connections } = rig
  await until('it is online', () => connections.status('a').state === 'online')
  expect(connections.status('a').reason).toMatchObject({ code: 'upstream_timeout' })
  expect(connections.status('a').reason?.message).toContain('tools/list')
})

test('however long its requests may take, it is online after the limit for lists', async () => {
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  const redact = (text: string) => text
  const context = { bus: new EventBus(() => undefined), redact, log } as unknown as ServerContext
  const serverState = new ServerState(() => serverRecord('a'), context)
  const nothing = (): void => undefined
  const parts = {
    ...{ context, serverState, record: () => serverRecord('a') },
    ...{ shared: { open: nothing }, lists: { begin: nothing } },
  } as unknown as DrivenParts
  let announced = 0
  context.bus.on('upstream.connected', () => (announced += 1))
  const driver = new ServerDriver(true, parts, 20)
  driver.dispatch({ type: 'loaded', lazy: false, sleeps: false })
  driver.dispatch({ type: 'launched' })
  driver.dispatch({ type: 'opened' })
  expect(serverState.now.state).toBe('connecting')
  await until('it is online', () => serverState.now.state === 'online')
  expect(serverState.reason?.code).toBe('upstream_timeout')
  driver.dispatch({ type: 'lists-read', again: false, failed: undefined })
  expect([serverState.reason, announced]).toEqual([undefined, 1])
})
