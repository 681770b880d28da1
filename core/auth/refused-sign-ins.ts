import { LRUCache } from 'lru-cache'

const MINUTE_MS = 60_000
/** Addresses that are remembered; the one that was refused longest ago goes first. */
const MOST = 10_000

interface Noted {
  readonly atMs: number
  /** Refused since then, and not noted. */
  more: number
}

/** Which refusals of sign-ins are noted in the audit: of each kind and address one a minute, so that nobody floods it. */
export class RefusedSignIns {
  readonly #noted = new LRUCache<string, Noted>({ max: MOST })
  readonly #now: () => number

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** How many were not noted since the last one; undefined where this one is not either. */
  note(kind: string, addressKey: string): number | undefined {
    const key = `${kind} ${addressKey}`
    const last = this.#noted.get(key)
    const nowMs = this.#now()
    if (last && nowMs - last.atMs < MINUTE_MS) {
      last.more += 1
      return undefined
    }
    this.#noted.set(key, { atMs: nowMs, more: 0 })
    return last?.more ?? 0
  }
}
