/** 20,000 records a second: the file has every one, the database has its share and exact counts of the others, calls continue. */
import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { extent } from '../support/extent.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const PER_SECOND = 20_000
const SECONDS = extent(2, 60)
const FLOOD = { use: join(import.meta.dir, 'fixtures/flood.ts'), isolate: false }
/** Largest ratio to the calm p99: the flood takes a good part of the main thread, and of the second processor. */
const SLOWER = 5

async function start(env: Record<string, string>, file?: string): Promise<Hub> {
  return startHub({
    env: { ...env, ...(file ? { LOG_FILE: file, LOG_MAX_SIZE: '20MB', LOG_MAX_FILES: '10000' } : {}) },
    settings: { mcpServers: { echo: stdioFixture('echo') }, plugins: [FLOOD] },
  })
}

/** Milliseconds of calls, one after the other, until `over`. */
async function times(hub: Hub, over: () => boolean): Promise<number[]> {
  const admin = await hub.signIn('admin')
  const client = await admin.mcp('/mcp/echo')
  const found: number[] = []
  while (!over()) {
    const startedMs = performance.now()
    await callText(client, 'echo', { text: 'x' })
    found.push(performance.now() - startedMs)
  }
  return found.toSorted((a, b) => a - b)
}
const p99 = (sorted: readonly number[]): number => sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0

test(
  'nothing is lost without being counted, and calls are answered meanwhile',
  async () => {
    const folder = await makeTemp('flood')
    // Both start at the same time; the one that is not measured rests.
    const [calmHub, hub] = await Promise.all([
      start({ LOG_LEVEL: 'error', LOG_DATABASE: 'false' }),
      start({}, join(folder, 'hub.log')),
    ])
    try {
      await Promise.all([calmHub, hub].map(async each => online(await each.setup(), ['echo'])))
      const endMs = performance.now() + SECONDS * 1_000
      const calm = await times(calmHub, () => performance.now() > endMs)
      await calmHub.stop()
      const admin = await hub.setup()
      let over = false
      const flooding = admin
        .ok('POST', `/api/plugins/flood/start?perSecond=${PER_SECOND}&seconds=${SECONDS}`)
        .finally(() => {
          over = true
        })
      const busy = await times(hub, () => over)
      const { total, ms } = await flooding
      expect(total).toBe(PER_SECOND * SECONDS)
      const sinks = await until(
        async () => {
          const { sinks: all } = await admin.ok('GET', '/api/admin/logging')
          return all.every(({ waiting }: { waiting: number }) => waiting < 100) ? all : undefined
        },
        { timeoutMs: 60_000, what: 'the sinks to take what waits' },
      )
      const [file, database] = ['file', 'database'].map(id => sinks.find((sink: { id: string }) => sink.id === id))
      const lost = (Object.values(database.dropped) as number[]).reduce((sum, count) => sum + count, 0)
      await hub.stop()
      const numbers = await numbersIn(folder)
      const [quiet, loud] = [p99(calm), p99(busy)]
      console.log(
        `${total} records in ${ms} ms: ${numbers.size} in the file, ${database.sent} stored, ${lost} dropped by the database; ` +
          `${calm.length} calls with p99 ${quiet.toFixed(2)} ms without logging, ${busy.length} with ${loud.toFixed(2)} ms: ${(loud / quiet).toFixed(2)} times`,
      )
      expect(numbers.size).toBe(total)
      expect(Object.values(file.dropped)).toEqual([0, 0, 0])
      expect(database.sent + database.waiting + lost).toBeGreaterThanOrEqual(total)
      expect(ms).toBeLessThan(atMost(SECONDS * 1_500))
      expect(loud).toBeLessThanOrEqual(Math.max(atMost(20), SLOWER * quiet))
    } finally {
      await Promise.all([calmHub.stop(), hub.stop()])
      await removeTemp(folder)
    }
  },
  extent(90_000, 400_000),
)

/** The numbers of the flood in the log file and in the old ones. */
async function numbersIn(folder: string): Promise<Set<number>> {
  const found = new Set<number>()
  for (const name of await readdir(folder)) {
    if (!name.startsWith('hub')) continue
    const bytes = await Bun.file(join(folder, name)).bytes()
    const text = name.endsWith('.gz') ? gunzipSync(bytes).toString() : new TextDecoder().decode(bytes)
    for (const line of text.split('\n')) {
      const [, n] = line.includes('"message":"flood"') ? (/"n":(\d+)/.exec(line) ?? []) : []
      if (n !== undefined) found.add(Number(n))
    }
  }
  return found
}
