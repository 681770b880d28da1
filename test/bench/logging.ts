import { join } from 'node:path'
import { makeTemp, removeTemp } from '../support/temp.ts'
import type { Wire } from './http-client.ts'
import { Bench, type Measured, type Transport } from './measure.ts'
import { measurePairs, type Pair } from './pairs.ts'

/** A hub that writes no records. */
export const LOGGING_OFF = { LOG_LEVEL: 'error', LOG_DATABASE: 'false' }
const PAIRS = 3
/** By then the runtime has compiled nearly all that is called often: 200,000 calls and more. */
const WARM_SECONDS = 10
const WARM_SESSIONS = 16

/** Measurements of one hub by number of calls in flight, one per round. */
type Rounds = ReadonlyMap<number, readonly Measured[]>

/**
 * Calls without records of them, and with the log file, the history and traces of one call in a hundred. What counts calls for
 * `/metrics` cannot be switched off, and is in both.
 */
export async function measureLogging(
  wire: Wire,
  transport: Transport,
  inFlight: readonly number[],
  rounds: number,
  seconds: number,
): Promise<readonly Pair<Rounds>[]> {
  await using undo = new AsyncDisposableStack()
  const folder = await makeTemp('bench-logging')
  undo.defer(() => removeTemp(folder))
  using collector = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({}) })
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`, OTEL_TRACES_SAMPLER_ARG: '0.01' }
  const measure = async (isOn: boolean): Promise<Rounds> => {
    const bench = await Bench.start(wire, isOn ? { LOG_FILE: join(folder, 'hub.log'), ...traces } : LOGGING_OFF)
    try {
      await bench.through(transport, WARM_SESSIONS, WARM_SECONDS)
      const found = new Map<number, Measured[]>(inFlight.map(sessions => [sessions, []]))
      for (let round = 0; round < rounds; round += 1) {
        for (const [sessions, all] of found) all.push(await bench.through(transport, sessions, seconds))
      }
      return found
    } finally {
      await bench.stop()
    }
  }
  return measurePairs(PAIRS, measure)
}
