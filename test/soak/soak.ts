import { Callers } from './callers.ts'
import { FaultMaker } from './faults.ts'
import { measure, type Sample, slope } from './measure.ts'
import { SoakHub } from './soak-hub.ts'

export interface SoakPlan {
  readonly calls: number
  readonly seed: number
  /** Calls alone. Default false. */
  readonly quiet?: boolean
  /** Ends the calls earlier, after this many milliseconds. */
  readonly limitMs?: number
  readonly report?: (line: string) => void
  /** Number of parts in which the calls are made. Default 10. */
  readonly parts?: number
  /** Number of measurements after each part, each with a collection of all garbage. Default 12. */
  readonly looks?: number
}

export interface SoakResult {
  readonly samples: readonly Sample[]
  readonly start: Sample
  readonly answered: number
  readonly refused: number
  readonly wrong: readonly string[]
  readonly faults: ReadonlyMap<string, number>
  readonly seconds: number
  /** Growth of resident memory and of live objects per million calls after the first tenth, in bytes. */
  readonly residentSlope: number
  readonly heapSlope: number
  readonly workerHeapSlope: number
}

/**
 * Makes calls with faults mixed in, in parts, and measures the hub at rest between them. The same number of calls goes
 * before: the runtime compiles code that faults run through only when it is hot, and that code is memory too.
 */
export async function soak(plan: SoakPlan): Promise<SoakResult> {
  const { calls, seed, quiet = false, report = () => {} } = plan
  const { limitMs = Number.POSITIVE_INFINITY, parts = 10, looks = 12 } = plan
  const world = await SoakHub.start()
  try {
    const callers = await Callers.open(world.callers())
    const faults = new FaultMaker(world, seed)
    let busyMs = 0
    const run = async (count: number): Promise<Sample> => {
      const began = performance.now()
      if (!quiet) faults.start()
      await callers.run(Math.ceil(count))
      await faults.rest()
      busyMs += performance.now() - began
      await world.settle()
      return await measure(world.hub, callers.answered + callers.refused, looks)
    }
    await callers.run(1_000)
    const start = await measure(world.hub, 0, looks)
    report(lineOf(start))
    report(lineOf(await run(calls)))
    const samples: Sample[] = []
    for (let part = 1; part <= parts && busyMs < limitMs; part += 1) {
      const sample = await run(calls / parts)
      samples.push(sample)
      report(lineOf(sample))
    }
    callers.close()
    return {
      samples,
      start,
      answered: callers.answered,
      refused: callers.refused,
      wrong: callers.wrong,
      faults: faults.made,
      seconds: busyMs / 1_000,
      residentSlope: slope(samples, sample => sample.residentBytes, 1_000_000),
      heapSlope: slope(samples, sample => sample.heapBytes, 1_000_000),
      workerHeapSlope: slope(samples, sample => sample.workerHeapBytes, 1_000_000),
    }
  } finally {
    await world.stop(world.hub.unhandled().length)
  }
}

const mb = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)

export function lineOf(sample: Sample): string {
  const { calls, residentBytes, heapBytes, workerHeapBytes, timers, descriptors, children } = sample
  const columns = [calls, mb(residentBytes), mb(heapBytes), mb(workerHeapBytes), timers, descriptors, children]
  return columns.map(column => String(column).padStart(13)).join('')
}

export const HEADING = ['calls', 'RSS MB', 'heap MB', 'workers MB', 'timers', 'descriptors', 'children']
  .map(column => column.padStart(13))
  .join('')

/** Promises that did not hold, as sentences. `most`: growth after the first tenth per million calls, in bytes. */
export function broken(result: SoakResult, most: number): string[] {
  const { start, samples, wrong, residentSlope, heapSlope, workerHeapSlope } = result
  const end = samples.at(-1)
  const problems: string[] = []
  const liveSlope = heapSlope + workerHeapSlope
  for (const [what, grown] of [
    ['resident memory', residentSlope],
    ['live objects', liveSlope],
  ] as const) {
    if (grown >= most) problems.push(`${what}: ${mb(grown)} MB more per million calls, not under ${mb(most)}`)
  }
  for (const what of ['timers', 'descriptors', 'children'] as const) {
    // A batch of log records that is on its way to the history has a timer, and the next one another.
    const spare = what === 'timers' ? 2 : 0
    if (end && end[what] > start[what] + spare)
      problems.push(`${what}: ${end[what]} at the end, ${start[what]} at the start`)
  }
  if (wrong.length > 0) problems.push(`${wrong.length} answers were wrong, crossed or lost; the first: ${wrong[0]}`)
  return problems
}
