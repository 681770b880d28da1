import { afterEach, describe, expect, test } from 'bun:test'
import type { UpstreamReply } from '../../../core/connections/api.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { connectionsTo } from '../../support/connections-to.ts'
import { LegacyHttp, mcpTransports } from './legacy-http.ts'
import { httpRecord, ModernHttp, reply } from './modern-http.ts'
import { fixture, type Rig, serverRecord, startRig, textOf, until } from './support.ts'

const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

async function start(record: ServerRecord): Promise<Rig> {
  const rig = await startRig([record], { transports: mcpTransports, random: () => 0 })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  return rig
}

/** Makes this many tools/calls at once, each with its own number. */
function calls(rig: Rig, count: number): Promise<UpstreamReply[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => rig.call('a', 'echo', { n })))
}

const numbers = (replies: readonly UpstreamReply[]): number[] =>
  replies.map(one => (JSON.parse(textOf(one)) as { n: number }).n)
const ALL = Array.from({ length: 20 }, (_, n) => n)

const LEGACY = [
  ['streamable HTTP', (server: LegacyHttp) => httpRecord('a', `${server.url}/mcp`)],
  ['SSE', (server: LegacyHttp) => serverRecord('a', { transport: 'sse', config: { url: `${server.url}/sse` } })],
] as const

describe.each(LEGACY)('a server of the earlier era over %s', (_, record) => {
  async function both(): Promise<{ rig: Rig; server: LegacyHttp }> {
    const server = new LegacyHttp()
    running.push(server)
    return { rig: await start(record(server)), server }
  }
  const marks = (server: LegacyHttp): unknown[] =>
    server.of('tools/call').map(({ params }) => (params?.arguments as { n?: number } | undefined)?.n)

  test('P-03 has forgotten the session: one handshake for 20 calls, and each of them reaches it once', async () => {
    const { rig, server } = await both()
    expect(numbers(await calls(rig, 1))).toEqual([0])
    for (let round = 1; round <= 3; round += 1) {
      const seen = server.of('tools/call').length
      server.forget({ quietly: true })
      expect(numbers(await calls(rig, 20))).toEqual(ALL)
      expect(
        marks(server)
          .slice(seen)
          .sort((a, b) => Number(a) - Number(b)),
      ).toEqual(ALL)
      expect(server.of('initialize')).toHaveLength(1 + round)
    }
    expect((await rig.connections.settled('a', 60_000)).state).toBe('online')
  })

  test('P-03 was there no more when calls came, and is back: each of them reaches it once', async () => {
    const { rig, server } = await both()
    const { port } = server
    await server.down()
    await until('the hub has noticed', () => connectionsTo(port) === 0)
    const waiting = calls(rig, 20)
    server.up(port)
    expect(numbers(await waiting)).toEqual(ALL)
    expect(marks(server).sort((a, b) => Number(a) - Number(b))).toEqual(ALL)
  }, 120_000)

  test('P-03 goes away while it works: a tools/call fails and is not repeated, a read is made once more', async () => {
    const { rig, server } = await both()
    const { port } = server
    server.answer = () => undefined
    server.reads = () => (server.of('resources/read').length === 1 ? undefined : { contents: [] })
    const call = rig.call('a', 'echo', { n: 1 })
    const read = rig.connections.request('a', { method: 'resources/read', params: { uri: 'test://one' } }).reply
    await until('both are at work', () => server.of('tools/call').length + server.of('resources/read').length === 2)
    // In one turn: a server that is away for longer is no loss that is bridged.
    const gone = server.down()
    server.up(port)
    await gone
    expect(await call).toMatchObject({ kind: 'failed', code: 'connection_lost' })
    expect(await read).toMatchObject({ kind: 'result' })
    expect([server.of('tools/call').length, server.of('resources/read').length]).toEqual([1, 2])
  }, 120_000)
})

test('P-03 was restarted while it worked, and says so to a ping first: the read that waits is made once more', async () => {
  const server = new LegacyHttp()
  running.push(server)
  const rig = await start(httpRecord('a', `${server.url}/mcp`))
  const { port } = server
  server.reads = () => (server.of('resources/read').length === 1 ? undefined : { contents: [] })
  const read = rig.connections.request('a', { method: 'resources/read', params: { uri: 'test://one' } }).reply
  await until('it is at work', () => server.of('resources/read').length === 1)
  const forgotten = server.of('resources/read')[0]?.session
  server.refuse = async request => {
    if (request.headers.get('mcp-session-id') !== forgotten) return undefined
    const { method } = request.method === 'POST' ? ((await request.clone().json()) as { method: string }) : request
    if (method !== 'ping') await until('the hub has begun again', () => server.of('initialize').length === 2)
    return new Response('who are you?', { status: 404 })
  }
  const gone = server.down()
  server.up(port)
  await gone
  expect(await read).toMatchObject({ kind: 'result' })
  expect(server.of('resources/read')).toHaveLength(2)
}, 120_000)

describe('a server of 2026-07-28 over HTTP', () => {
  test('P-03 was there no more when calls came, and is back: each of them reaches it once', async () => {
    const first = new ModernHttp()
    running.push(first)
    const rig = await start(httpRecord('a', first.url))
    const port = Number(new URL(first.url).port)
    await first[Symbol.asyncDispose]()
    await until('the hub has noticed', () => connectionsTo(port) === 0)
    const waiting = calls(rig, 20)
    const second = new ModernHttp(port)
    running.push(second)
    expect(numbers(await waiting)).toEqual(ALL)
    expect(second.of('tools/call')).toHaveLength(20)
  }, 120_000)

  test('P-03 goes away while it works: a tools/call fails and is not repeated, a read is made once more', async () => {
    const first = new ModernHttp()
    running.push(first)
    const never = (): Promise<Response> => new Promise(() => undefined)
    Object.assign(first.answers, { 'tools/call': never, 'resources/read': never })
    const rig = await start(httpRecord('a', first.url))
    const call = rig.call('a', 'echo', { n: 1 })
    const read = rig.connections.request('a', { method: 'resources/read', params: { uri: 'test://one' } }).reply
    await until('both are at work', () => first.of('tools/call').length + first.of('resources/read').length === 2)
    const port = Number(new URL(first.url).port)
    await first[Symbol.asyncDispose]()
    const second = new ModernHttp(port)
    running.push(second)
    second.answers['resources/read'] = ({ id }) => reply(id, { contents: [], resultType: 'complete' })
    expect(await call).toMatchObject({ kind: 'failed', code: 'connection_lost' })
    expect(await read).toMatchObject({ kind: 'result' })
    expect([second.of('tools/call').length, second.of('resources/read').length]).toEqual([0, 1])
  }, 120_000)
})

// faults.test.ts covers calls that a program had begun.
describe('a program', () => {
  test('P-03 that was killed before calls came: each of them is answered by one new process', async () => {
    const rig = await start(fixture('a', 'plain'))
    const pid = rig.connections.status('a').pid ?? 0
    process.kill(pid, 'SIGKILL')
    // Some reach the process while it ends, and nothing shows if they began.
    await until('its end is seen', () => rig.connections.status('a').pid !== pid)
    expect(numbers(await calls(rig, 20))).toEqual(ALL)
    expect(rig.connections.processes()).toHaveLength(1)
  })
})
