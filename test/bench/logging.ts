import { join } from 'node:path'
import { makeTemp, removeTemp } from '../support/temp.ts'
import type { Wire } from './http-client.ts'
import { Bench, type Measured, type Transport } from './measure.ts'

/** The same calls without records of them, and with the log file, the history and traces of one call in a hundred. */
export interface LoggingRound {
  readonly off: Measured
  readonly on: Measured
}

/** A hub that writes no records. */
export const LOGGING_OFF = { LOG_LEVEL: 'error', LOG_DATABASE: 'false' }

/** Both hubs by turns. What counts calls for `/metrics` cannot be switched off, and is in both. */
export async function measureLogging(
  wire: Wire,
  transport: Transport,
  inFlight: readonly number[],
  rounds: number,
  seconds: number,
): Promise<ReadonlyMap<number, readonly LoggingRound[]>> {
  await using undo = new AsyncDisposableStack()
  const folder = await makeTemp('bench-logging')
  undo.defer(() => removeTemp(folder))
  using collector = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({}) })
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`, OTEL_TRACES_SAMPLER_ARG: '0.01' }
  const off = await Bench.start(wire, LOGGING_OFF)
  undo.defer(() => off.stop())
  const on = await Bench.start(wire, { LOG_FILE: join(folder, 'hub.log'), ...traces })
  undo.defer(() => on.stop())
  const found = new Map<number, LoggingRound[]>()
  for (const sessions of inFlight) {
    const all: LoggingRound[] = []
    for (let round = 0; round < rounds; round += 1) {
      const quiet = await off.through(transport, sessions, seconds)
      all.push({ off: quiet, on: await on.through(transport, sessions, seconds) })
    }
    found.set(sessions, all)
  }
  return found
}
