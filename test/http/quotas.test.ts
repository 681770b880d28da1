import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { bundledPlugins } from '../../core/hub/bundled.ts'
import type { Answer } from '../support/client.ts'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, LOOPBACK, PASSWORD, send, startHub } from '../support/hub.ts'
import { keptState } from '../support/kept-state.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { shutIn } from '../support/shut-in.ts'
import { until } from '../support/wait.ts'
import { expectProblem, expectWell, patient } from './rows.ts'

const STREAMS_OF_A_SESSION = 8
const UPSTREAM = 'https://mcp.example/mcp'
let hub: Hub
let admin: Client
let alice: Client
let bob: Client
let carol: Client
/** A user who may run commands. */
let gina: Client
/** Answers `initialize` and lists one tool, whose calls wait until `letGo()`. */
let slow: Bun.Server<undefined>
let letGo: () => void

beforeAll(async () => {
  const gate = Promise.withResolvers<void>()
  letGo = gate.resolve
  slow = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 120,
    async fetch(request) {
      const { id, method, params } = (await request.json().catch(() => ({}))) as Record<string, Record<string, unknown>>
      const reply = (result: object) => Response.json({ jsonrpc: '2.0', id, result })
      if (id === undefined) return new Response(null, { status: 202 })
      if (String(method) === 'initialize') {
        const { protocolVersion } = params ?? {}
        return reply({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } })
      }
      if (String(method) === 'tools/list') return reply({ tools: [{ name: 'wait', inputSchema: { type: 'object' } }] })
      if (String(method) === 'tools/call') await gate.promise
      return reply({ content: [] })
    },
  })
  hub = await startHub({ env: { ...LOOPBACK, TRUSTED_PROXIES: '127.0.0.1' } })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  carol = await hub.user('carol')
  gina = await hub.user('gina')
}, 120_000)
afterAll(async () => {
  letGo?.()
  await hub?.stop()
  await slow?.stop(true)
}, 120_000)

/** The caller's use of one limit. */
async function used(who: Client, name: keyof typeof LIMITS): Promise<number> {
  const { items } = (await patient(() => who.request('GET', '/api/limits'))).json
  return items.find((item: { name: string }) => item.name === name).used
}

async function refused(answer: Answer, path: string, status: number, code: string): Promise<void> {
  expect([answer.status, answer.json.code]).toEqual([status, code])
  expectProblem(answer, { method: 'POST', path })
  expect(answer.json.hint).toBeString()
  await expectWell(hub)
}

test('GET /api/limits lists every limit with value and unit, and what the caller uses of those of a user', async () => {
  const { items } = await alice.ok('GET', '/api/limits')
  const ofPlugins = bundledPlugins.flatMap(({ name, limits = {} }) => Object.keys(limits).map(limit => [name, limit]))
  expect(ofPlugins).toContainEqual(['oauth-server', 'grantsPerUser'])
  expect(ofPlugins).toContainEqual(['sign-in', 'factorsPerUser'])
  expect(items.map((item: { name: string; plugin?: string }) => [item.plugin, item.name])).toEqual([
    ...Object.keys(LIMITS).map(name => [undefined, name]),
    ...ofPlugins,
  ])
  for (const { name, value, unit, used: own, plugin } of items) {
    if (plugin !== undefined) continue
    expect([name, value]).toEqual([name, LIMITS[name as keyof typeof LIMITS]])
    expect([name, ['bytes', 'ms', 'count'].includes(unit)]).toEqual([name, true])
    // A rate has no present use that could be shown.
    const counted = name.endsWith('PerUser') && !/(?:PerSecond|Burst)PerUser$/.test(name)
    expect([name, typeof own]).toEqual([name, counted ? 'number' : 'undefined'])
  }
})

