import { LRUCache } from 'lru-cache'

const MINUTE_MS = 60_000
/** Addresses that are remembered; the one that was refused longest ago goes first. */
const MOST = 10_000

interface Noted {
  readonly atMs: number
  /** Refused since then, and not noted. */
  more: number
}

/**
 * Selects the rejected sign-ins that are recorded in the audit: one a minute for each kind and address, so that they do not
 * flood it.
 */
export class RefusedSignIns {
  readonly #noted = new LRUCache<string, Noted>({ max: MOST })
  readonly #now: () => number

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Number of rejections that were not recorded since the last recorded one; undefined if this one is not recorded either. */
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
