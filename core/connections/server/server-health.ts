import type { ErrorCode } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { ServerHealth as Health, HealthCheckResult } from '../../domain/server/status.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { HealthReport } from '../protocol.ts'
import type { ServerContext } from './server-context.ts'
import { logHealth } from './server-state.ts'

/** Finished checks of one server that are held. */
const CHECKS_HELD = 100
/** Number of response times that are held. */
const LATEST_TIMES = 128

/** The health state of one server, from its checks; every change emits an event. */
export class ServerHealth {
  readonly #record: () => ServerRecord
  readonly #context: ServerContext
  #state: 'unknown' | 'healthy' | 'failing' = 'unknown'
  #last: HealthReport | undefined
  /** Also those from before it was stopped or lost. */
  #checks: HealthCheckResult[] = []
  /** Paths of `healthCheck.endpoints` that the server does not have. */
  #missing: readonly string[] = []

  constructor(record: () => ServerRecord, context: ServerContext) {
    this.#record = record
    this.#context = context
  }

  checked(report: HealthReport): void {
    this.#last = report
    if (this.#checks.length >= CHECKS_HELD) this.#checks.shift()
    this.#checks.push({ at: report.at, ok: !report.error, durationMs: report.durationMs })
    const { id: serverId, ownerId, name, healthCheck } = this.#record()
    const data = { serverId, name, ok: !report.error }
    this.#noteMissing(report.missing)
    if (healthCheck.enabled) this.#context.bus.emit('upstream.checked', ownerId, data, 'internal')
    this.#become(report.error ? 'failing' : 'healthy', report.error)
  }

  /** It went offline by a fault; the next successful start resets that. */
  lost(reason: WireError): void {
    this.#become('failing', reason)
  }

  /** It was stopped or sleeps: no checks run. */
  forget(): void {
    this.#state = 'unknown'
    this.#last = undefined
  }

  /** The last 100 checks, oldest first; none where no checks are wanted. */
  checks(): readonly HealthCheckResult[] {
    return this.#record().healthCheck.enabled ? [...this.#checks] : []
  }

  view(): Health {
    if (!this.#record().healthCheck.enabled) return { state: 'off' }
    if (!this.#last) return { state: this.#state }
    const { at, durationMs, misses, error } = this.#last
    const failure = error ? { error: this.#shown(error) } : {}
    const missing = this.#missing.length === 0 ? {} : { missingPaths: this.#missing }
    return { state: this.#state, misses, ...missing, lastCheck: { at, ok: !error, durationMs, ...failure } }
  }

  /** One record for each change of what is missing, not for each check. */
  #noteMissing(missing: readonly string[] | undefined): void {
    if (missing === undefined || missing.join() === this.#missing.join()) return
    this.#missing = missing
    if (missing.length === 0) return
    const message = `healthCheck.endpoints: no such path on this server: ${missing.join(', ')}; it is checked without`
    this.#context.records.write(this.#record(), 'warn', message, {})
  }

  #become(state: 'healthy' | 'failing', error: WireError | undefined): void {
    const before = this.#state
    this.#state = state
    const { id: serverId, ownerId, name, healthCheck } = this.#record()
    // The first success after a start emits nothing: the event `online` says the same.
    if (!healthCheck.enabled || before === state || (before === 'unknown' && state === 'healthy')) return
    const failure = error ? { error: this.#shown(error) } : {}
    this.#context.bus.emit('server.health', ownerId, { serverId, name, state, ...failure })
    logHealth(this.#context, { id: serverId, ownerId, name }, failure.error)
  }

  #shown({ code, message }: WireError): { readonly code: ErrorCode; readonly message: string } {
    return { code, message: this.#context.redact(message) }
  }
}

/** The latest response times of one server, for the console. */
export class Latency {
  readonly #times = new Float32Array(LATEST_TIMES)
  #count = 0

  add(ms: number): void {
    this.#times[this.#count % LATEST_TIMES] = ms
    this.#count += 1
  }

  /** Milliseconds, rounded to hundredths; undefined before the first answer. */
  percentiles(): { readonly p50: number; readonly p95: number } | undefined {
    if (this.#count === 0) return undefined
    const sorted = this.#times.slice(0, Math.min(this.#count, LATEST_TIMES)).sort()
    const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)]! * 100) / 100
    return { p50: at(0.5), p95: at(0.95) }
  }
}
