// Things that one user keeps in flight: bodies, answers, replay events, sessions, threads. The hub stays small meanwhile.
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { beyondCore, extent } from '../support/extent.ts'
import {
  calmHealth,
  type HealthFigures,
  healthDuring,
  slowerThanAllowed,
  slowerThanCalm,
} from '../support/health-watch.ts'
import { type HeavyUpstream, heavyUpstream } from '../support/heavy-upstream.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { firstLine, StubbornClient } from '../support/stubborn-client.ts'
import { until } from '../support/wait.ts'
import { MOST_MS, memorySlowness, slowness } from '../support/work.ts'

const MIB = 2 ** 20
/** Checks times by the clock too, which other programs slow down: for `bun run soak` on a machine without other work. */
const STRICT = process.env.PATCHBAY_STRICT_LATENCY === '1'
/**
 * The bound is 600 MiB. The allocator exceeds the collector's figure by an amount that depends on other work of the machine:
 * 410 to 630 were seen, and 802 once, while compilers ran beside it. Without any counting, the attacks take more than 1,000.
 */
const RESIDENT_MIB = STRICT ? 600 : 900
/** A request that is neither answered nor refused until then hangs. */
const LONGEST_WAIT_MS = 60_000
/** A collection of memory may fall into a turn, and make it half as long again. */
const COLLECTION = 1.5

/**
 * Number of sessions or connections of the attacks. The suite's part asks for a few times what one user may have in flight;
 * the whole would be a danger to the process if none of it were counted.
 */
const SESSIONS = extent(5, 40)
const CONNECTIONS = extent(12, 60)
const LIGHT_CONNECTIONS = extent(80, 200)
const INTRODUCTIONS = extent(50, 500)
/** Bodies without an end that may wait for an answer, since they fit into the account. */
const MOST_TAKEN = 10

let hub: Hub
let upstream: HeavyUpstream
let mallory: Client
let calm: HealthFigures
let stubborn: StubbornClient
let slow = 1
let slowMemory = 1
const opened: RawClient[] = []

beforeAll(async () => {
  hub = await startHub({ env: LOOPBACK, watchTurns: true })
  upstream = await heavyUpstream()
  mallory = await hub.user('mallory')
  await mallory.ok('POST', '/api/servers', { name: 'heavy', url: upstream.url })
  await until(async () => (await mallory.ok('GET', '/api/servers/heavy')).status.state === 'online')
  stubborn = new StubbornClient(hub)
  calm = await calmHealth(hub, 1_000)
  slow = slowness()
  slowMemory = memorySlowness()
}, 120_000)

afterEach(async () => {
  stubborn.close()
  upstream.release()
  await Promise.all(opened.splice(0).map(client => client.delete()))
  await until(async () => (await used('bytesInFlightPerUser')) === 0, {
    what: 'all bytes given back',
    timeoutMs: 60_000,
  })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  upstream?.stop()
}, 120_000)

async function used(name: string): Promise<number> {
  const { items } = await mallory.ok('GET', '/api/limits')
  return items.find((item: { name: string }) => item.name === name)?.used
}

/**
 * Does the work, and checks the hub's memory and the longest turn of its main thread meanwhile. `between` undoes the work, so
 * that a turn that was too long is measured again, twice at most: other work on the machine makes one turn slow, not three.
 */
async function attack(work: () => Promise<unknown>, between?: () => Promise<unknown>): Promise<void> {
  let last = await turnsDuring(work)
  for (let again = 0; again < 2 && between && last.longestTurnMs >= last.mostMs; again += 1) {
    await between()
    last = await turnsDuring(work)
  }
  expect(last.longestTurnMs).toBeLessThan(last.mostMs)
  if (STRICT) expect(await slowerThanCalm(hub, last.seen, calm)).toEqual([])
}

async function turnsDuring(work: () => Promise<unknown>) {
  await hub.longestTurnMs()
  const seen = await healthDuring(hub, work)
  const longestTurnMs = await hub.longestTurnMs()
  console.log(`under attack: ${JSON.stringify({ ...seen, longestTurnMs })}`)
  expect(seen.residentMiB).toBeLessThan(RESIDENT_MIB)
  const mostMs = MOST_MS * COLLECTION * Math.max(slow, slowMemory, slowness(), memorySlowness())
  return { seen, longestTurnMs, mostMs }
}

