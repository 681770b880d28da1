import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { atWork, callText, failureOf, online, statusOf } from '../support/servers.ts'
import { watchFor } from '../support/unharmed.ts'
import { until } from '../support/wait.ts'

/** A connection that was online for so long is made again at once when it is lost. */
const SETTLED_MS = 5_200

let hub: Hub
let admin: Client
let unharmed: () => Promise<void>

beforeAll(async () => {
  hub = await startHub({
    countTimers: true,
    settings: {
      mcpServers: {
        echo: stdioFixture('echo'),
        slow: stdioFixture('slow'),
        crashing: stdioFixture('crashing', { MODE: 'call' }),
      },
      groups: [{ name: 'g', servers: ['echo', 'slow', 'crashing'] }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo', 'slow', 'crashing'])
  for (const name of ['echo', 'slow', 'crashing']) {
    const { since } = await statusOf(admin, name)
    await until(() => Date.now() - Date.parse(since) > SETTLED_MS, { timeoutMs: 60_000, intervalMs: 100 })
  }
  unharmed = await watchFor(hub, admin)
}, 120_000)

afterEach(() => unharmed(), 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('kill -9 of a stdio child: the same client session gets answers again within 1 s', async () => {
  const client = await admin.mcp('/mcp/g')
  const before = JSON.parse(await callText(client, 'whoami'))
  process.kill(before.pid, 'SIGKILL')
  const start = performance.now()
  const after = await until(() => callText(client, 'whoami'), { intervalMs: 10 })
  const ms = performance.now() - start
  expect(JSON.parse(after).pid).not.toBe(before.pid)
  expect(ms).toBeLessThan(atMost(1_000))
}, 120_000)

test('a call in flight fails with connection_lost when its child is killed, and is not repeated', async () => {
  const client = await admin.mcp('/mcp/g')
  const { pid } = await statusOf(admin, 'slow')
  const call = failureOf(callText(client, 'wait', { ms: 20_000 }))
  // One that the process has not would go to the next one.
  await atWork(admin, client)
  const start = performance.now()
  process.kill(pid ?? 0, 'SIGKILL')
  const failure = await call
  expect(performance.now() - start).toBeLessThan(atMost(1_000))
  expect(failure.code).toBe(-32603)
  expect(failure.data?.code).toBe('connection_lost')
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