describe('limits of what a user owns', () => {
  beyondCore(() => {
    test('one server too many is 409 quota_servers, by create, batch and import', async () => {
      const some = (from: number, count: number) =>
        Array.from({ length: count }, (_, at) => ({ name: `s${from + at}`, url: UPSTREAM, enabled: false }))
      await alice.ok('POST', '/api/servers/batch', { servers: some(0, LIMITS.serversPerUser) })
      expect(await used(alice, 'serversPerUser')).toBe(LIMITS.serversPerUser)
      const before = keptState(hub)
      const [more] = some(1_000, 1)
      await refused(await alice.request('POST', '/api/servers', more), '/api/servers', 409, 'quota_servers')
      const batch = await alice.request('POST', '/api/servers/batch', { servers: [more] })
      expect(batch.text).toContain('quota_servers')
      const imported = await alice.ok('POST', '/api/servers/import', { mcpServers: { more: { url: UPSTREAM } } })
      expect(imported.entries[0].error.code).toBe('quota_servers')
      expect(keptState(hub)).toEqual(before)
      await alice.ok('DELETE', '/api/servers/s0')
      await alice.ok('POST', '/api/servers', more)
    }, 120_000)
  })

  // This runs before the commands of the next test: those never answer, and keep the places in which servers start.
  beyondCore(() => {
    test('processes of callers count against commands, beside the one that all share', async () => {
      const made = await gina.request('POST', '/api/servers', await shutIn('own', { session: 'per-session' }))
      const { checks } = (await gina.request('GET', '/health')).json
      if (checks.sandbox !== 'full') return expect(made.text).toContain('stdio_not_permitted')
      await online(gina, ['own'])
      const clients: RawClient[] = []
      const key = await gina.mcpKey()
      for (const count of [1, 2, 3]) {
        const client = await new RawClient(hub, '/mcp/own', key).open()
        const { result } = await client.call('tools/call', { name: 'self', arguments: {} })
        expect([result.isError ?? false, await used(gina, 'liveStdioPerUser')]).toEqual([false, 1 + count])
        clients.push(client)
      }
      for (const client of clients) await client.delete()
      await until(async () => (await used(gina, 'liveStdioPerUser')) === 1, { what: 'the callers’ processes to end' })
      await gina.ok('POST', '/api/servers/own/stop')
      await until(async () => (await used(gina, 'liveStdioPerUser')) === 0, { what: 'the processes to end' })
    }, 120_000)
  })

  test('one command too many that is switched on is 409 quota_servers, for ordinary users', async () => {
    const lazy = { command: 'cat', start: 'lazy' }
    const servers = Array.from({ length: LIMITS.liveStdioPerUser }, (_, at) => ({ ...lazy, name: `p${at}` }))
    const made = await gina.request('POST', '/api/servers/batch', { servers })
    const { checks } = (await gina.request('GET', '/health')).json
    // Without the whole sandbox, they may run no commands.
    if (checks.sandbox !== 'full') return expect(made.text).toContain('stdio_not_permitted')
    expect(await used(gina, 'liveStdioPerUser')).toBe(LIMITS.liveStdioPerUser)
    const answer = await gina.request('POST', '/api/servers', { ...lazy, name: 'more' })
    await refused(answer, '/api/servers', 409, 'quota_servers')
    await gina.ok('POST', '/api/servers', { ...lazy, name: 'more', enabled: false })
    const start = await gina.request('POST', '/api/servers/more/start')
    expect([start.status, start.json.code]).toEqual([409, 'quota_servers'])
    await admin.ok('POST', '/api/servers/batch', { servers: [...servers, { ...lazy, name: 'more' }] })
    // Removes the servers, so that none of them has to start.
    for (const who of [gina, admin])
      for (const { name } of [...servers, { name: 'more' }])
        expect((await patient(() => who.request('DELETE', `/api/servers/${name}`))).status).toBe(204)
  })

  test('more bytes of configuration than a user may have stored are 409 quota_stored_bytes', async () => {
    const variables = Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`v${at}`, 'x'.repeat(8_000)]))
    const body = (name: string) => ({ name, url: UPSTREAM, enabled: false, variables })
    for (const name of ['a', 'b', 'c', 'd']) await bob.ok('POST', '/api/servers', body(name))
    expect(await used(bob, 'serverConfigBytesPerUser')).toBeGreaterThan(4_000_000)
    await refused(await bob.request('POST', '/api/servers', body('e')), '/api/servers', 409, 'quota_stored_bytes')
    await bob.ok('PATCH', '/api/servers/d', { visibility: 'public' })
    for (const name of ['a', 'b', 'c', 'd']) await bob.ok('DELETE', `/api/servers/${name}`)
    expect(await used(bob, 'storedBytesPerUser')).toBe(0)
  }, 120_000)

  test('one group too many is 409 quota_groups', async () => {
    for (let count = 0; count < LIMITS.groupsPerUser; count += 1)
      expect((await patient(() => alice.request('POST', '/api/groups', { name: `g${count}` }))).status).toBe(201)
    expect(await used(alice, 'groupsPerUser')).toBe(LIMITS.groupsPerUser)
    const answer = await patient(() => alice.request('POST', '/api/groups', { name: 'more' }))
    await refused(answer, '/api/groups', 409, 'quota_groups')
  }, 120_000)

  test('one access key too many is 409 quota_keys', async () => {
    const make = () => patient(() => alice.request('POST', '/api/keys', { label: 'k', scopes: ['mcp'] }))
    for (let count = await used(alice, 'keysPerUser'); count < LIMITS.keysPerUser; count += 1)
      expect((await make()).status).toBe(201)
    expect(await used(alice, 'keysPerUser')).toBe(LIMITS.keysPerUser)
    await refused(await make(), '/api/keys', 409, 'quota_keys')
  }, 120_000)

  test('one hosted key too many is refused, and none of the request is kept', async () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, 'sk-0123']))
    // Children are left out: the commands of the tests above start and end by themselves.
    const kept = () => ({ ...keptState(hub), children: [] })
    const before = kept()
    const path = '/api/settings'
    const store = (count: number) => patient(() => alice.request('PATCH', path, { hostedKeys: keys(count) }))
    const answer = await store(LIMITS.hostedKeysPerUser + 1)
    expect(answer.json.errors).toMatchObject([{ pointer: '#/hostedKeys', code: 'length' }])
    expect(kept()).toEqual(before)
    expect((await store(LIMITS.hostedKeysPerUser)).status).toBe(200)
    expect(await used(alice, 'hostedKeysPerUser')).toBe(LIMITS.hostedKeysPerUser)
  })
})

