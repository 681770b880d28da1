import { LONGEST_START_MS } from '../../domain/server/server-table.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'

/** Planned limits of one attempt to start. */
interface Planned {
  readonly startTimeoutMs: number
  readonly installs: boolean
}

/**
 * Limits the time of the next attempt to start one server. An attempt that its deadline ended is followed by one with
 * twice the deadline, up to the longest, until the server has started.
 */
export class StartDeadline {
  #late = 0
  #plannedMs: number | undefined
  #lastMs = 0
  #startedBefore = false

  /** The deadline of the last attempt, in milliseconds; 0 before the first. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** The server has started in an earlier run of the hub, so that its packages are installed. */
  restore(): void {
    this.#startedBefore = true
  }

  /** The same plan with the deadline of the attempt that begins now. */
  extend<Plan extends Planned>(plan: Plan): Plan {
    if (plan.startTimeoutMs !== this.#plannedMs) this.#late = 0
    this.#plannedMs = plan.startTimeoutMs
    const installs = plan.installs && !this.#startedBefore
    const doubled = Math.min(plan.startTimeoutMs * 2 ** Math.min(this.#late, 20), LONGEST_START_MS)
    this.#lastMs = installs ? LONGEST_START_MS : Math.max(doubled, plan.startTimeoutMs)
    return { ...plan, startTimeoutMs: this.#lastMs }
  }

  opened(): void {
    this.#late = 0
    this.#startedBefore = true
  }

  failed({ code }: WireError): void {
    if (code === 'upstream_init_timeout') this.#late += 1
  }
}
