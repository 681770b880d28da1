import { HubError } from '../../../contract/errors.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { HealthReport, Liveness as LivenessLimits } from '../../protocol.ts'

/** Callbacks of a `Liveness`. */
export interface LivenessContext {
  readonly arm: (atMs: number) => void
  /** Sends a ping; rejects when it fails. */
  readonly ask: (timeoutMs: number) => Promise<unknown>
  /** Called with the result of each check. */
  readonly checked: (report: HealthReport) => void
  readonly lost: (message: string) => void
}

/**
 * Checks whether an upstream is alive. A check is skipped while messages arrive, unless the limits say `always`.
 * Silence during a call does not count, since a server with one thread cannot respond then, unless a call has timed out
 * in that silence.
 */
export class Liveness {
  readonly #context: LivenessContext
  #limits: LivenessLimits
  #heardAtMs = 0
  #askedAtMs = 0
  /** The time of an extra check after a failed exchange, made even while messages arrive. */
  #suspectAtMs = Number.POSITIVE_INFINITY
  #misses = 0
  #asking = false
  #timedOut = false
  #begun = false

  constructor(limits: LivenessLimits, context: LivenessContext) {
    this.#limits = limits
    this.#context = context
  }

  /** The connection is open; its handshake began at `sinceMs` and counts as a successful check. */
  begin(sinceMs: number): void {
    const now = performance.now()
    this.#begun = true
    this.#askedAtMs = now
    this.heard(now)
    this.#context.checked(report(sinceMs, 0))
    this.#arm()
  }

  setLimits(limits: LivenessLimits): void {
    this.#limits = limits
    if (this.#begun && !this.#asking) this.#arm()
  }

  /** Called for any message from the upstream. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs
    this.#suspectAtMs = Number.POSITIVE_INFINITY
    this.#timedOut = false
    if (!this.#limits.always) this.#misses = 0
  }

  timedOut(): void {
    this.#timedOut = true
  }

  /** An exchange has failed: checks at `atMs`, unless a message arrives before. */
  probeNow(atMs: number): void {
    this.#timedOut = true
    this.#suspectAtMs = Math.min(this.#suspectAtMs, atMs)
    if (!this.#asking) this.#context.arm(this.#suspectAtMs)
  }

  /** Makes the check that is due; returns the time of the next sweep. */
  sweep(nowMs: number, callsInFlight: number): number {
    if (this.#asking) return Number.POSITIVE_INFINITY
    const { intervalMs, always } = this.#limits
    const dueMs = this.#dueMs()
    if (nowMs < dueMs) return dueMs
    const busy = callsInFlight > 0 && !this.#timedOut && !always
    if (busy && nowMs < this.#suspectAtMs) return nowMs + intervalMs
    void this.#ask()
    return Number.POSITIVE_INFINITY
  }

  #dueMs(): number {
    const { intervalMs, always } = this.#limits
    const regularMs =
      intervalMs > 0 ? (always ? this.#askedAtMs : this.#heardAtMs) + intervalMs : Number.POSITIVE_INFINITY
    return Math.min(regularMs, this.#suspectAtMs)
  }

  #arm(): void {
    const dueMs = this.#dueMs()
    if (dueMs !== Number.POSITIVE_INFINITY) this.#context.arm(dueMs)
  }

  async #ask(): Promise<void> {
    const { timeoutMs, misses, always } = this.#limits
    const sinceMs = performance.now()
    this.#asking = true
    this.#askedAtMs = sinceMs
    this.#suspectAtMs = Number.POSITIVE_INFINITY
    let missed: WireError | undefined
    try {
      await this.#context.ask(timeoutMs)
    } catch (error) {
      missed = toWireError(error)
    }
    this.#asking = false
    const now = performance.now()
    if (missed === undefined) {
      this.#misses = 0
      this.heard(now)
      this.#context.checked(report(sinceMs, 0))
      return this.#arm()
    }
    this.#misses += 1
    this.#context.checked(report(sinceMs, this.#misses, missed))
    if (this.#misses >= Math.max(1, misses)) {
      this.#context.lost(`The server did not answer ${this.#misses} pings in a row: ${missed.message}`)
    } else if (always) {
      this.#arm()
    } else {
      this.probeNow(now)
    }
  }
}

/** The report of a check, or of a handshake, that began at `sinceMs`. */
export function report(sinceMs: number, misses: number, missed?: WireError): HealthReport {
  return {
    at: new Date().toISOString(),
    durationMs: Math.round((performance.now() - sinceMs) * 10) / 10,
    misses,
    ...(missed ? { error: { code: missed.code, message: missed.message } } : {}),
  }
}

/** True for an error that the upstream itself sent, above all "method not found". */
export function isAnswer(error: unknown): boolean {
  return error instanceof HubError && error.data?.rpcCode !== undefined
}
