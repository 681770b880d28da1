/** Notices to clients that the updates of one server may cause. A notice to one client costs some 10 µs of the main thread. */
const PER_SECOND = 2_000
const AT_ONCE = 2_000
/** Between two looks at what waits; a wait that is needed anyway. */
const LOOK_MS = 50

/** What a server may still cause, and which of its updates wait. */
interface Account {
  left: number
  atMs: number
  readonly waiting: Map<string, () => number>
}

/**
 * How often the clients of a server are told that its resources were updated. What a server says now and then is told at
 * once. Beyond 2,000 notices, and 2,000 for each second, updates wait until they can be paid for, those of one resource
 * become one, and none is lost: so a flood costs the same however many clients hear it.
 */
export class NotificationRateLimiter {
  readonly #now: () => number
  readonly #accounts = new Map<string, Account>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  /** How many updates of a server wait. */
  waiting(serverId: string): number {
    return this.#accounts.get(serverId)?.waiting.size ?? 0
  }

  /** `tell` tells everybody what `key` stands for, and says how many notices that were. It takes the place of an older one. */
  schedule(serverId: string, key: string, send: () => number): void {
    const account = this.#accounts.get(serverId) ?? { left: AT_ONCE, atMs: this.#now(), waiting: new Map() }
    this.#accounts.set(serverId, account)
    this.#refill(account)
    if (account.left > 0 && account.waiting.size === 0) account.left -= send()
    else account.waiting.set(key, send)
    this.#timer ??= setTimeout(() => this.#flush(), LOOK_MS)
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#accounts.clear()
  }

  #flush(): void {
    this.#timer = undefined
    for (const [serverId, account] of this.#accounts) {
      this.#refill(account)
      for (const [key, send] of account.waiting) {
        if (account.left <= 0) break
        account.waiting.delete(key)
        account.left -= send()
      }
      if (account.waiting.size === 0 && account.left === AT_ONCE) this.#accounts.delete(serverId)
    }
    if (this.#accounts.size > 0) this.#timer ??= setTimeout(() => this.#flush(), LOOK_MS)
  }

  #refill(account: Account): void {
    const now = this.#now()
    account.left = Math.min(AT_ONCE, account.left + ((now - account.atMs) * PER_SECOND) / 1_000)
    account.atMs = now
  }
}
