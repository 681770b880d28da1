/** Notifications to clients that one server's updates may cause. Each costs some 10 µs of the main thread. */
const PER_SECOND = 2_000
const AT_ONCE = 2_000
/** Interval at which the queue is checked. */
const LOOK_MS = 50

/** Updates of one server that may wait separately until its clients can be notified, and their total size in bytes. */
const MAX_WAITING = 1_000
const MAX_WAITING_BYTES = 256 * 1024

interface Update {
  /** Notifies all subscribers, and returns the number of notifications. */
  send(): number
  /** Bytes that it holds in memory while it waits; 0 where they are accounted elsewhere. */
  readonly bytes: number
}

/** The notifications that a server may still cause, and its waiting updates. */
interface Account {
  left: number
  atMs: number
  readonly waiting: Map<string, Update>
  waitingBytes: number
}

/**
 * Limits how often the clients of a server are notified that its resources were updated. Occasional updates are sent at
 * once. Beyond 2,000 notifications, and 2,000 for each second, updates wait until the limit allows them; those of one
 * resource are merged, and none is lost. So a flood costs the same however many clients subscribe.
 */
export class NotificationRateLimiter {
  readonly #now: () => number
  readonly #accounts = new Map<string, Account>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  /** True when a further update of this many bytes may wait separately. */
  takes(serverId: string, bytes: number): boolean {
    const account = this.#accounts.get(serverId)
    if (!account) return bytes <= MAX_WAITING_BYTES
    return account.waiting.size < MAX_WAITING && account.waitingBytes + bytes <= MAX_WAITING_BYTES
  }

  /** Sends the update of `key`, now or later. It replaces an older update of the same key that waits. */
  schedule(serverId: string, key: string, update: Update): void {
    const account = this.#accounts.get(serverId) ?? newAccount(this.#now())
    this.#accounts.set(serverId, account)
    this.#refill(account)
    if (account.left > 0 && account.waiting.size === 0) account.left -= update.send()
    else {
      account.waitingBytes += update.bytes - (account.waiting.get(key)?.bytes ?? 0)
      account.waiting.set(key, update)
    }
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
      for (const [key, { send, bytes }] of account.waiting) {
        if (account.left <= 0) break
        account.waiting.delete(key)
        account.waitingBytes -= bytes
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

function newAccount(atMs: number): Account {
  return { left: AT_ONCE, atMs, waiting: new Map(), waitingBytes: 0 }
}
