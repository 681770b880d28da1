/**
 * One user, or nobody, opens connections as fast as they are answered. The runtime serves all waiting ones in one turn of the
 * event loop, so without a bound, the connections of others are served only when this one stops.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { calmHealth, type HealthFigures, healthDuring, slowerThanCalm } from '../support/health-watch.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { MOST_MS, memorySlowness, slowness } from '../support/work.ts'

const CONNECTIONS = 40
const SECONDS = extent(2, 10)
const STRANGERS = 400
const CUT_OFF_MS = 30
const MESSAGE_BYTES = 1_000_000
const RESIDENT_MIB = 600
const EXPECTED = ['200', '400', '401', '429', '503', 'TimeoutError']
/** A collection of memory may fall into a turn, and make it half as long again. */
const COLLECTION = 1.5

let hub: Hub
let mallory: Client
let calm: HealthFigures
let slow = 1

beforeAll(async () => {
  hub = await startHub({ watchTurns: true })
  mallory = await hub.user('mallory')
  calm = await calmHealth(hub)
  slow = Math.max(slowness(), memorySlowness())
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Sends it from a separate process, since sending this much would slow the test's own measurement down. */
async function flood(connections: number, request: object): Promise<Record<string, number>> {
  const script = new URL('./repeat-requests.ts', import.meta.url).pathname
  const program = [process.execPath, script, hub.url, String(connections), String(SECONDS)]
  const child = Bun.spawn(program, { stdin: new Blob([JSON.stringify(request)]), stdout: 'pipe' })
  const answers = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>
  expect(await child.exited).toBe(0)
  return answers
}

const json = { 'content-type': 'application/json' }
const unknown = { authorization: `Bearer pb_${'x'.repeat(40)}`, ...json }
const own = () => ({ authorization: `Bearer ${mallory.token}`, ...json })
const crowd = Object.fromEntries(Array.from({ length: 9_900 }, (_, at) => [`unknown${at}`, 1]))
const fields = () => ({ method: 'POST', path: '/api/servers', headers: own(), body: JSON.stringify(crowd) })
const message = async () => ({
  headers: {
    authorization: `Bearer ${await mallory.mcpKey()}`,
    accept: 'application/json, text/event-stream',
    ...json,
  },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { text: 'x'.repeat(MESSAGE_BYTES) } }),
})

/** The name, the number of connections at a time, and the request. */
type Attack = readonly [string, number, () => object | Promise<object>]
const ATTACKS: readonly Attack[] = [
  ['9,900 unknown fields', CONNECTIONS, fields],
  ['9,900 unknown fields, every second one cut off', CONNECTIONS, () => ({ ...fields(), cutOffMs: CUT_OFF_MS })],
  ['own limits', CONNECTIONS, () => ({ method: 'GET', path: '/api/limits', headers: own() })],
  ['a wrong credential', STRANGERS, () => ({ method: 'GET', path: '/api/auth/me', headers: unknown })],
  ['messages with a wrong one', STRANGERS, () => ({ method: 'POST', path: '/mcp/x', headers: unknown, body: '{}' })],
  // In the whole form alone: a machine whose memory is slow has turns of 0.1 s beside these, and p99 at its bound.
  ...extent<readonly Attack[]>(
    [],
    [['messages of 1 MB', CONNECTIONS, async () => ({ method: 'POST', path: '/mcp', ...(await message()) })]],
  ),
]

/** Floods the hub once; returns the figures that are over the bounds, as texts. */
async function measured(connections: number, sent: object): Promise<readonly string[]> {
  await hub.longestTurnMs()
  let answers: Record<string, number> = {}
  const seen = await healthDuring(hub, async () => {
    answers = await flood(connections, sent)
  })
  const longestTurnMs = await hub.longestTurnMs()
  console.log(JSON.stringify({ ...seen, longestTurnMs, of: answers }))
  expect(Object.keys(answers).filter(answer => !EXPECTED.includes(answer))).toEqual([])
  const given = Object.values(answers).reduce((sum, count) => sum + count, 0)
  // Each connection was followed by another.
  expect(given).toBeGreaterThan(2 * connections)
  expect(seen.residentMiB).toBeLessThan(RESIDENT_MIB)
  const mostMs = MOST_MS * COLLECTION * slow
  const turn = longestTurnMs < mostMs ? [] : [`a turn of ${longestTurnMs} ms, allowed ${mostMs.toFixed(0)}`]
  return [...turn, ...(await slowerThanCalm(hub, seen, calm))]
}

test.each(ATTACKS)(
  'new connections without end: %s',
  async (_, connections, request) => {
    const sent = await request()
    const slower = await measured(connections, sent)
    // Other work on the machine can make one run slow, and does not make the next one slow as well.
    if (slower.length > 0) expect({ slower, again: await measured(connections, sent) }).toEqual({ slower, again: [] })
  },
  120_000,
)
