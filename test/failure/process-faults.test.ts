import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { beyondCore, extent } from '../support/extent.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { alive, descendants, processStat } from '../support/processes.ts'
import { atWork, callText, failureOf, online, statusOf } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const TIMEOUT_MS = atLeast(500)
/** The time of an answer that is too late for its call. */
const LATE_MS = 2 * TIMEOUT_MS
const MB = 1_000_000
/** More than twice the limit of one answer; with more, memory that is not given back shows more clearly. */
const LINE_MB = 100
/** A connection that was online for this long is made again at once when it is lost. */
const SETTLED_MS = 5_200
/** Places in a message where the depth can be. */
const PLACES = [
  ...['alone', 'batch', 'notification', 'progress', 'unknown', 'request', 'request-id'],
  ...['result', 'odd-result', 'structured', 'links', 'error'],
]
const DEEP = ['/mcp/deep', '/mcp/all'].flatMap(path => ['objects', 'arrays'].map(kind => [path, kind] as const))
const NAMES = ['echo', 'unruly', 'long', 'stubborn', 'deep', 'slow', 'crashing', ...extent([], ['frozen'])]

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  hub = await startHub({
    countTimers: true,
    env: { WORKERS: '1' },
    settings: {
      mcpServers: {
        echo: known('echo'),
        unruly: { ...known('unruly'), timeout: TIMEOUT_MS },
        long: known('unruly'),
        stubborn: known('unruly', { STUBBORN: '1' }),
        ...extent(
          {},
          { frozen: { ...known('echo'), healthCheck: { interval: atLeast(500), timeout: atLeast(500), retries: 2 } } },
        ),
        deep: { ...known('deep'), timeout: 3_000 },
        slow: known('slow'),
        crashing: known('crashing', { MODE: 'call' }),
      },
      groups: [
        { name: 'g', servers: ['echo', 'slow', 'crashing'] },
        { name: 'all', servers: ['deep', 'slow', 'echo'] },
      ],
    },
  })
  admin = await hub.setup()
  await online(admin, NAMES)
  await callText(await admin.mcp('/mcp/echo'), 'whoami')
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

afterEach(() => unharmed(), 120_000)

test('a call that runs out of time: upstream_timeout, the server is notified, its late answer is dropped', async () => {
  const client = await admin.mcp('/mcp/unruly')
  const { value: failure, ms } = await timed(() => failureOf(callText(client, 'late', { ms: LATE_MS })))
  expect(failure.data?.code).toBe('upstream_timeout')
  expect(ms).toBeGreaterThan(TIMEOUT_MS * 0.9)
  expect(ms).toBeLessThan(TIMEOUT_MS + atMost(TIMEOUT_MS * 0.3))
  expect(await callText(client, 'cancelled')).toBe('1')
  const end = performance.now() + LATE_MS - TIMEOUT_MS + 200
  while (performance.now() < end) expect(await callText(client, 'quick')).toBe('quick')
  expect((await statusOf(admin, 'unruly')).state).toBe('online')
})

test('a server stands back behind the hub where both want the same processor', async () => {
  const { pid } = await statusOf(admin, 'echo')
  expect([processStat(hub.pid)?.niceness, processStat(pid ?? 0)?.niceness]).toEqual([0, 5])
})

beyondCore(() => {
  test('a child that is stopped misses its pings and is replaced', async () => {
    const client = await admin.mcp('/mcp/frozen')
    const old = (await statusOf(admin, 'frozen')).pid ?? 0
    process.kill(old, 'SIGSTOP')
    const status = await until(
      async () => {
        const now = await statusOf(admin, 'frozen')
        return now.state === 'online' && now.pid !== old ? now : undefined
      },
      { what: 'another process' },
    )
    expect(JSON.parse(await callText(client, 'whoami')).pid).toBe(status.pid)
    await until(() => processStat(old) === undefined, { what: 'the stopped process to be gone' })
  }, 120_000)

  test(`a line of ${LINE_MB} MB ends the only call, and the process and the memory of the hub stay`, async () => {
    const client = await admin.mcp('/mcp/long')
    const { pid } = await statusOf(admin, 'long')
    const resident = processStat(hub.pid)?.residentBytes ?? 0
    const failure = await failureOf(callText(client, 'line', { megabytes: LINE_MB }))
    expect(failure.data?.code).toBe('result_too_large')
    expect(failure.message).toContain('10485760')
    expect(await callText(client, 'quick')).toBe('quick')
    expect((await statusOf(admin, 'long')).pid).toBe(pid)
    // Memory held for the line is collected after a while.
    await until(() => (processStat(hub.pid)?.residentBytes ?? 0) - resident < 64 * MB, {
      timeoutMs: 60_000,
      what: 'the hub to hold at most 64 MB more',
    })
  }, 120_000)
})

