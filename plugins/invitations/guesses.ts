import { HubError } from 'patchbay/contract'

/** Wrong tokens of one user that are answered within the window. */
const MOST = 10
const WINDOW_MS = 600_000
const MOST_USERS = 10_000

/** Slows down guesses of tokens, by user. */
export class Guesses {
  readonly #wrong = new Map<string, { count: number; readonly sinceMs: number }>()

  /** Throws `rate_limited` after too many wrong tokens of this user. */
  check(userId: string): void {
    const entry = this.#wrong.get(userId)
    if (!entry || entry.count < MOST) return
    const leftMs = entry.sinceMs + WINDOW_MS - performance.now()
    if (leftMs > 0)
      throw new HubError('rate_limited', 'Too many unknown invitations were tried', {
        retryAfterSeconds: Math.ceil(leftMs / 1_000),
      })
    this.#wrong.delete(userId)
  }

  /** Counts a wrong token. */
  note(userId: string): void {
    const nowMs = performance.now()
    const entry = this.#wrong.get(userId)
    if (entry && entry.sinceMs + WINDOW_MS > nowMs) {
      entry.count += 1
      return
    }
    this.#wrong.delete(userId)
    this.#wrong.set(userId, { count: 1, sinceMs: nowMs })
    if (this.#wrong.size > MOST_USERS) this.#wrong.delete(this.#wrong.keys().next().value as string)
  }
}