/** Ends the stubborn connections, and waits until their bytes are given back. `kept`: bytes of open sessions. */
async function leave(kept: number): Promise<void> {
  stubborn.close()
  await until(async () => (await used('bytesInFlightPerUser')) <= kept, {
    what: 'the bytes given back',
    timeoutMs: 60_000,
  })
}

async function session(): Promise<RawClient> {
  const client = await new RawClient(hub, '/mcp/heavy', await mallory.mcpKey()).open()
  opened.push(client)
  return client
}

function sessions(count: number): Promise<RawClient[]> {
  return Promise.all(Array.from({ length: count }, session))
}

function toolCall(name: string, args: object, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })
}

test('replay events of many sessions, 9 MiB each', async () => {
  const clients = await sessions(SESSIONS)
  await attack(async () => {
    for (const client of clients) {
      const response = await client.post(toolCall('notes', { size: 10, answer: 9 * MIB, count: 1 }))
      await response.text()
    }
    const replayed = await used('eventReplayBytesPerUser')
    expect(replayed).toBeLessThanOrEqual(LIMITS.eventReplayBytesPerUser)
    expect(replayed).toBeGreaterThan(LIMITS.eventReplayBytesPerUser - 10 * MIB)
  })
}, 120_000)

beyondCore(() => {
  test('answers of 9 MiB that nobody reads, on many connections', async () => {
    const client = await session()
    await attack(async () => {
      for (let index = 0; index < CONNECTIONS; index += 1) {
        await stubborn.post('/mcp/heavy', client.headers, toolCall('bytes', { size: 9 * MIB }, index))
      }
      const full = LIMITS.bytesInFlightPerUser - 9 * MIB
      await until(async () => (await used('bytesInFlightPerUser')) > full, {
        timeoutMs: 60_000,
        what: 'a full account',
      })
      expect(await used('bytesInFlightPerUser')).toBeLessThanOrEqual(LIMITS.bytesInFlightPerUser)
      const params = { name: 'bytes', arguments: { size: 9 * MIB } }
      const refused = await (await client.send('tools/call', params, 'one more')).text()
      expect(refused).toContain('"code":"quota_bytes"')
    })
    stubborn.close()
  }, 120_000)
})

test('bodies of 16 MiB that never end, on many connections', async () => {
  const part = Buffer.alloc(MIB, ' ')
  await attack(async () => {
    const texts: string[] = []
    for (let index = 0; index < CONNECTIONS; index += 1) {
      const head = ['POST /api/servers HTTP/1.1', `Authorization: Bearer ${mallory.token}`]
      const lines = ['Content-Type: application/json', 'Content-Length: 17000000']
      const socket = await stubborn.send([...head, ...lines], ...Array.from({ length: 16 }, () => part))
      void firstLine(socket, LONGEST_WAIT_MS).then(text => texts.push(text))
    }
    const refused = () => texts.filter(text => text.startsWith('HTTP/1.1 429')).length > CONNECTIONS - MOST_TAKEN
    await until(refused, { timeoutMs: LONGEST_WAIT_MS, what: 'the refusal of what does not fit' })
    expect(await used('bytesInFlightPerUser')).toBeLessThanOrEqual(LIMITS.bytesInFlightPerUser)
  })
}, 120_000)

