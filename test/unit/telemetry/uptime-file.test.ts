import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EventBus } from '../../../core/events/bus.ts'
import { Uptime } from '../../../core/telemetry/uptime.ts'
import { UPTIME_FILE, UptimeFile } from '../../../core/telemetry/uptime-file.ts'
import { atMost } from '../../support/pace.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const HOUR = 3_600_000
const START = Date.UTC(2026, 10, 22, 9, 30)
let folder = ''

beforeEach(async () => {
  folder = await makeTemp('uptime')
})
afterEach(() => removeTemp(folder))

/** Runs a hub once, at this time of the clock. */
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
    state(state: 'online' | 'offline', code?: 'crash_loop' | 'stopped', message = 'why', serverId = 's1') {
      const reason = code ? { reason: { code, message } } : {}
      bus.emit('connection.state', 'u1', { serverId, name: 'time', state, attempts: 0, ...reason })
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
    expect(broken.warnings).toEqual([expect.stringContaining('is counted from now on')])
    await broken.stop()
    const after = await run(START)
    expect(after.warnings).toEqual([])
    await after.stop()
  }
  await now.stop()
})

test('2,000 servers that flap with long reasons take a small file, and no turn that others would see', async () => {
  const flapping = await run(START)
  const ids = Array.from({ length: 2_000 }, (_, n) => `s${n}`)
  for (let change = 0; change < 60; change += 1) {
    flapping.wait(1_000)
    for (const id of ids)
      if (change % 2 === 0) flapping.state('online', undefined, '', id)
      else flapping.state('offline', 'crash_loop', 'x'.repeat(4_000), id)
  }
  let longest = 0
  let last = performance.now()
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 1)
  await flapping.stop()
  clearInterval(watch)
  console.log(`longest turn ${longest.toFixed(1)} ms, ${(await stat(join(folder, UPTIME_FILE))).size} bytes`)
  expect((await stat(join(folder, UPTIME_FILE))).size).toBeLessThan(40_000_000)
  expect(longest).toBeLessThan(atMost(50))
  const later = await run(START + HOUR)
  expect(later.warnings).toEqual([])
  expect(later.uptime.changes('s1999').length).toBe(50)
  await later.stop()
})
