import type { ErrorCode } from '../../../contract/errors.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import type { ConnectionEnd } from '../../connection/connection-events.ts'
import { backoffMs, isCrashLoop, RecentCount } from './backoff.ts'
import type { Verdict } from './server-events.ts'

const STEADY_MS = 5_000
const CRASH_RETRY_MS = 5 * 60_000
/** Delay before the next attempt without a sandbox: its tools may be installed at any time. */
const SANDBOX_RETRY_MS = 60_000
const REFUSED_RETRY_MS = 10 * 60_000
/** The longest wait that a server can ask for (`Retry-After`). */
const ASKED_WAIT_MS = 60 * 60_000
const FAULTS_UNTIL_ALONE = 3
/** Most sessions that a server may lose in a minute by restarting or scaling; beyond that it keeps no sessions. */
const SESSIONS_A_MINUTE = 20

/** Errors that only a change of the configuration, of a role or of the plugins can fix: no attempt is repeated. */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'config_invalid',
  'variable_unknown',
  'stdio_not_permitted',
  'owner_disabled',
  'network_not_permitted',
  'env_key_forbidden',
  'cwd_forbidden',
  'transport_unavailable',
  'program_unavailable',
  'loop_detected',
  'quarantined',
])

/** True for an error that no retry can fix, or that a person must end at a page. */
export function isFinal(reason: Pick<WireError, 'code' | 'data'> | undefined): boolean {
  return reason !== undefined && (FINAL.has(reason.code) || reason.data?.connectUrl !== undefined)
}

/** True when only the backoff delays the next attempt, so that a call may trigger one at once. */
function waitsByBackoff(reason: WireError): boolean {
  const { code, data } = reason
  if (isFinal(reason) || code === 'sandbox_lost' || code === 'authorization_required') return false
  return !code.startsWith('openapi_') && data?.retryAfterSeconds === undefined
}

/** Decides when a server is retried: at once, after a backoff, in minutes, or never. */
export class Recovery {
  readonly #random: () => number
  readonly #exits = new RecentCount()
  readonly #losses = new RecentCount()
  readonly #forgotten = new RecentCount()
  readonly #workerFaults = new RecentCount()
  #failures = 0
  #crashLooping = false
  #alone = false

  constructor(random: () => number) {
    this.#random = random
  }

  /** True when the next connection gets an isolated thread, since the server is suspected of crashing threads. */
  get alone(): boolean {
    return this.#alone
  }

  /** A start was requested: earlier failures no longer count. */
  reset(): void {
    this.markStable()
    this.#exits.clear()
    this.#losses.clear()
    this.#forgotten.clear()
    this.#workerFaults.clear()
  }

  /** The server has been online for a minute. */
  markStable(): void {
    this.#failures = 0
    this.#crashLooping = false
    this.#alone = false
  }

  /** `onlineMs`: how long it had been online. */
  ended(end: ConnectionEnd, onlineMs: number, isolated: boolean): Verdict {
    const now = performance.now()
    if (end.workerLost) return this.#workerLost(end, now, isolated)
    if (end.exited && isCrashLoop(this.#exits.add(now))) this.#crashLooping = true
    if (this.#crashLooping && end.exited) {
      this.#failures += 1
      const reason: WireError = { code: 'crash_loop', message: `${end.reason.message}, again and again` }
      return { kind: 'offline', reason, delayMs: CRASH_RETRY_MS }
    }
    // A loss with an HTTP status: the server is up and only lost the session, which costs a handshake but no backoff.
    const { code, data } = end.reason
    const answered = end.wasOpen && code === 'connection_lost' && data?.status !== undefined
    const forgotten = answered && this.#forgotten.add(now) <= SESSIONS_A_MINUTE
    if (forgotten) return { kind: 'now' }
    // A first loss is retried at once; another soon after the reconnect waits.
    const first = end.wasOpen && this.#losses.add(now) === 1
    if (end.wasOpen && (first || onlineMs >= STEADY_MS)) return { kind: 'now' }
    return this.failed(end.reason)
  }

  failed(reason: WireError): Extract<Verdict, { kind: 'offline' }> {
    const delayMs = this.#delay(reason)
    this.#failures += 1
    return { kind: 'offline', reason, delayMs, ...(waitsByBackoff(reason) ? { wakes: true } : {}) }
  }

  /** The next failure counts for nothing: it is of an attempt that a call started. */
  excuse(): void {
    this.#failures = Math.max(0, this.#failures - 1)
  }

  /** A server that crashes its thread three times a minute gets an isolated one; if that ends too, it stays offline. */
  #workerLost(end: ConnectionEnd, nowMs: number, isolated: boolean): Verdict {
    const unreliable = this.#workerFaults.add(nowMs) >= FAULTS_UNTIL_ALONE
    if (this.#alone || (isolated && unreliable)) {
      const message = `The server took its worker thread down again and again, alone in it at last: ${end.reason.message}`
      return { kind: 'offline', reason: { code: 'quarantined', message }, delayMs: undefined }
    }
    this.#alone = unreliable
    return { kind: 'now' }
  }

  #delay(reason: WireError): number | undefined {
    const { code, data } = reason
    // A loop through other servers may be fixed there.
    if (code === 'loop_detected' && data?.met === true) return REFUSED_RETRY_MS
    if (isFinal(reason)) return undefined
    if (code === 'sandbox_lost') return SANDBOX_RETRY_MS
    if (code === 'authorization_required' || code.startsWith('openapi_')) return REFUSED_RETRY_MS
    const askedMs = typeof data?.retryAfterSeconds === 'number' ? data.retryAfterSeconds * 1_000 : 0
    return Math.max(Math.min(askedMs, ASKED_WAIT_MS), backoffMs(this.#failures, this.#random))
  }
}
