import { SequenceMap } from '../../../transport-kit/sequence-map.ts'

/** What is known of a call that has just been taken out. */
export interface TakenCall {
  /** The caller wants the result as the upstream wrote it. */
  readonly asIs: boolean
}

interface PendingCall extends TakenCall {
  deadlineMs: number
  hardDeadlineMs: number
  /** Requests of the upstream to the caller that wait for an answer; both clocks stand still meanwhile. */
  asks: number
  stoppedAtMs: number
  /** Notices that it may still cause whatever else the upstream sends. */
  notices: number
}

/** So many notices of a call cost about as much as its answer, so that they need no limit but that of calls. */
const OWN_NOTICES = 16

/** The calls of one connection that wait for an answer, with their clocks (`performance.now()`). */
export class CallTable {
  readonly #calls = new SequenceMap<PendingCall>()
  timeoutMs: number
  maxTimeoutMs: number

  constructor(timeoutMs: number, maxTimeoutMs: number) {
    this.timeoutMs = timeoutMs
    this.maxTimeoutMs = maxTimeoutMs
  }

  get size(): number {
    return this.#calls.size
  }

  /** Returns the call's deadline. */
  add(id: number, nowMs: number, asIs: boolean): number {
    const deadlineMs = nowMs + Math.min(this.timeoutMs, this.maxTimeoutMs)
    this.#calls.set(id, {
      deadlineMs,
      hardDeadlineMs: nowMs + this.maxTimeoutMs,
      asks: 0,
      stoppedAtMs: 0,
      notices: OWN_NOTICES,
      asIs,
    })
    return deadlineMs
  }

  has(id: number): boolean {
    return this.#calls.has(id)
  }

  take(id: number): TakenCall | undefined {
    const call = this.#calls.get(id)
    if (call) this.#calls.delete(id)
    return call
  }

  /** Takes one notice off what this call may cause of its own; false when nothing is left of that. */
  spendNotice(id: number): boolean {
    const call = this.#calls.get(id)
    if (!call || call.notices === 0) return false
    call.notices -= 1
    return true
  }

  takeAll(): readonly number[] {
    const ids = this.ids()
    this.#calls.clear()
    return ids
  }

  /** The ids of all calls that wait. */
  ids(): readonly number[] {
    return this.#calls.entries().map(([id]) => id)
  }

  /** Progress restarts the first clock, never the second. */
  progressed(id: number, nowMs: number): void {
    const call = this.#calls.get(id)
    if (call && call.asks === 0) call.deadlineMs = Math.min(nowMs + this.timeoutMs, call.hardDeadlineMs)
  }

  stopClock(id: number, nowMs: number): void {
    const call = this.#calls.get(id)
    if (!call) return
    if (call.asks === 0) call.stoppedAtMs = nowMs
    call.asks += 1
  }

  /** Returns the new deadline when the clock runs again. */
  startClock(id: number, nowMs: number): number | undefined {
    const call = this.#calls.get(id)
    if (!call || call.asks === 0) return undefined
    call.asks -= 1
    if (call.asks > 0) return undefined
    const waited = nowMs - call.stoppedAtMs
    call.deadlineMs += waited
    call.hardDeadlineMs += waited
    return call.deadlineMs
  }

  /** Takes out what has run out; returns the next deadline. */
  expire(nowMs: number, expired: (id: number) => void): number {
    let next = Number.POSITIVE_INFINITY
    for (const [id, call] of this.#calls.entries()) {
      if (call.asks > 0) continue
      if (call.deadlineMs <= nowMs) {
        this.#calls.delete(id)
        expired(id)
      } else if (call.deadlineMs < next) {
        next = call.deadlineMs
      }
    }
    return next
  }
}
