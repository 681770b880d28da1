import { LIMITS } from '../../../config/limits.ts'

const NOTICES_PER_SECOND = 500
const NOTICES_AT_ONCE = 1_000
/** A log message costs main more than others: secrets are redacted and it is written. */
const LOGS_PER_SECOND = 100
const LOGS_AT_ONCE = 500
/** Main parses each notification. */
const CHARACTERS_PER_SECOND = 1024 * 1024
const CHARACTERS_AT_ONCE = 4 * 1024 * 1024
/** Time for which dropped notifications are counted before a warning is sent. */
const TELL_MS = 1_000

/**
 * Limits what one connection may send to the main thread besides responses: 500 notifications/s and bursts of 1,000, of
 * them 100 log messages/s and bursts of 500; in total 1 Mi characters/s, 64 KiB in one. More is dropped here, since
 * each costs main as much as a response.
 */
export class NoticeBudgets {
  readonly #all: NoticeBudget
  readonly #logs: NoticeBudget
  readonly #characters: NoticeBudget
  #tooLarge = 0
  readonly #tellAt: (atMs: number) => void

  /** `tellAt` is called when something is dropped, with the time (`performance.now()`) at which the warning is due. */
  constructor(tellAt: (atMs: number) => void) {
    const dropped = (nowMs: number): void => tellAt(nowMs + TELL_MS)
    this.#tellAt = tellAt
    this.#characters = new NoticeBudget(CHARACTERS_PER_SECOND, CHARACTERS_AT_ONCE, dropped)
    this.#all = new NoticeBudget(NOTICES_PER_SECOND, NOTICES_AT_ONCE, dropped)
    this.#logs = new NoticeBudget(LOGS_PER_SECOND, LOGS_AT_ONCE, dropped)
  }

  spend(nowMs: number): boolean {
    return this.#all.spend(nowMs)
  }

  /** True when a log message may be sent. */
  spendLog(nowMs: number): boolean {
    return this.#logs.spend(nowMs) && this.#all.spend(nowMs)
  }

  /** True when a notification of this size may be sent; must be the last check. */
  fits(text: string, nowMs: number): boolean {
    if (text.length <= LIMITS.noticeBytes) return this.#characters.spend(nowMs, text.length)
    this.#tooLarge += 1
    this.#tellAt(nowMs + TELL_MS)
    return false
  }

  /** A text on what was dropped since the last call; undefined: nothing. */
  takeDropped(): string | undefined {
    const logs = this.#logs.takeDropped()
    const all = this.#all.takeDropped()
    const heavy = this.#characters.takeDropped()
    const large = this.#tooLarge
    this.#tooLarge = 0
    const counted = [
      ...(logs > 0 ? [`${logs} log messages were dropped: more than ${LOGS_PER_SECOND} a second`] : []),
      ...(all > 0 ? [`${all} notifications were dropped: more than ${NOTICES_PER_SECOND} a second`] : []),
      ...(heavy > 0
        ? [`${heavy} notifications were dropped: more than ${CHARACTERS_PER_SECOND} characters a second`]
        : []),
      ...(large > 0 ? [`${large} notifications were dropped: more than ${LIMITS.noticeBytes} characters`] : []),
    ]
    return counted.length > 0 ? counted.join('; ') : undefined
  }
}

/** A token bucket: refills by `perSecond`, up to `burst`. */
class NoticeBudget {
  readonly #perMs: number
  readonly #burst: number
  readonly #firstDropped: (nowMs: number) => void
  #left: number
  #atMs = 0
  #dropped = 0

  constructor(perSecond: number, burst: number, firstDropped: (nowMs: number) => void) {
    this.#firstDropped = firstDropped
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#left = burst
  }

  spend(nowMs: number, amount = 1): boolean {
    this.#left = Math.min(this.#burst, this.#left + (nowMs - this.#atMs) * this.#perMs)
    this.#atMs = nowMs
    if (this.#left >= amount) {
      this.#left -= amount
      return true
    }
    this.#dropped += 1
    if (this.#dropped === 1) this.#firstDropped(nowMs)
    return false
  }

  /** Number of items dropped since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }
}