test('bodies of messages that never end, on many connections', async () => {
  const [client] = await sessions(1)
  const kept = await used('bytesInFlightPerUser')
  const part = Buffer.alloc(MIB, ' ')
  await attack(
    async () => {
      const texts: string[] = []
      for (let index = 0; index < LIGHT_CONNECTIONS; index += 1) {
        const lines = Object.entries(client?.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
        const length = index % 2 === 0 ? 'Content-Length: 4000000' : 'Content-Length: 3999999'
        const socket = await stubborn.send(['POST /mcp/heavy HTTP/1.1', ...lines, length], part, part, part)
        void firstLine(socket, LONGEST_WAIT_MS).then(text => texts.push(text))
      }
      const refused = () => texts.filter(text => text.includes('quota_bytes')).length > LIGHT_CONNECTIONS / 4
      await until(refused, { timeoutMs: LONGEST_WAIT_MS, what: 'the refusal of what does not fit' })
    },
    () => leave(kept),
  )
  stubborn.close()
}, 120_000)

test('arguments of 3 MiB in many calls that are not answered', async () => {
  const [client] = await sessions(1)
  const text = 'a'.repeat(3 * MIB)
  await attack(async () => {
    const codes: unknown[] = []
    const calls = Array.from({ length: LIGHT_CONNECTIONS }, async () => {
      const response = await client?.send('tools/call', { name: 'wait', arguments: { text } })
      codes.push(response?.status)
      await response?.text()
    })
    await until(() => codes.filter(status => status === 429).length > LIGHT_CONNECTIONS - 50, { timeoutMs: 60_000 })
    expect(await used('bytesInFlightPerUser')).toBeLessThanOrEqual(LIMITS.bytesInFlightPerUser)
    const ended = Promise.allSettled(calls)
    let over = false
    void ended.then(() => {
      over = true
    })
    // Some accepted requests reach the upstream only after others were answered.
    const released = () => {
      upstream.release()
      return over
    }
    await until(released, { timeoutMs: 60_000, what: 'an answer to every call' })
  })
}, 120_000)

test('introductions of clients, 3 MiB each, then many of the largest size that is accepted', async () => {
  const introduce = async (bytes: number): Promise<Response> => {
    const client = new RawClient(hub, '/mcp/heavy', await mallory.mcpKey())
    const clientInfo = { name: 'raw', version: '1', title: 't'.repeat(bytes) }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const response = await client.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    const id = response.headers.get('mcp-session-id')
    if (id !== null) client.headers['mcp-session-id'] = id
    if (id !== null) opened.push(client)
    return response
  }
  await attack(async () => {
    for (let index = 0; index < CONNECTIONS; index += 1) {
      const response = await introduce(3 * MIB)
      const { error } = (await response.json()) as { error: { data: { code: string } } }
      // On a quick machine, the rate of refused messages is reached.
      expect(['params_invalid', 'rate_limited']).toContain(error.data.code)
    }
    let last = 200
    for (let index = 0; index < INTRODUCTIONS; index += 1) {
      const response = await introduce(LIMITS.sessionDataBytes - 200)
      last = response.status
      await response.text()
    }
    expect([200, 429]).toContain(last)
    expect(await used('bytesInFlightPerUser')).toBeLessThanOrEqual(LIMITS.bytesInFlightPerUser)
  })
}, 120_000)

test('many streams that nobody reads while large notes and answers come', async () => {
  const clients = await sessions(SESSIONS)
  await attack(async () => {
    for (const client of clients) {
      const body = toolCall('notes', { size: MIB - 200, answer: 5 * MIB, count: 4 })
      await stubborn.post('/mcp/heavy', { ...client.headers }, body)
    }
    await until(async () => (await used('callsPerUser')) === 0, { timeoutMs: 60_000 })
    expect(await used('bytesInFlightPerUser')).toBeLessThanOrEqual(LIMITS.bytesInFlightPerUser)
  })
  stubborn.close()
}, 120_000)

test('10 servers with a thread of their own, used by many sessions', async () => {
  for (let index = 0; index < 10; index += 1) {
    const config = { name: `own${index}`, url: upstream.url, isolate: true, session: 'per-session' }
    await mallory.ok('POST', '/api/servers', config)
  }
  const states = async (): Promise<string[]> => {
    const { items } = await mallory.ok('GET', '/api/servers?scope=mine')
    const own = items.filter(({ name }: { name: string }) => name.startsWith('own'))
    return own.map(({ status }: { status: { state: string; reason?: { code: string } } }) =>
      status.state === 'online' ? 'online' : status.reason?.code,
    )
  }
  const most = LIMITS.isolatedThreadsPerUser
  const settled = async () => {
    const found = (await states()).sort()
    return found.filter(each => each === 'online').length === most && found.includes('quota_threads')
  }
  await until(settled, { what: 'as many online servers as may be', timeoutMs: 60_000 })
  const online = (await states()).indexOf('online')
  await attack(async () => {
    for (let index = 0; index < SESSIONS; index += 1) {
      const client = await new RawClient(hub, `/mcp/own${online}`, await mallory.mcpKey()).open('2025-11-25', {
        roots: {},
      })
      opened.push(client)
      const { result } = await client.call('tools/call', { name: 'bytes', arguments: { size: 1 } })
      expect(result?.content).toEqual([{ type: 'text', text: 'x' }])
    }
  })
  for (let index = 0; index < 10; index += 1) await mallory.ok('DELETE', `/api/servers/own${index}`)
}, 120_000)

test('after it all the hub is as quick as before and holds little', async () => {
  const after = await calmHealth(hub, 1_000)
  expect(slowerThanAllowed(after, calm)).toEqual([])
  expect(after.residentMiB).toBeLessThan(RESIDENT_MIB)
}, 120_000)
