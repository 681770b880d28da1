/** The disk of the store takes long to confirm a change, or refuses to: only the one who makes the change waits. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { watchLatency } from '../support/latency-watch.ts'
import { atLeast } from '../support/pace.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const SYNCS = 'fsync,fdatasync'
/** Time that the disk takes, in milliseconds. A call that waited for it would take as long. */
const SLOW_MS = atLeast(1_000)
/** The same for the history, whose thread is ended after 10 s without an answer. */
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

/** While `work` runs, strace changes each sync of the hub as `how` says. Returns the ids of the threads that asked for one. */
async function syncsAre(how: string, work: () => Promise<void>): Promise<readonly number[]> {
  const lines = join(folder, `${how.replace(/\W/g, '-')}.txt`)
  const strace = Bun.spawn(
    [
      ...['strace', '-f', '-o', lines, '-e', `trace=${SYNCS}`, '-e', `inject=${SYNCS}:${how}`],
      ...['-p', String(hub.pid)],
    ],
    { stdout: 'ignore', stderr: 'pipe' },
  )
  const said = strace.stderr.getReader()
  // It says so once all threads are attached.
  expect(new TextDecoder().decode((await said.read()).value)).toContain('attached')
  try {
    await work()
  } finally {
    strace.kill('SIGINT')
    await strace.exited
  }
  const traced = (await Bun.file(lines).text()).split('\n').filter(line => /^\d+ +(?:fsync|fdatasync)\(/.test(line))
  return traced.map(line => Number.parseInt(line, 10))
}

test('a slow disk delays who changes something, and no call', async () => {
  const caller = await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open()
  const ids = await syncsAre(`delay_enter=${SLOW_MS * 1_000}`, async () => {
    const { headers } = caller
    const watch = await watchLatency({
      url: `${hub.url}/mcp/echo`,
      headers,
      everyMs: 10,
      call: { tool: 'echo', args: { text: 'x' } },
    })
    for (const theme of ['dark', 'light']) {
      const startedMs = performance.now()
      await admin.ok('PATCH', '/api/settings', { theme })
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(SLOW_MS)
    }
    const latencies = await watch.stop()
    expect(latencies.length).toBeGreaterThan(50)
    expect(Math.max(...latencies)).toBeLessThan(SLOW_MS)
  })
  expect(ids.length).toBeGreaterThanOrEqual(2)
  // The id of the main thread is that of the process.
  expect(ids).not.toContain(hub.pid)
}, 120_000)

test('a disk that takes longer than the history may: its thread is ended later, and calls continue', async () => {
  const caller = await new RawClient(hub, '/mcp/echo', await admin.mcpKey()).open()
  const { headers } = caller
  const history = async () => (await admin.request('GET', '/health')).json.checks.history
  const call = { tool: 'echo', args: { text: 'x' } }
  await until(async () => (await history()) === 'ok', { timeoutMs: 60_000, what: 'the history to store all' })
  await syncsAre(`delay_enter=${STUCK_MS * 1_000}`, async () => {
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

test('a change that the disk does not confirm is refused with that reason, calls continue, and later changes succeed', async () => {
  const mcp = await admin.mcp('/mcp/echo')
  await syncsAre('error=EIO', async () => {
    const { status, json } = await admin.request('PATCH', '/api/settings', { theme: 'dark' })
    expect([status, json]).toMatchObject([503, { code: 'storage_unavailable' }])
    const refused = await admin.request('PATCH', '/api/settings', { language: 'zh' })
    expect([refused.status, refused.json]).toMatchObject([503, { code: 'storage_unavailable' }])
    expect(await callText(mcp, 'echo', { text: 'still here' })).toContain('still here')
    expect(await admin.ok('GET', '/api/settings')).toMatchObject({ theme: 'dark', language: 'en' })
  })
  await until(async () => (await admin.request('PATCH', '/api/settings', { language: 'zh' })).status === 200, {
    timeoutMs: 10_000,
    what: 'the disk to confirm changes again',
  })
  await hub.stop({ keep: true })
  hub = await startHub({ folder: hub.folder })
  admin = await hub.signIn('admin')
  expect(await admin.ok('GET', '/api/settings')).toMatchObject({ theme: 'dark', language: 'zh' })
}, 120_000)
