/** The disk of the store takes long to confirm a change, or refuses to: only the one who makes the change waits. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { watchLatency } from '../support/latency-watch.ts'
import { atLeast } from '../support/pace.ts'
import { callText } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { SlowDiskHub } from './fixtures/slow-disk-hub.ts'
import { whileSyncsAre } from './fixtures/syncs.ts'

/** Time that the disk takes, in milliseconds. A call that waited for it would take as long. */
const SLOW_MS = atLeast(1_000)
/** The same for a thread that is ended meanwhile. */
const STUCK_MS = 30_000

let slow: SlowDiskHub
beforeAll(async () => {
  slow = await SlowDiskHub.start()
}, 120_000)
afterAll(() => slow.stop(), 120_000)

test('a slow disk delays who changes something, and no call', async () => {
  const { hub, admin, folder } = slow
  const caller = await slow.caller()
  const ids = await whileSyncsAre(`delay_enter=${SLOW_MS * 1_000}`, { pid: hub.pid, folder }, async () => {
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

test('a thread that waits for the disk is ended when the disk has answered, and its owner does not wait', async () => {
  const program = join(import.meta.dir, 'fixtures/ends-syncing-thread.ts')
  const { folder } = slow
  const child = Bun.spawn([process.execPath, program, join(folder, 'synced')], {
    ...{ stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  })
  const output = { text: '' }
  const read = (async () => {
    for await (const chunk of child.stdout) output.text += new TextDecoder().decode(chunk)
  })()
  await until(() => output.text.includes('ready'))
  // The disk answers when strace ends, as soon as the owner has continued.
  await whileSyncsAre(`delay_enter=${STUCK_MS * 1_000}`, { pid: child.pid, folder }, async () => {
    child.stdin.write('x')
    await child.stdin.flush()
    await until(() => output.text.includes(' ms\n'), { what: 'the owner to continue' })
    expect(output.text).not.toContain('ended')
  })
  expect(await child.exited).toBe(0)
  await read
  expect(output.text).toEndWith('ended\n')
  expect(Number(/([\d.]+) ms/.exec(output.text)?.[1])).toBeLessThan(STUCK_MS / 2)
}, 120_000)

test('a change that the disk does not confirm is refused with that reason, calls continue, and later changes succeed', async () => {
  const { hub, admin, folder } = slow
  const mcp = await admin.mcp('/mcp/echo')
  await whileSyncsAre('error=EIO', { pid: hub.pid, folder }, async () => {
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
  await slow.restart()
  expect(await slow.admin.ok('GET', '/api/settings')).toMatchObject({ theme: 'dark', language: 'zh' })
}, 120_000)
