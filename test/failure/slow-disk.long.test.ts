/** The disk of the history takes longer to confirm a write than its thread may take. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { watchLatency } from '../support/latency-watch.ts'
import { atLeast } from '../support/pace.ts'
import { until } from '../support/wait.ts'
import { SlowDiskHub } from './fixtures/slow-disk-hub.ts'
import { whileSyncsAre } from './fixtures/syncs.ts'

/** Longest time of a call in milliseconds. One that waited for the disk would take longer. */
const SLOW_MS = atLeast(1_000)
/** Time that the disk takes. The thread of the history is ended after 10 s without an answer. */
const STUCK_MS = 15_000
const CALL = { tool: 'echo', args: { text: 'x' } }
/** Calls after the thread was given up, while the disk still takes its time. */
const CALLS_AFTER = 40

let slow: SlowDiskHub
beforeAll(async () => {
  slow = await SlowDiskHub.start()
}, 120_000)
afterAll(() => slow.stop(), 120_000)

test('a disk that takes longer than the history may: its thread is ended later, and calls continue', async () => {
  const { hub, admin, folder } = slow
  const caller = await slow.caller()
  const { headers } = caller
  const history = async () => (await admin.request('GET', '/health')).json.checks.history
  await until(async () => (await history()) === 'ok', { timeoutMs: 60_000, what: 'the history to store all' })
  await whileSyncsAre(`delay_enter=${STUCK_MS * 1_000}`, { pid: hub.pid, folder }, async () => {
    const watch = await watchLatency({ url: `${hub.url}/mcp/echo`, headers, everyMs: 50, call: CALL })
    // The thread has numbers to store, and is to be ended after 10 seconds without an answer.
    await until(async () => (await history()) === 'paused', { timeoutMs: 60_000, what: 'the thread to be given up' })
    for (let call = 0; call < CALLS_AFTER; call += 1)
      await caller.call('tools/call', { name: CALL.tool, arguments: CALL.args })
    const latencies = await watch.stop()
    expect(latencies.length).toBeGreaterThan(50)
    expect(Math.max(...latencies)).toBeLessThan(SLOW_MS)
  })
  await until(async () => (await history()) === 'ok', { timeoutMs: 60_000, what: 'the history to store again' })
}, 180_000)
