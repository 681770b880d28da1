import { HubError, type WireError } from '../../../contract/errors.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'
import type { HealthReport, Liveness as LivenessLimits } from '../../protocol.ts'

export interface LivenessContext {
  readonly arm: (atMs: number) => void
  /** Asks for a sign of life; rejects when there is none. */
  readonly ask: (timeoutMs: number) => Promise<unknown>
  /** What came of each question. */
  readonly checked: (report: HealthReport) => void
  readonly lost: (message: string) => void
}

/**
 * Asks an upstream whether it lives. One that is heard from is not asked, unless its limits say `always`. Silence while a call
 * is in flight says nothing, since a server with one thread cannot answer then; only once a call has run out of time in that
 * silence it counts.
 */
export class Liveness {
  readonly #context: LivenessContext
  #limits: LivenessLimits
  #heardAtMs = 0
  #askedAtMs = 0
  /** When to ask whatever is heard or not, since an exchange has failed. */
  #suspectAtMs = Number.POSITIVE_INFINITY
  #misses = 0
  #asking = false
  #timedOut = false
  #begun = false

  constructor(limits: LivenessLimits, context: LivenessContext) {
    this.#limits = limits
    this.#context = context
  }

  /** The connection is open, which took an exchange that began at `sinceMs` and was a sign of life itself. */
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

  /** Any message from the upstream. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs
    this.#suspectAtMs = Number.POSITIVE_INFINITY
    this.#timedOut = false
    if (!this.#limits.always) this.#misses = 0
  }

  timedOut(): void {
    this.#timedOut = true
  }

  /** An exchange has failed: asks at `atMs` whether anybody is there, unless something is heard until then. */
  probeNow(atMs: number): void {
    this.#timedOut = true
    this.#suspectAtMs = Math.min(this.#suspectAtMs, atMs)
    if (!this.#asking) this.#context.arm(this.#suspectAtMs)
  }

  /** Asks when it is time; returns when to look again. */
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

/** What came of a question, or of an opening, that began at `sinceMs`. */
export function report(sinceMs: number, misses: number, missed?: WireError): HealthReport {
  return {
    at: new Date().toISOString(),
    durationMs: Math.round((performance.now() - sinceMs) * 10) / 10,
    misses,
    ...(missed ? { error: { code: missed.code, message: missed.message } } : {}),
  }
}

/** True for a failure that is an answer of the upstream all the same, "method not found" above all. */
export function isAnswer(error: unknown): boolean {
  return error instanceof HubError && error.data?.rpcCode !== undefined
}
