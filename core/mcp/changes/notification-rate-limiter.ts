/** Notices to clients that the updates of one server may cause. A notice to one client costs some 10 µs of the main thread. */
const PER_SECOND = 2_000
const AT_ONCE = 2_000
/** Between two looks at what waits; a wait that is needed anyway. */
const LOOK_MS = 50

/** Updates of one server that wait, each for itself, until its clients can be told, and their bytes. */
const MAX_WAITING = 1_000
const MAX_WAITING_BYTES = 256 * 1024

interface Update {
  /** Tells everybody, and says how many notices that were. */
  send(): number
  /** What it holds in memory while it waits; 0 where that counts elsewhere. */
  readonly bytes: number
}

/** What a server may still cause, and which of its updates wait. */
interface Account {
  left: number
  atMs: number
  readonly waiting: Map<string, Update>
  waitingBytes: number
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

  /** Whether a further update of so many bytes may wait for itself. */
  takes(serverId: string, bytes: number): boolean {
    const account = this.#accounts.get(serverId)
    if (!account) return bytes <= MAX_WAITING_BYTES
    return account.waiting.size < MAX_WAITING && account.waitingBytes + bytes <= MAX_WAITING_BYTES
  }

  /** Tells what `key` stands for, now or later. It takes the place of an older one that waits. */
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
