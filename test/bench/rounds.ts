import type { Wire } from './http-client.ts'
import type { Bench, Direct, Measured, Transport } from './measure.ts'

export interface Round {
  readonly direct: Measured
  readonly hub: Measured
}

/**
 * Measures calls directly and through the hub by turns, so that a shared machine affects both alike. `against`: the direct
 * way; default the one that clients of this transport have. `enough` is asked after each round and ends them early.
 */
export async function alternate(
  bench: Bench,
  transport: Transport,
  sessions: number,
  rounds: number,
  seconds: number,
  against: Direct = transport,
  enough: (rounds: readonly Round[]) => boolean = () => false,
): Promise<Round[]> {
  const results: Round[] = []
  while (results.length < rounds && (results.length === 0 || !enough(results))) {
    const direct = await bench.direct(against, sessions, seconds)
    const hub = await bench.through(transport, sessions, seconds)
    results.push({ direct, hub })
  }
  return results
}

export interface WireRound {
  readonly legacy: Measured
  readonly modern: Measured
}

/** Measures both wires by turns. `enough` is asked after each round and ends them early. */
export async function bothWires(
  rounds: number,
  run: (wire: Wire) => Promise<Measured>,
  enough: (rounds: readonly WireRound[]) => boolean = () => false,
): Promise<WireRound[]> {
  const results: WireRound[] = []
  while (results.length < rounds && (results.length === 0 || !enough(results))) {
    const first = results.length % 2 === 0 ? 'legacy' : 'modern'
    const one = await run(first)
    const other = await run(first === 'legacy' ? 'modern' : 'legacy')
    results.push(first === 'legacy' ? { legacy: one, modern: other } : { legacy: other, modern: one })
  }
  return results
}

export interface Best {
  readonly ratio: number
  /** Milliseconds. */
  readonly p50Added: number
  /** Milliseconds; shows how fast the machine is at present. */
  readonly directP50: number
}

/**
 * The hub at its best against the direct way at its best: a shared machine makes single rounds slower, never faster than the
 * code allows. Not the best of the rounds' own ratios, since a round whose direct part was disturbed would flatter the hub.
 */
export function best(rounds: readonly Round[]): Best {
  const most = (pick: (round: Round) => number): number => Math.max(...rounds.map(pick))
  const least = (pick: (round: Round) => number): number => Math.min(...rounds.map(pick))
  return {
    ratio: most(round => round.hub.callsPerSecond) / most(round => round.direct.callsPerSecond),
    p50Added: least(round => round.hub.p50) - least(round => round.direct.p50),
    directP50: least(round => round.direct.p50),
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
