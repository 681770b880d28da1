import { givingWay } from './give-way.ts'
import type { Hub } from './hub.ts'
import { type LatencyWatchStart, watchLatency } from './latency-watch.ts'
import { processStat } from './processes.ts'
import { memorySlowness } from './work.ts'

const P99_MS = 50
const WORST_MS = 150
/** A write waits for those that came before, and for the disk. */
const WORST_WRITE_MS = 250
/** A machine that is busy with other work is slow by itself: then the bounds grow with its calm run. */
const TIMES_CALM = 5
/** Least number of answers for a p99: with fewer it would be the slowest of them, which has a bound of its own. */
const LEAST_ANSWERS = 100
/** Pause between two requests, and between two measurements of the memory, in milliseconds. */
const INTERVAL_MS = 20
/** Pause between two writes of one user, whose requests are sent one after the other, in milliseconds. */
const WRITE_MS = 100
const MIB = 2 ** 20

/** Response times of requests. */
export interface Latencies {
  readonly answers: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly worstMs: number
}

/** Response times of `/health`, and memory of the hub. */
export interface HealthFigures extends Latencies {
  /** Response times of a user who changed a server, own settings and the own session all the time. */
  readonly writes: Latencies
  /** The most that was resident at any time. */
  readonly residentMiB: number
}

/** The writing client of each hub. */
const neighbours = new WeakMap<Hub, Promise<LatencyWatchStart>>()

/**
 * Requests `/health` every 20 ms from another process while `work` runs, and writes every 100 ms as a user of its own, `neighbour`. A
 * request that fails counts as 60 s.
 */
export async function healthDuring(hub: Hub, work: () => Promise<unknown>): Promise<HealthFigures> {
  const watch = await watchLatency({ url: `${hub.url}/health`, everyMs: INTERVAL_MS })
  const writes = await watchLatency(await neighbourOf(hub))
  let resident = residentMiB(hub)
  const sampling = setInterval(() => {
    resident = Math.max(resident, residentMiB(hub))
  }, INTERVAL_MS)
  let seen: readonly (readonly number[])[] = []
  try {
    await givingWay(work)
  } finally {
    clearInterval(sampling)
    seen = await Promise.all([watch.stop(), writes.stop()])
  }
  const [health = [], written = []] = seen
  return { ...latenciesOf(health), writes: latenciesOf(written), residentMiB: Math.max(resident, residentMiB(hub)) }
}

function neighbourOf(hub: Hub): Promise<LatencyWatchStart> {
  const known = neighbours.get(hub) ?? newNeighbour(hub)
  neighbours.set(hub, known)
  return known
}

async function newNeighbour(hub: Hub): Promise<LatencyWatchStart> {
  const neighbour = await hub.user('neighbour')
  await neighbour.ok('POST', '/api/servers', { name: 'changed', url: 'https://never.example/', enabled: false })
  return {
    ...{ url: hub.url, everyMs: WRITE_MS, headers: { authorization: `Bearer ${neighbour.token}` } },
    requests: [
      { method: 'PATCH', path: '/api/servers/changed', body: '{"description":"{n}"}' },
      { method: 'PATCH', path: '/api/settings', body: '{"theme":"dark"}' },
      { method: 'POST', path: '/api/auth/refresh', body: '' },
    ],
  }
}

/** The figures of an idle hub, over `durationMs`, 2,000 by default. */
export function calmHealth(hub: Hub, durationMs = 2_000): Promise<HealthFigures> {
  return healthDuring(hub, () => Bun.sleep(durationMs))
}

/**
 * Returns the figures above the bounds, as texts; empty if there are none. The p99 may be 50 ms and the worst 150 ms, of writes
 * 250 ms, or five times the calm run's, whichever is more. With fewer than 100 answers only the worst is checked. `slow`: factor
 * by which the machine is slower than wanted.
 */
export function slowerThanAllowed(during: HealthFigures, calm: HealthFigures, slow = 1): string[] {
  return [
    ...overBounds('/health', during, calm, WORST_MS, slow),
    ...overBounds("others' writes", during.writes, calm.writes, WORST_WRITE_MS, slow),
  ]
}

function overBounds(what: string, during: Latencies, calm: Latencies, worstMs: number, slow: number): string[] {
  const p99 = Math.max(P99_MS * slow, TIMES_CALM * calm.p99Ms)
  const worst = Math.max(worstMs * slow, TIMES_CALM * calm.worstMs)
  return [
    ...(during.answers >= LEAST_ANSWERS && during.p99Ms > p99
      ? [`${what}: p99 ${during.p99Ms.toFixed(0)} ms, allowed ${p99.toFixed(0)}`]
      : []),
    ...(during.worstMs > worst ? [`${what}: worst ${during.worstMs.toFixed(0)} ms, allowed ${worst.toFixed(0)}`] : []),
  ]
}

/**
 * The same; if figures are above the bounds, the calm run is repeated: other work that slows this machine down now may have
 * begun after the first one. Megabytes sent by one user need new memory, which a machine may be slow to allocate and which no
 * calm run needs.
 */
export async function slowerThanCalm(hub: Hub, during: HealthFigures, calm: HealthFigures): Promise<string[]> {
  if (slowerThanAllowed(during, calm).length === 0) return []
  const now = await calmHealth(hub)
  const slower = { ...now, ...slowerOf(now, calm), writes: slowerOf(now.writes, calm.writes) }
  return slowerThanAllowed(during, slower, memorySlowness())
}

/** Resident memory of the hub's process now. */
export function residentMiB(hub: Hub): number {
  return (processStat(hub.pid)?.residentBytes ?? 0) / MIB
}

function slowerOf(one: Latencies, other: Latencies): Latencies {
  return { ...one, p99Ms: Math.max(one.p99Ms, other.p99Ms), worstMs: Math.max(one.worstMs, other.worstMs) }
}

/** Figures of latencies in milliseconds, in any order. */
export function latenciesOf(latencies: readonly number[]): Latencies {
  const sorted = latencies.toSorted((left, right) => left - right)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
  return { answers: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: sorted.at(-1) ?? 0 }
}
