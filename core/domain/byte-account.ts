import { HubError } from '../contract/errors.ts'

export interface ByteLimits {
  /** Of one user. */
  readonly perUser: number
  /** Of one address from which requests come without a credential. */
  readonly perAddress: number
  /** Of all accounts together. */
  readonly total: number
}

/** What an account may drop to make room: replay events, which a client can do without. */
export interface Reclaimable {
  /** Drops the oldest entry and gives its bytes back. False when there is none. */
  dropOldest(): boolean
}

/** How many bytes are taken between two words about it. */
const PASSED_BYTES = 1024 * 1024

interface Shared {
  used: number
  readonly limit: number
  /** Taken since the last word about it. */
  taken: number
  readonly passed: (bytes: number) => void
}

/**
 * Bytes that the hub holds for one user or one address: bodies being read, arguments of calls in flight, answers that the
 * client has not taken yet, replay events, what sessions store.
 */
export class ByteAccount {
  /** Asked for room before anything is refused. */
  reclaimable: Reclaimable | undefined
  readonly #limit: number
  readonly #whole: Shared
  readonly #idle: () => void
  #used = 0
  #holders = 0

  /** `idle` is called when nothing is held any more and no {@link enter} is open. */
  constructor(limit: number, whole: Shared, idle: () => void = () => {}) {
    this.#limit = limit
    this.#whole = whole
    this.#idle = idle
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used
  }

  /** Adds bytes. Throws `quota_bytes` when they are too many for this account, `overloaded` when for the whole hub. */
  take(bytes: number): void {
    if (!this.fits(bytes)) throw this.refusal(bytes)
    this.add(bytes)
  }

  /** Adds bytes that are there already, whatever the limits say. */
  add(bytes: number): void {
    this.#used += bytes
    const whole = this.#whole
    whole.used += bytes
    whole.taken += bytes
    if (whole.taken < PASSED_BYTES) return
    whole.passed(whole.taken)
    whole.taken = 0
  }

  /** Gives back what was taken or added. */
  give(bytes: number): void {
    this.#used -= bytes
    this.#whole.used -= bytes
    if (this.#used === 0 && this.#holders === 0) this.#idle()
  }

  /** Whether so many more bytes may be taken; drops what can be dropped first. */
  fits(bytes: number): boolean {
    while (this.#used + bytes > this.#limit || this.#whole.used + bytes > this.#whole.limit)
      if (bytes > this.#limit || !this.reclaimable?.dropOldest()) return false
    return true
  }

  /** Why so many bytes did not fit. */
  refusal(bytes: number): HubError {
    const own = this.#used + bytes > this.#limit
    if (!own)
      return new HubError('overloaded', 'The hub holds as many bytes in flight as it may', { retryAfterSeconds: 5 })
    if (bytes > this.#limit)
      return new HubError('quota_bytes', `Cannot take ${bytes} bytes: the limit is ${this.#limit} bytes in flight`, {
        hint: 'Ask for less at a time: this alone is more than all that you may have in flight.',
      })
    return new HubError(
      'quota_bytes',
      `Cannot take ${bytes} bytes: ${this.#used} of ${this.#limit} bytes in flight are used`,
      { retryAfterSeconds: 1 },
    )
  }

  /** A request that may take bytes begins; {@link leave} ends it. Only accounts of addresses need it. */
  enter(): void {
    this.#holders += 1
  }

  leave(): void {
    this.#holders -= 1
    if (this.#used === 0 && this.#holders === 0) this.#idle()
  }
}

/** The accounts of all users and addresses, and the sum over all of them. */
export class BytesInFlight {
  readonly #limits: ByteLimits
  readonly #whole: Shared
  readonly #users = new Map<string, ByteAccount>()
  readonly #addresses = new Map<string, ByteAccount>()

  /** `passed` hears now and then how many bytes have been taken since the last time. */
  constructor(limits: ByteLimits, passed: (bytes: number) => void = () => {}) {
    this.#limits = limits
    this.#whole = { used: 0, limit: limits.total, taken: 0, passed }
  }

  /** Bytes held for everybody. */
  get used(): number {
    return this.#whole.used
  }

  /** The one account of a user, for as long as the hub runs. */
  user(userId: string): ByteAccount {
    let account = this.#users.get(userId)
    if (!account) {
      account = new ByteAccount(this.#limits.perUser, this.#whole)
      this.#users.set(userId, account)
    }
    return account
  }

  /** The account of an address, entered: the caller leaves it when its request is over. */
  enterAddress(address: string): ByteAccount {
    let account = this.#addresses.get(address)
    if (!account) {
      account = new ByteAccount(this.#limits.perAddress, this.#whole, () => this.#addresses.delete(address))
      this.#addresses.set(address, account)
    }
    account.enter()
    return account
  }

  /** Addresses that hold bytes or have a request open. */
  get addresses(): number {
    return this.#addresses.size
  }
}