test('a child that ignores TERM and the end of its input is gone within 5 s of a stop', async () => {
  const { pid } = await statusOf(admin, 'stubborn')
  const { ms } = await timed(async () => {
    await admin.ok('POST', '/api/servers/stubborn/stop')
    await until(() => !alive(pid ?? 0), { timeoutMs: 6_000, what: 'the process to be gone' })
  })
  expect(ms).toBeLessThan(atMost(5_000))
  await until(() => descendants(hub.pid).every(stat => stat.pid !== pid), { what: 'the process to be collected' })
  await admin.ok('POST', '/api/servers/stubborn/start?wait=30s')
  await online(admin, ['stubborn'])
}, 120_000)

test('a killed child fails its call within 100 ms, is not online within 1 s unless it is another process', async () => {
  const client = await admin.mcp('/mcp/long')
  const { pid } = await statusOf(admin, 'long')
  const call = failureOf(callText(client, 'late', { ms: 20_000 }))
  await atWork(admin, client)
  process.kill(pid ?? 0, 'SIGKILL')
  const { value: failure, ms } = await timed(() => call)
  expect([failure.code, failure.data?.code]).toEqual([-32603, 'connection_lost'])
  expect(ms).toBeLessThan(atMost(150))
  // The call fails first; the end of the process is known only when the system has reported it.
  const gone = async (): Promise<boolean> => {
    const status = await statusOf(admin, 'long')
    return status.state !== 'online' || status.pid !== pid
  }
  await until(gone, { timeoutMs: 1_000, what: 'the killed process not to be shown as online' })
  expect(await callText(client, 'quick')).toBe('quick')
}, 120_000)

async function settled(name: string): Promise<void> {
  const { since } = await statusOf(admin, name)
  await until(() => Date.now() - Date.parse(since) > SETTLED_MS, { timeoutMs: 60_000, intervalMs: 100 })
}

test('kill -9 of a stdio child: the same client session gets answers again within 1 s', async () => {
  const client = await admin.mcp('/mcp/g')
  await settled('echo')
  const before = JSON.parse(await callText(client, 'whoami'))
  process.kill(before.pid, 'SIGKILL')
  const start = performance.now()
  const after = await until(() => callText(client, 'whoami'), { intervalMs: 10 })
  const ms = performance.now() - start
  expect(JSON.parse(after).pid).not.toBe(before.pid)
  expect(ms).toBeLessThan(atMost(1_000))
}, 120_000)

test('a child that exits in the middle of a call fails that call alone and comes back', async () => {
  const client = await admin.mcp('/mcp/g')
  const [failure, echo] = await Promise.all([
    failureOf(callText(client, 'crash')),
    callText(client, 'echo', { text: 'unharmed' }),
  ])
  expect(failure.data?.code).toBe('connection_lost')
  expect(echo).toBe('unharmed')
  expect(Number(await until(() => callText(client, 'pid')))).toBeGreaterThan(0)
}, 120_000)

// The suite tries every third, by turns as objects to one server and as arrays to a group.
test.each(PLACES.filter((_, n) => extent(n % 3 === 0, true)))(
  "messages nested 200,000 levels (%s) cost their sender alone: a neighbour's call in flight is answered",
  async where => {
    const { pid } = await statusOf(admin, 'slow')
    const neighbour = await admin.mcp('/mcp/slow')
    const [path, kind] = PLACES.indexOf(where) % 2 === 0 ? ['/mcp/deep', 'objects'] : ['/mcp/all', 'arrays']
    for (const [at, of] of extent([[path, kind]], DEEP)) await sendDeep(neighbour, where, at, of)
    expect((await statusOf(admin, 'slow')).pid).toBe(pid as number)
    expect((await admin.request('GET', '/health')).status).toBe(200)
    expect(hub.unhandled()).toEqual([])
  },
  120_000,
)

async function sendDeep(neighbour: McpClient, where: string, path: string, kind: string): Promise<void> {
  const client = await admin.mcp(path)
  const waiting = callText(neighbour, 'wait', { ms: 150 })
  const options = { timeout: 10_000, onprogress: () => {} }
  const params = { name: 'deep', arguments: { where, kind, depth: 200_000 } }
  await client.callTool(params, undefined, options).catch((error: unknown) => error)
  expect(await waiting).toBe('waited 150')
  await online(admin, ['deep'])
}
