import type { Bench, Measured, Transport } from './measure.ts'

export interface Round {
  readonly direct: Measured
  readonly hub: Measured
  readonly ratio: number
  readonly p50Added: number
}

/** Direct and through the hub by turns, so that both see the same weather on a shared machine. */
export async function alternate(
  bench: Bench,
  transport: Transport,
  sessions: number,
  rounds: number,
  seconds: number,
): Promise<Round[]> {
  const results: Round[] = []
  for (let round = 0; round < rounds; round += 1) {
    const direct = await bench.direct(transport, sessions, seconds)
    const hub = await bench.through(transport, sessions, seconds)
    results.push({
      direct,
      hub,
      ratio: hub.callsPerSecond / direct.callsPerSecond,
      p50Added: hub.p50 - direct.p50,
    })
  }
  return results
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
