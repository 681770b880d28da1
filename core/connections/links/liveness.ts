import { HubError } from '../../contract/errors.ts'
import type { Liveness as LivenessLimits } from '../protocol.ts'

export interface LivenessContext {
  readonly arm: (atMs: number) => void
  readonly ping: (timeoutMs: number) => Promise<unknown>
  readonly lost: (message: string) => void
}

/**
 * Asks a silent upstream whether it lives. Silence while a call is in flight says nothing, since a server with one
 * thread cannot answer then; only once a call has run out of time in that silence it counts.
 */
export class Liveness {
  readonly #limits: LivenessLimits
  readonly #context: LivenessContext
  #heardAtMs = 0
  #misses = 0
  #pinging = false
  #timedOut = false

  constructor(limits: LivenessLimits, context: LivenessContext) {
    this.#limits = limits
    this.#context = context
  }

  begin(): void {
    if (this.#limits.idleMs > 0) this.#context.arm(this.#heardAtMs + this.#limits.idleMs)
  }

  /** Any message from the upstream. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs
    this.#misses = 0
    this.#timedOut = false
  }

  timedOut(): void {
    this.#timedOut = true
  }

  /** An exchange has failed: asks at `atMs` whether anybody is there, unless something was heard until then. */
  suspect(atMs: number): void {
    this.#timedOut = true
    this.#heardAtMs = Math.min(this.#heardAtMs, atMs - this.#limits.idleMs)
    if (this.#limits.idleMs > 0 && !this.#pinging) this.#context.arm(atMs)
  }

  /** Pings when it is time; returns when to look again. */
  sweep(nowMs: number, callsInFlight: number): number {
    const { idleMs } = this.#limits
    if (idleMs === 0 || this.#pinging) return Number.POSITIVE_INFINITY
    const dueMs = this.#heardAtMs + idleMs
    if (nowMs < dueMs) return dueMs
    if (callsInFlight > 0 && !this.#timedOut) return nowMs + idleMs
    void this.#ping()
    return Number.POSITIVE_INFINITY
  }

  async #ping(): Promise<void> {
    this.#pinging = true
    let missed: string | undefined
    try {
      await this.#context.ping(this.#limits.timeoutMs)
    } catch (error) {
      // An error answer, "method not found" above all, is a sign of life as good as any.
      const answered = error instanceof HubError && error.data?.rpcCode !== undefined
      if (!answered) missed = error instanceof Error ? error.message : String(error)
    }
    this.#pinging = false
    if (missed === undefined) {
      this.#context.arm(this.#heardAtMs + this.#limits.idleMs)
      return
    }
    this.#misses += 1
    if (this.#misses >= this.#limits.misses) {
      this.#context.lost(`The server did not answer ${this.#misses} pings in a row: ${missed}`)
    } else {
      this.#context.arm(performance.now())
    }
  }
}