describe('limits of what a user has open', () => {
  test('one call in flight too many is 429 quota_calls, under /mcp with data.retryAfter', async () => {
    await bob.ok('POST', '/api/servers', { name: 'slow', url: `${slow.url}` })
    await online(bob, ['slow'])
    const client = await new RawClient(hub, '/mcp/slow', await bob.mcpKey()).open('2025-03-26')
    const batch = (from: number) =>
      Array.from({ length: LIMITS.batchMessages }, (_, at) => ({
        ...{ jsonrpc: '2.0', id: from + at, method: 'tools/call' },
        params: { name: 'wait', arguments: {} },
      }))
    const answers = [0, 100, 200].map(async from => {
      const text = await (await client.post(batch(from))).text()
      return text
    })
    await until(async () => (await used(bob, 'callsPerUser')) === LIMITS.callsPerUser, { timeoutMs: 60_000 })
    const one = await client.send('tools/call', { name: 'wait', arguments: {} }, 5_000)
    expect((await one.json()).error).toMatchObject({ code: -32600, data: { code: 'quota_calls', retryAfter: 1 } })
    const path = '/api/servers/slow/tools/wait/call'
    const rest = await patient(() => bob.request('POST', path, { arguments: {} }))
    await refused(rest, path, 429, 'quota_calls')
    letGo()
    const texts = (await Promise.all(answers)).join('\n')
    expect(texts.match(/quota_calls/g)?.length).toBe(3 * LIMITS.batchMessages - LIMITS.callsPerUser)
    await until(async () => (await used(bob, 'callsPerUser')) === 0)
    // Each refused call has a record, which its caller can read.
    const found = await until(async () => {
      const page = await bob.ok('GET', '/api/logs/search?q=code:quota_calls&limit=1')
      return page.total >= 3 * LIMITS.batchMessages - LIMITS.callsPerUser + 2 ? page : undefined
    })
    expect(found.total).toBe(3 * LIMITS.batchMessages - LIMITS.callsPerUser + 2)
    expect(found.items[0]).toMatchObject({ message: 'tools/call', tool: 'wait', status: 'quota_calls', server: 'slow' })
    await client.delete()
  }, 120_000)

  test('one MCP stream too many is 429 quota_streams, a ninth one of a session 409 stream_exists', async () => {
    const key = await carol.mcpKey()
    const open = async () => {
      const client = await new RawClient(hub, '/mcp', key).open()
      return { client, stream: await client.get() }
    }
    const opened: Awaited<ReturnType<typeof open>>[] = []
    const first = await open()
    opened.push(first)
    // References are kept to the end: the runtime collects a response without one, and closes its stream.
    const others: Response[] = []
    for (let streams = 1; streams < STREAMS_OF_A_SESSION; streams += 1) others.push(await first.client.get())
    const again = await first.client.get()
    expect(again.headers.get('content-type')).toBe('application/json')
    expect([again.status, (await again.json()).error.data.code]).toEqual([409, 'stream_exists'])
    for (let streams = STREAMS_OF_A_SESSION; streams < LIMITS.streamsPerUser; streams += 1) opened.push(await open())
    expect(await used(carol, 'streamsPerUser')).toBe(LIMITS.streamsPerUser)
    const { client, stream } = await open()
    expect([stream.status, (await stream.json()).error]).toMatchObject([
      429,
      { data: { code: 'quota_streams', retryAfter: expect.any(Number) } },
    ])
    expect(Number(stream.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200))
    await client.delete()
    for (const each of opened) await each.client.delete()
    await until(async () => (await used(carol, 'streamsPerUser')) === 0)
    await expectWell(hub)
  }, 120_000)

  test('one live stream too many is 429 quota_streams', async () => {
    const stop = new AbortController()
    const headers = { authorization: `Bearer ${carol.token}` }
    // References are kept: the runtime closes streams without one.
    const held: Response[] = []
    while (held.length < LIMITS.liveStreamsPerUser)
      held.push(await patientStream(() => fetch(`${hub.url}/api/stream`, { headers, signal: stop.signal })))
    expect(held.map(({ status }) => status)).toEqual(held.map(() => 200))
    await until(async () => (await used(carol, 'liveStreamsPerUser')) === LIMITS.liveStreamsPerUser)
    const answer = await patient(() => carol.request('GET', '/api/stream'))
    await refused(answer, '/api/stream', 429, 'quota_streams')
    expect(held.every(({ body }) => body !== null)).toBe(true)
    stop.abort()
    await until(async () => (await used(carol, 'liveStreamsPerUser')) === 0)
  }, 120_000)

  beyondCore(() => {
    test('one session too many displaces the longest idle one, whose id is then unknown', async () => {
      const key = await carol.mcpKey()
      const first = await new RawClient(hub, '/mcp', key).open()
      for (let opened = 1; opened <= LIMITS.sessionsPerUser; opened += 50)
        await Promise.all(Array.from({ length: 50 }, () => new RawClient(hub, '/mcp', key).open()))
      expect(await used(carol, 'sessionsPerUser')).toBe(LIMITS.sessionsPerUser)
      const gone = await first.send('ping')
      expect([gone.status, (await gone.json()).error.data.code]).toEqual([404, 'session_not_found'])
      await expectWell(hub)
    }, 120_000)
  })
})

