import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { alive, descendants, processStat } from '../support/processes.ts'
import { atWork, callText, failureOf, online, statusOf } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { timed, until } from '../support/wait.ts'

const TIMEOUT_MS = atLeast(500)
/** When the answer comes that is too late for its call. */
const LATE_MS = 2 * TIMEOUT_MS
const MB = 1_000_000

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  hub = await startHub({
    countTimers: true,
    env: { WORKERS: '1' },
    settings: {
      mcpServers: {
        echo: stdioFixture('echo'),
        unruly: { ...stdioFixture('unruly'), timeout: TIMEOUT_MS },
        long: stdioFixture('unruly'),
        stubborn: stdioFixture('unruly', { STUBBORN: '1' }),
        frozen: { ...stdioFixture('echo'), healthCheck: { interval: 200, timeout: atLeast(500), retries: 2 } },
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo', 'unruly', 'long', 'stubborn', 'frozen'])
  await callText(await admin.mcp('/mcp/echo'), 'whoami')
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

afterEach(() => unharmed(), 120_000)

test('a call that runs out of time: upstream_timeout, the server is told, its late answer is dropped', async () => {
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

test('a line of 100 MB ends the only call, and the process and the memory of the hub stay', async () => {
  const client = await admin.mcp('/mcp/long')
  const { pid } = await statusOf(admin, 'long')
  const resident = processStat(hub.pid)?.residentBytes ?? 0
  const failure = await failureOf(callText(client, 'line', { megabytes: 100 }))
  expect(failure.data?.code).toBe('result_too_large')
  expect(failure.message).toContain('10485760')
  expect(await callText(client, 'quick')).toBe('quick')
  expect((await statusOf(admin, 'long')).pid).toBe(pid)
  // What was held for the line is collected in a while.
  await until(() => (processStat(hub.pid)?.residentBytes ?? 0) - resident < 64 * MB, {
    timeoutMs: 60_000,
    what: 'the hub to hold at most 64 MB more',
  })
}, 120_000)

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
  expect(failure.data?.code).toBe('connection_lost')
  expect(ms).toBeLessThan(atMost(150))
  // The call knows first; that the process has ended is known when the system has said so.
  const gone = async (): Promise<boolean> => {
    const status = await statusOf(admin, 'long')
    return status.state !== 'online' || status.pid !== pid
  }
  await until(gone, { timeoutMs: 1_000, what: 'the killed process not to be shown as online' })
  expect(await callText(client, 'quick')).toBe('quick')
})
