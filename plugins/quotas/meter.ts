import type { Quota } from './quota.ts'

/** Seconds of a minute, each with a count of its own, so that the last 60 s are known at any moment. */
const SLOTS = 60
const SECOND_MS = 1_000
const DAY_MS = 86_400_000

/** A limit that is reached, and the seconds after which it lets a call pass; infinite for a limit of 0. */
export interface Reached {
  readonly code: 'quota_rate' | 'quota_day' | 'quota_at_once' | 'quota_tokens'
  readonly limit: number
  readonly retryAfterSeconds: number
}

/** The one that lasts longer. */
export function longer<Some extends Pick<Reached, 'retryAfterSeconds'>>(one: Some | undefined, other: Some): Some {
  return one && one.retryAfterSeconds >= other.retryAfterSeconds ? one : other
}

/** Numbers of one day, as they are stored. */
export interface DayNumbers {
  readonly day: string
  readonly calls: number
  readonly tokens: number
}

/** The day in UTC. */
export function dayOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10)
}

/** Seconds until 00:00 UTC. */
export function secondsUntilTomorrow(nowMs: number): number {
  return Math.ceil((DAY_MS - (nowMs % DAY_MS)) / SECOND_MS)
}

/** The use of one thing with a quota. */
export class Meter {
  readonly #slots = new Uint32Array(SLOTS)
  #second = 0
  #minute = 0
  #day: string
  #calls: number
  #tokens: number
  atOnce = 0
  /** For a client: its name at its last call, as its user saw it. */
  clientName: string | undefined
  /** Something of the day's numbers is not stored yet. */
  dirty = false
  /** Quotas of the day for which their owner was notified that they are nearly used up. */
  readonly noticed = new Set<string>()

  constructor({ day, calls, tokens }: DayNumbers) {
    this.#day = day
    this.#calls = calls
    this.#tokens = tokens
  }

  /** The limit that this call would exceed; of several the one that lasts longest. */
  reached(quota: Quota, nowMs: number): Reached | undefined {
    this.#move(nowMs)
    const { perMinute, perDay, atOnce, resultTokensPerDay } = quota
    const tomorrow = secondsUntilTomorrow(nowMs)
    const all = [
      { code: 'quota_day', limit: perDay, used: this.#calls, seconds: () => tomorrow },
      { code: 'quota_tokens', limit: resultTokensPerDay, used: this.#tokens, seconds: () => tomorrow },
      { code: 'quota_rate', limit: perMinute, used: this.#minute, seconds: (most: number) => this.#untilBelow(most) },
      { code: 'quota_at_once', limit: atOnce, used: this.atOnce, seconds: () => 1 },
    ] as const
    let longest: Reached | undefined
    for (const { code, limit, used, seconds } of all)
      if (limit !== undefined && used >= limit)
        longest = longer(longest, {
          ...{ code, limit },
          retryAfterSeconds: limit === 0 ? Number.POSITIVE_INFINITY : seconds(limit),
        })
    return longest
  }

  begin(nowMs: number): void {
    this.#move(nowMs)
    this.#slots[this.#second % SLOTS] = (this.#slots[this.#second % SLOTS] ?? 0) + 1
    this.#minute += 1
    this.#calls += 1
    this.atOnce += 1
    this.dirty = true
  }

  /** Counts tokens of a result. */
  take(nowMs: number, tokens: number): void {
    this.#move(nowMs)
    this.#tokens += tokens
    this.dirty = true
  }

  /** `begunMs`: the time given to `begin`. A call that was not sent does not count. */
  end(begunMs: number, nowMs: number, sent: boolean): void {
    this.#move(nowMs)
    this.atOnce -= 1
    this.dirty = true
    if (sent) return
    if (dayOf(begunMs) === this.#day) this.#calls -= 1
    const second = Math.floor(begunMs / SECOND_MS)
    const slot = second % SLOTS
    if (this.#second - second >= SLOTS || (this.#slots[slot] ?? 0) === 0) return
    this.#slots[slot] = (this.#slots[slot] ?? 0) - 1
    this.#minute -= 1
  }

  used(nowMs: number): Record<keyof Quota, number> {
    this.#move(nowMs)
    return { perMinute: this.#minute, perDay: this.#calls, atOnce: this.atOnce, resultTokensPerDay: this.#tokens }
  }

  get numbers(): DayNumbers {
    return { day: this.#day, calls: this.#calls, tokens: this.#tokens }
  }

  /** Forgets what is older than a minute, and the day before. A clock that goes back changes nothing. */
  #move(nowMs: number): void {
    const second = Math.floor(nowMs / SECOND_MS)
    if (second <= this.#second) return
    for (let next = Math.max(this.#second + 1, second - SLOTS + 1); next <= second; next += 1) {
      this.#minute -= this.#slots[next % SLOTS] ?? 0
      this.#slots[next % SLOTS] = 0
    }
    this.#second = second
    const day = dayOf(nowMs)
    if (day <= this.#day) return
    this.#day = day
    this.#calls = 0
    this.#tokens = 0
    this.noticed.clear()
    this.dirty = true
  }

  #untilBelow(most: number): number {
    let left = this.#minute
    for (let age = SLOTS - 1; age > 0; age -= 1) {
      left -= this.#slots[(this.#second - age + SLOTS) % SLOTS] ?? 0
      if (left < most) return SLOTS - age
    }
    return SLOTS
  }
}