describe('rates', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address })

  test('more requests at once than an address may send → 429 rate_limited; other addresses are served', async () => {
    const ask = (address: string) => send(hub.url, 'GET', '/api/public/info', undefined, from(address))
    const answers: Answer[] = []
    const late = await until(async () => {
      // Repeated, since the bucket may fill meanwhile on a slow machine.
      answers.push(...(await Promise.all(Array.from({ length: 60 }, () => ask('198.51.100.7')))))
      const found = answers.filter(({ status }) => status === 429)
      return found.length > 0 && found
    })
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(LIMITS.requestBurstPerAddress)
    for (const answer of late) await refused(answer, '/api/public/info', 429, 'rate_limited')
    expect((await ask('198.51.100.8')).status).toBe(200)
  })

  test('more failed sign-ins than are free → 429 login_throttled; another address is not', async () => {
    const ask = (address: string, password = 'wrong') =>
      send(hub.url, 'POST', '/api/auth/login', { username: 'alice', password }, from(address))
    const answers: Answer[] = []
    for (let tried = 0; tried < 5; tried += 1) answers.push(await ask('198.51.100.9'))
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    // Repeated, since on a slow machine the first failures may be forgotten, or their pause over.
    const throttled = await until(async () => {
      const answer = await ask('198.51.100.9')
      return answer.status === 429 && answer
    })
    expect(throttled.json.code).toBe('login_throttled')
    expect(Number(throttled.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await ask('198.51.100.10', PASSWORD)).status).toBe(200)
  })

  beyondCore(() => {
    test('more passwords at once than can be checked → 503 overloaded, and no sign-in counts as failed by it', async () => {
      const body = { username: 'alice', password: PASSWORD }
      const many = LIMITS.passwordHashesAtOnce + LIMITS.passwordHashesWaiting + 40
      const answers = await Promise.all(
        Array.from({ length: many }, (_, at) =>
          send(hub.url, 'POST', '/api/auth/login', body, from(`203.0.113.${at}`)),
        ),
      )
      const busy = answers.filter(({ status }) => status === 503)
      expect(busy.length).toBeGreaterThan(0)
      for (const answer of busy) await refused(answer, '/api/auth/login', 503, 'overloaded')
      expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
      expect((await send(hub.url, 'POST', '/api/auth/login', body, from('203.0.113.250'))).status).toBe(200)
    }, 120_000)
  })
})

/** Like `patient`, for an answer that does not end. */
async function patientStream(request: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await request()
    if (answer.status !== 429) return answer
    await Bun.sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}
