/** One address that tries random access keys as fast as it can must not slow others down. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { calmHealth, healthDuring, slowerThanCalm } from '../support/health-watch.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'

/** Keys tried a second, as seen in an attack, and for how long. */
const PER_SECOND = 4_500
const SECONDS = 3
/** Twice the calm run's is allowed; less than these a busy machine with two cores cannot tell apart. */
const FLOOR_MS = { p50: 10, p99: 60 }
/** The most that all counters together may add. */
const MORE_MIB = 150

let hub: Hub
let person: Client

beforeAll(async () => {
  hub = await startHub({ env: { TRUSTED_PROXIES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' } })
  person = await hub.setup()
}, 30_000)

afterAll(async () => {
  await hub?.stop()
}, 40_000)

interface Tally {
  readonly answers: Record<string, number>
  /** Requests a second that the attack came to. */
  readonly perSecond: number
}

/** Runs the attack in a process of its own, since a test that sends so much would slow its own measurement down. */
async function attack(): Promise<Tally> {
  const script = new URL('./try-keys.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, hub.url, String(PER_SECOND), String(SECONDS)], { stdout: 'pipe' })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return JSON.parse(text) as Tally
}

/** How long somebody else's requests take while `work` runs, in milliseconds. */
async function othersDuring(work: () => Promise<unknown>): Promise<{ readonly p50: number; readonly p99: number }> {
  let running = true
  const latencies: number[] = []
  const asking = (async () => {
    while (running) {
      const startedMs = performance.now()
      const { status } = await person.request('GET', '/api/auth/me', undefined, { 'x-forwarded-for': '198.51.100.200' })
      latencies.push(performance.now() - startedMs)
      expect(status).toBe(200)
      // Under the rate that one person has.
      await Bun.sleep(25)
    }
  })()
  await work()
  running = false
  await asking
  latencies.sort((left, right) => left - right)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.POSITIVE_INFINITY
  return { p50: at(0.5), p99: at(0.99) }
}

test('4,500 random keys a second from one address slow nobody else down', async () => {
  const calm = await calmHealth(hub)
  const before = await othersDuring(() => Bun.sleep(2_000))
  let tally: Tally | undefined
  let others = before
  const during = await healthDuring(hub, async () => {
    others = await othersDuring(async () => {
      tally = await attack()
    })
  })
  console.log(`random keys: ${JSON.stringify({ ...tally, before, others, calm, during })}`)
  expect(tally?.perSecond).toBeGreaterThan(PER_SECOND / 3)
  // Nearly all are refused before anything is looked up.
  expect(Object.keys(tally?.answers ?? {}).sort()).toEqual(['401', '429'])
  expect(tally?.answers['401']).toBeLessThan(300)
  expect(await slowerThanCalm(hub, during, calm)).toEqual([])
  expect(during.residentMiB - calm.residentMiB).toBeLessThan(MORE_MIB)
  expect(others.p50).toBeLessThan(Math.max(2 * before.p50, FLOOR_MS.p50))
  expect(others.p99).toBeLessThan(Math.max(2 * before.p99, FLOOR_MS.p99))
}, 30_000)
