import { median } from '../bench/rounds.ts'
import { footprint } from '../support/footprint.ts'
import type { Hub } from '../support/hub.ts'
import { processStat } from '../support/processes.ts'
import { until } from '../support/wait.ts'

export interface Sample {
  readonly calls: number
  readonly residentBytes: number
  /** Live objects of the hub's main thread. */
  readonly heapBytes: number
  /** Live objects of its worker threads together. */
  readonly workerHeapBytes: number
  /** Timers that are set in the hub's main thread. */
  readonly timers: number
  readonly descriptors: number
  readonly children: number
}

/**
 * The hub at rest: garbage is collected by force in all its threads, and the smallest of several measurements counts, since
 * temporary objects only add to the memory that is kept.
 */
export async function measure(hub: Hub, calls: number, times: number): Promise<Sample> {
  const looks: Sample[] = []
  for (let look = 0; look < times; look += 1) {
    looks.push(await lookAt(hub, calls))
    await Bun.sleep(200)
  }
  const least = (pick: (sample: Sample) => number): number => Math.min(...looks.map(pick))
  return {
    calls,
    residentBytes: least(sample => sample.residentBytes),
    heapBytes: least(sample => sample.heapBytes),
    workerHeapBytes: least(sample => sample.workerHeapBytes),
    timers: least(sample => sample.timers),
    descriptors: least(sample => sample.descriptors),
    children: least(sample => sample.children),
  }
}

async function lookAt(hub: Hub, calls: number): Promise<Sample> {
  const answers = (): string[] => [...hub.log().matchAll(/^PROBE (\{.*\})$/gm)].map(match => match[1] ?? '')
  const before = answers().length
  process.kill(hub.pid, 'SIGUSR2')
  const answer = await until(() => answers()[before], { timeoutMs: 10_000, what: 'the answer of the probe' })
  const { descriptors, children } = footprint(hub.pid)
  const residentBytes = processStat(hub.pid)?.residentBytes ?? 0
  return {
    ...(JSON.parse(answer) as Pick<Sample, 'heapBytes' | 'workerHeapBytes' | 'timers'>),
    calls,
    residentBytes,
    descriptors,
    children,
  }
}

/**
 * Growth of a value in this many calls: the median of the slopes between all pairs of samples (Theil and Sen), which a single
 * high sample does not move.
 */
export function slope(samples: readonly Sample[], pick: (sample: Sample) => number, calls: number): number {
  const slopes = samples.flatMap((one, index) =>
    samples.slice(index + 1).map(other => (pick(other) - pick(one)) / (other.calls - one.calls)),
  )
  return median(slopes) * calls
}
