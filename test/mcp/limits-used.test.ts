import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient, SseReader } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern, read } from '../unit/mcp/modern-support.ts'

let hub: Hub
let ann: Client

beforeAll(async () => {
  hub = await startHub({
    settings: {
      mcpServers: { slow: stdioFixture('slow'), varied: { ...stdioFixture('varied'), session: 'per-session' } },
    },
  })
  ann = await hub.setup()
  await online(ann, ['slow', 'varied'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Those of the limits of connections of which anything is used. */
async function used(who: Client): Promise<Record<string, number>> {
  const { items } = (await who.ok('GET', '/api/limits')) as { items: { name: string; used?: number }[] }
  const names = ['sessionsPerUser', 'callsPerUser', 'streamsPerUser', 'listenStreamsPerUser', 'parkedCallsPerUser']
  const of = (name: string) => items.find(item => item.name === name)?.used
  expect(names.map(name => [name, typeof of(name)])).toEqual(names.map(name => [name, 'number']))
  return Object.fromEntries(names.map(name => [name, of(name) ?? 0]).filter(([, count]) => count !== 0))
}

test('GET /api/limits counts calls, streams, listen streams and parked calls of clients of every version', async () => {
  const key = await ann.mcpKey()
  const bob = await hub.user('bob')
  const modern = new RawModern(hub, '/mcp', key)
  expect(await used(ann)).toEqual({})
  const leave = new AbortController()
  const calls = [1, 2].map(() =>
    modern
      .send('tools/call', { name: 'wait', arguments: { ms: 60_000 } }, { signal: leave.signal })
      .catch(() => undefined),
  )
  await until(async () => (await used(ann)).callsPerUser === 2, { what: 'two calls to count' })
  const filter = { notifications: { toolsListChanged: true } }
  const listen = new SseReader(await modern.send('subscriptions/listen', filter))
  await listen.message()
  expect(await used(ann)).toMatchObject({ callsPerUser: 2, listenStreamsPerUser: 1 })
  const parked = await read(
    await modern.send(
      'tools/call',
      { name: 'ask', arguments: { method: 'roots/list' } },
      { capabilities: { roots: {} } },
    ),
  )
  expect(parked.result.resultType).toBe('input_required')
  const legacy = await new RawClient(hub, '/mcp', key).open()
  const stream = new SseReader(await legacy.get())
  const now = await used(ann)
  expect(now).toMatchObject({ sessionsPerUser: 1, callsPerUser: 2, listenStreamsPerUser: 1, parkedCallsPerUser: 1 })
  expect(now.streamsPerUser).toBeGreaterThanOrEqual(2)
  expect(await used(bob)).toEqual({})
  leave.abort()
  await Promise.all(calls)
  await Promise.all([listen.close(), stream.close()])
  await legacy.delete()
  await until(async () => JSON.stringify(await used(ann)) === '{"parkedCallsPerUser":1}', {
    timeoutMs: 60_000,
    what: 'all but the parked call to be given back',
  })
}, 120_000)
