/** The disk of the history takes longer to confirm a write than its thread may take. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { watchLatency } from '../support/latency-watch.ts'
import { atLeast } from '../support/pace.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'
import { whileSyncsAre } from './fixtures/syncs.ts'

/** Longest time of a call in milliseconds. One that waited for the disk would take longer. */
const SLOW_MS = atLeast(1_000)
/** Time that the disk takes. The thread of the history is ended after 10 s without an answer. */
const STUCK_MS = 15_000

let hub: Hub
let admin: Client
let folder = ''

beforeAll(async () => {
  folder = await makeTemp('slow-disk')
  hub = await startHub({ settings: { mcpServers: { echo: known('echo') } } })
  admin = await hub.setup()
  await online(admin, ['echo'])
}, 120_000)

afterAll(async () => {
  await hub.stop()
  await removeTemp(folder)
}, 120_000)

test('a disk that takes longer than the history may: its thread is ended later, and calls continue', async () => {
  const caller = await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open()
  const { headers } = caller
  const history = async () => (await admin.request('GET', '/health')).json.checks.history
  const call = { tool: 'echo', args: { text: 'x' } }
  await until(async () => (await history()) === 'ok', { timeoutMs: 60_000, what: 'the history to store all' })
  await whileSyncsAre(`delay_enter=${STUCK_MS * 1_000}`, { pid: hub.pid, folder }, async () => {
    const watch = await watchLatency({ url: `${hub.url}/mcp/echo`, headers, everyMs: 50, call })
    // The thread has numbers to store, and is to be ended after 10 seconds without an answer.
    await until(async () => (await history()) === 'paused', { timeoutMs: 60_000, what: 'the thread to be given up' })
    await Bun.sleep(2_000)
    const latencies = await watch.stop()
    expect(latencies.length).toBeGreaterThan(50)
    expect(Math.max(...latencies)).toBeLessThan(SLOW_MS)
  })
  await until(async () => (await history()) === 'ok', { timeoutMs: 60_000, what: 'the history to store again' })
}, 180_000)
