import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EventBus } from '../../../core/events/bus.ts'
import { Uptime } from '../../../core/telemetry/uptime.ts'
import { UPTIME_FILE, UptimeFile } from '../../../core/telemetry/uptime-file.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 10, 22, 9, 30)
let folder = ''

beforeEach(async () => {
  folder = await makeTemp('uptime')
})
afterEach(() => removeTemp(folder))

/** One run of a hub at a time of the clock. */
async function run(startMs: number) {
  const bus = new EventBus(error => {
    throw error
  })
  let nowMs = startMs
  const uptime = new Uptime(bus, () => nowMs)
  const warnings: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) }
  const file = await UptimeFile.open(folder, uptime, log)
  return {
    ...{ uptime, warnings },
    state(state: 'online' | 'offline', code?: 'crash_loop' | 'stopped') {
      const reason = code ? { reason: { code, message: 'why' } } : {}
      bus.emit('connection.state', 'u1', { serverId: 's1', name: 'time', state, attempts: 0, ...reason })
    },
    wait(ms: number) {
      nowMs += ms
    },
    stop: () => file[Symbol.asyncDispose](),
  }
}

test('the times and changes of the last day outlive a restart, and the time between counts for nothing', async () => {
  const first = await run(START)
  first.state('online')
  first.wait(HOUR)
  first.state('offline', 'crash_loop')
  first.wait(HOUR)
  await first.stop()
  const second = await run(START + 7 * HOUR)
  expect(second.uptime.ratio('s1')).toBe(0.5)
  expect(second.uptime.changes('s1')).toEqual(first.uptime.changes('s1'))
  second.state('online')
  second.wait(2 * HOUR)
  expect(second.uptime.ratio('s1')).toBe(0.75)
  await second.stop()
  const nextDay = await run(START + 40 * HOUR)
  expect(nextDay.uptime.ratio('s1')).toBeUndefined()
  await nextDay.stop()
  expect((await stat(join(folder, UPTIME_FILE))).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual([UPTIME_FILE])
})

test('a file of an earlier day, of a clock ahead, or that is broken, is no obstacle', async () => {
  const ahead = await run(START + 5 * HOUR)
  ahead.state('online')
  ahead.wait(HOUR)
  await ahead.stop()
  const now = await run(START)
  expect(now.uptime.ratio('s1')).toBeUndefined()
  expect(now.warnings).toEqual([])
  for (const text of ['', '{', '[]', '{"s1":{"hours":[{"number":1,"onlineMs":1e9,"downMs":0}],"changes":[]}}']) {
    await writeFile(join(folder, UPTIME_FILE), text)
    const broken = await run(START)
    expect(broken.warnings).toEqual([expect.stringContaining('begins anew')])
    await broken.stop()
    const after = await run(START)
    expect(after.warnings).toEqual([])
    await after.stop()
  }
  await now.stop()
})
