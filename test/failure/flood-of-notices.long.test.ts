import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient, SseReader } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { slowness } from '../support/work.ts'

const SESSIONS = extent(100, 200)
const STREAMS = 20
const FLOOD_MS = extent(1_000, 2_000)
/** Largest share of the main thread's time, while a server floods as fast as it can and all sessions are subscribed. */
const MOST = 0.2
const URI = 'test://resource'
/** The log's message about it. */
const DROPPED: Record<string, string> = { updates: ' notifications were dropped', logs: ' log messages were dropped' }
const UPDATED = 'notifications/resources/updated'

let hub: Hub
let admin: Client
let flooder: RawClient
const sessions: RawClient[] = []
/** For each stream the last update, and the number of updates. */
const streams: { readonly reader: SseReader; updates: number; last: unknown }[] = []

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { announcing: stdioFixture('announcing') } } })
  admin = await hub.setup()
  await online(admin, ['announcing'])
  const credential = await admin.mcpKey()
  flooder = await new RawClient(hub, '/mcp', credential).open()
  for (let n = 0; n < SESSIONS; n += 1) {
    const session = await new RawClient(hub, '/mcp', credential).open()
    sessions.push(session)
    expect((await session.call('resources/subscribe', { uri: URI })).result).toEqual({})
    if (n >= STREAMS) continue
    const stream = { reader: new SseReader(await session.get()), updates: 0, last: undefined as unknown }
    streams.push(stream)
    void follow(stream)
  }
}, 120_000)

afterAll(async () => {
  for (const { reader } of streams) await reader.close()
  await hub?.stop()
}, 120_000)

async function follow(stream: (typeof streams)[number]): Promise<void> {
  for (;;) {
    const message = await stream.reader.message()
    if (!message) return
    if (message.method !== UPDATED) continue
    stream.updates += 1
    stream.last = message.params?.marker
  }
}

/** Processor time of the hub's main thread alone, in milliseconds. */
function mainThreadMs(): number {
  const line = readFileSync(`/proc/${hub.pid}/task/${hub.pid}/stat`, 'latin1')
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function call(name: string, args: object): Promise<void> {
  // Log messages may come first, so that the answer is a stream.
  const answer = await (await flooder.send('tools/call', { name, arguments: args })).text()
  expect(answer).toContain('"result"')
}

test.each(
  extent(['updates', 'progress', 'logs', 'lists'], ['updates', 'others', 'elicitations', 'progress', 'logs', 'lists']),
)(
  'a flood of %s takes a bounded part of the main thread, however many sessions are open',
  async mode => {
    const beginMs = performance.now()
    await call('flood', { mode })
    const [ms, sinceMs] = [mainThreadMs(), performance.now()]
    // The span that is measured.
    await Bun.sleep(FLOOD_MS)
    const part = (mainThreadMs() - ms) / (performance.now() - sinceMs)
    await call('calm', {})
    console.log(`${mode}: ${(part * 100).toFixed(0)} % of the main thread`)
    expect(part).toBeLessThan(MOST * slowness())
    if (mode === 'updates') {
      await until(() => streams.every(({ updates }) => updates >= 5), { what: 'some updates on each stream' })
      // 2,000 notices at once and 2,000 a second, shared out among all.
      const most = (2_000 * (1 + (performance.now() - beginMs) / 1_000)) / SESSIONS + 2
      for (const { updates } of streams) expect(updates).toBeWithin(5, most)
    }
    const told = DROPPED[mode]
    if (told !== undefined) await until(() => hub.log().includes(told), { what: `the hub to log "${told}"` })
  },
  120_000,
)

test('the last update of a flood reaches all subscribers, and earlier ones are merged', async () => {
  for (const stream of streams) stream.updates = 0
  const updates = Array.from({ length: 300 }, (_, marker) => ({ uri: URI, marker }))
  await call('burst', { updates })
  await until(() => streams.every(({ last }) => last === 299), { timeoutMs: 60_000, what: 'the last update' })
  for (const { updates: heard } of streams) expect(heard).toBeLessThan(200)
}, 120_000)
