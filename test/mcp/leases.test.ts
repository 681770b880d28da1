import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { type Answer, RawClient, SseReader } from '../support/raw-mcp.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { type Incoming, LegacyHttp } from '../unit/connections/legacy-http.ts'
import { META, RawModern, read } from '../unit/mcp/modern-support.ts'
import { sharedFixture } from './shared-fixture.ts'

const CAPABILITIES = { roots: {} }

let server: LegacyHttp
let hub: Hub
let ann: Client
let modern: RawModern

beforeAll(async () => {
  server = new LegacyHttp()
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        raw: { type: 'streamable-http', url: `${server.url}/mcp` },
        slow: sharedFixture('slow'),
        varied: { ...stdioFixture('varied'), session: 'per-session' },
      },
    },
  })
  ann = await hub.setup()
  modern = new RawModern(hub, '/mcp/raw', await ann.mcpKey())
  await online(ann, ['raw', 'slow', 'varied'])
}, 120_000)

beforeEach(() => {
  // Answers nothing: the calls of these tests last until something ends them.
  server.answer = () => undefined
})

afterAll(async () => {
  await hub?.stop()
  await server?.[Symbol.asyncDispose]()
}, 120_000)

const echo = (mark: string) => ({ name: 'echo', arguments: { mark } })
const markOf = ({ params }: Incoming) => (params?.arguments as { mark?: string } | undefined)?.mark
/** The upstream session by which a call came. */
const sessionOf = (mark: string) => server.of('tools/call').find(message => markOf(message) === mark)?.session
const leases = async () =>
  ((await statusOf(ann, 'raw')) as unknown as { connections: { lease: number } }).connections.lease

function call(mark: string, more: { readonly signal?: AbortSignal; readonly token?: string } = {}): Promise<Response> {
  const client = more.token === undefined ? modern : new RawModern(hub, '/mcp/raw', more.token)
  const meta = { [`${META}logLevel`]: 'debug' }
  const { signal } = more
  return client.send('tools/call', echo(mark), { capabilities: CAPABILITIES, meta, ...(signal ? { signal } : {}) })
}

/** Waits until one call per mark is at the server, each in a session of its own. Returns the answers to come. */
async function held(
  marks: readonly string[],
  more: { token?: string; signal?: AbortSignal } = {},
): Promise<Promise<unknown>[]> {
  const calls = marks.map(mark =>
    call(mark, more)
      .then(read)
      .catch(() => undefined),
  )
  await until(() => marks.every(sessionOf), { timeoutMs: 60_000, what: 'the calls to be at the server' })
  expect(new Set(marks.map(sessionOf)).size).toBe(marks.length)
  return calls
}

test('a log message on the stream of a leased connection belongs to the call that holds it, and to no other', async () => {
  const leave = new AbortController()
  const calls = ['a', 'b'].map(mark => call(mark, { signal: leave.signal }))
  await until(() => sessionOf('a') && sessionOf('b'), { what: 'both calls to be at the server' })
  for (const mark of ['a', 'b']) {
    const session = sessionOf(mark) as string
    await until(() => server.listens(session), { what: 'the stream of the session' })
    server.tell({ method: 'notifications/message', params: { level: 'info', data: `of ${mark}` } }, session)
  }
  const heard: Answer[] = []
  for (const answer of calls) heard.push((await new SseReader(await answer).message()) as Answer)
  expect(heard.map(({ params }) => params?.data)).toEqual(['of a', 'of b'])
  leave.abort()
})

test('four are held at most, and those that clients leave are free again', async () => {
  const leave = new AbortController()
  const first = await held(['c1', 'c2', 'c3', 'c4'], { signal: leave.signal })
  const waiting = held(['c5', 'c6'])
  expect(await leases()).toBe(4)
  leave.abort()
  await Promise.all(first)
  expect(await waiting).toHaveLength(2)
  expect(await leases()).toBe(4)
  server.answer = () => ({ content: [] })
  expect((await (await call('c7')).json()) as Answer).toMatchObject({ result: { content: [] } })
}, 120_000)

test('they are free again when the credential ends, when the server stops, and when it is lost', async () => {
  const key = await ann.ok('POST', '/api/keys', { label: 'for a while', scopes: ['mcp'] })
  const ended = await held(['d1', 'd2'], { token: key.secret })
  await ann.ok('DELETE', `/api/keys/${key.id}`)
  await Promise.all(ended)
  const stopped = await held(['e1', 'e2'])
  await ann.ok('POST', '/api/servers/raw/stop')
  expect((await Promise.all(stopped)).map(answer => (answer as Answer).error?.data?.code)).toEqual(
    Array(2).fill('connection_lost'),
  )
  expect(await leases()).toBe(0)
  await ann.ok('POST', '/api/servers/raw/start?wait=30s')
  const lost = await held(['f1', 'f2'])
  const { port } = server
  await server.down()
  expect((await Promise.all(lost)).map(answer => (answer as Answer).error?.data?.code)).toEqual(
    Array(2).fill('connection_lost'),
  )
  server.up(port)
  await online(ann, ['raw'])
  const last = await held(['g1', 'g2'])
  server.answer = () => ({ content: [] })
  expect((await (await call('g3')).json()) as Answer).toMatchObject({ result: { content: [] } })
  await ann.ok('POST', '/api/servers/raw/stop')
  await Promise.all(last)
}, 120_000)

/** Limits of connections that are in use, with their values. */
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
