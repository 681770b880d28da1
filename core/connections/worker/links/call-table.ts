import { SequenceMap } from '../../../transport-kit/sequence-map.ts'

/** A call that has just been removed from the table. */
export interface TakenCall {
  /** True when the caller gets the result in the form of the upstream's era. */
  readonly asIs: boolean
  /** The method, where its result is normalized (`hasForm`). */
  readonly method?: string | undefined
  /** The address that a resources/read names. */
  readonly uri?: string | undefined
  /** True when it was sent with headers of its caller. */
  readonly lent?: boolean
}

interface PendingCall extends TakenCall {
  deadlineMs: number
  hardDeadlineMs: number
  /** Number of pending server requests of this call; both of its timeouts are suspended while there are any. */
  openServerRequests: number
  stoppedAtMs: number
  /** Notifications that it may still cause outside the connection's budget. */
  notices: number
}

/** Notifications of a call that cost about as much as its response; the limit on calls is enough for them. */
const OWN_NOTICES = 16

/** The pending calls of one connection, with their timeouts (`performance.now()`). */
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
  add(id: number, nowMs: number, call: TakenCall): number {
    const deadlineMs = nowMs + Math.min(this.timeoutMs, this.maxTimeoutMs)
    this.#calls.set(id, {
      deadlineMs,
      hardDeadlineMs: nowMs + this.maxTimeoutMs,
      openServerRequests: 0,
      stoppedAtMs: 0,
      notices: OWN_NOTICES,
      ...call,
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

  /** Uses one notification of this call's own allowance; false when none is left. */
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

  /** The ids of all pending calls. */
  ids(): readonly number[] {
    return this.#calls.entries().map(([id]) => id)
  }

  /** Progress restarts the idle timeout, never the total one. */
  progressed(id: number, nowMs: number): void {
    const call = this.#calls.get(id)
    if (call && call.openServerRequests === 0) call.deadlineMs = Math.min(nowMs + this.timeoutMs, call.hardDeadlineMs)
  }

  stopClock(id: number, nowMs: number): void {
    const call = this.#calls.get(id)
    if (!call) return
    if (call.openServerRequests === 0) call.stoppedAtMs = nowMs
    call.openServerRequests += 1
  }

  /** Returns the new deadline when the timeouts run again. */
  startClock(id: number, nowMs: number): number | undefined {
    const call = this.#calls.get(id)
    if (!call || call.openServerRequests === 0) return undefined
    call.openServerRequests -= 1
    if (call.openServerRequests > 0) return undefined
    const waited = nowMs - call.stoppedAtMs
    call.deadlineMs += waited
    call.hardDeadlineMs += waited
    return call.deadlineMs
  }

  /** Removes expired calls; returns the next deadline. */
  expire(nowMs: number, expired: (id: number) => void): number {
    let next = Number.POSITIVE_INFINITY
    for (const [id, call] of this.#calls.entries()) {
      if (call.openServerRequests > 0) continue
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
