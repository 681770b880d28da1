import { readFileSync } from 'node:fs'

/** Longest time for which one request may hold the main thread, in milliseconds, on a machine with {@link slowness} 1. */
export const MOST_MS = 50
/** Duration of the calibration on a machine that must keep the bound, in milliseconds. */
const CALIBRATION_MS = 30

/** Cost of a MiB of new memory on a machine that must keep the bound, in milliseconds. */
const MEMORY_MS = 1.5

/** Milliseconds of processor time that the main thread of a process has used since it began. */
export function mainThreadMs(pid: number): number {
  const [onProcessorNs = '0'] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
  return Number(onProcessorNs) / 1e6
}

/** Factor by which this machine is now slower than wanted, at least 1: the same parsing and hashing, measured in this thread. */
export function slowness(): number {
  const text = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ [`key${index}`]: `value ${index}` })))
  const runs = Array.from({ length: 5 }, () => {
    const before = mainThreadMs(process.pid)
    for (let round = 0; round < 2; round += 1) JSON.stringify(JSON.parse(text))
    return mainThreadMs(process.pid) - before
  })
  return Math.max(1, Math.min(...runs) / CALIBRATION_MS)
}

/**
 * Factor by which this machine is slower than wanted in allocating new memory, at least 1, measured in this thread: data of many
 * connections at once is read by the runtime in one turn, in which a MiB of new memory was seen to cost 4 to 5 ms.
 */
export function memorySlowness(): number {
  const runs = Array.from({ length: 3 }, () => {
    const before = mainThreadMs(process.pid)
    new Uint8Array(16 * 2 ** 20).fill(1)
    return mainThreadMs(process.pid) - before
  })
  return Math.max(1, Math.min(...runs) / (16 * MEMORY_MS))
}

/** Processor time of the hub's main thread while `work` runs, in milliseconds. */
export async function workOf<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly ms: number; readonly value: T }> {
  const before = mainThreadMs(pid)
  const value = await work()
  return { ms: mainThreadMs(pid) - before, value }
}

/**
 * Describes how costs at rising sizes grow faster than n log n; undefined if they do not. Costs under `floorMs` count as that
 * much, since each request has a fixed cost; a measured ratio may be three times the ideal one.
 */
export function growsTooFast(
  costs: readonly { readonly n: number; readonly ms: number }[],
  floorMs = 4,
): string | undefined {
  const [first] = costs
  const last = costs.at(-1)
  if (!first || !last || last.n <= first.n) return undefined
  const ideal = (last.n * Math.log2(last.n + 2)) / (first.n * Math.log2(first.n + 2))
  const ratio = last.ms / Math.max(floorMs, first.ms)
  if (ratio <= 3 * ideal) return undefined
  return `${costs.map(({ n, ms }) => `${n}: ${ms.toFixed(1)} ms`).join(', ')}; ${ratio.toFixed(1)} times, at most ${(3 * ideal).toFixed(1)}`
}
