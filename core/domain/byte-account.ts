import { HubError } from '../contract/errors.ts'
import { FairTurns } from './fair-turns.ts'

/** Limits in bytes. */
export interface ByteLimits {
  /** Per user. */
  readonly perUser: number
  /** Per address, for requests without a credential. */
  readonly perAddress: number
  /** All accounts together. */
  readonly total: number
}

/** Data that an account may drop to make room: replay events, which a client can do without. */
export interface Reclaimable {
  /** Drops the oldest entry and releases its bytes. False when there is no entry. */
  dropOldest(): boolean
}

/** Bytes taken between two calls of `passed`. */
const PASSED_BYTES = 1024 * 1024
/** Chunks of all responses that are sent in one turn of the event loop. Each takes up to 0.3 ms on a slow processor. */
const CHUNKS_PER_TURN = 4

interface Shared {
  used: number
  readonly limit: number
  /** Bytes taken since the last call of `passed`. */
  taken: number
  readonly passed: (bytes: number) => void
  /** Chunks of long responses that wait to be sent, by account. */
  readonly sending: FairTurns
  /** Parts of long responses that wait to be read, by account. */
  readonly reading: FairTurns
}

/**
 * Bytes that the hub holds for one user or one address: bodies being read, arguments of calls in flight, responses that
 * the client has not read, replay events, session data.
 */
export class ByteAccount {
  /** Entries that are dropped before a request is rejected. */
  reclaimable: Reclaimable | undefined
  readonly #name: string
  readonly #limit: number
  readonly #whole: Shared
  readonly #idle: () => void
  #used = 0
  #holders = 0

  /** `name`: unique among all accounts. `idle` is called when nothing is held and every {@link enter} was left. */
  constructor(name: string, limit: number, whole: Shared, idle: () => void = () => {}) {
    this.#name = name
    this.#limit = limit
    this.#whole = whole
    this.#idle = idle
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used
  }

  /** Adds bytes. Throws `quota_bytes` beyond this account's limit, `overloaded` beyond the hub's. */
  take(bytes: number): void {
    if (!this.fits(bytes)) throw this.refusal(bytes)
    this.add(bytes)
  }

  /** Adds bytes that are already in memory, regardless of limits. */
  add(bytes: number): void {
    this.#used += bytes
    this.#whole.used += bytes
    this.dropped(bytes)
  }

  /** Counts bytes that were in memory and are garbage now, such as an answer that did not fit, only for the garbage collector. */
  dropped(bytes: number): void {
    const whole = this.#whole
    whole.taken += bytes
    if (whole.taken < PASSED_BYTES) return
    whole.passed(whole.taken)
    whole.taken = 0
  }

  /** Releases bytes that were taken or added. */
  give(bytes: number): void {
    this.#used -= bytes
    this.#whole.used -= bytes
    if (this.#used === 0 && this.#holders === 0) this.#idle()
  }

  /** True when this many more bytes fit; drops reclaimable entries first. */
  fits(bytes: number): boolean {
    while (this.#used + bytes > this.#limit || this.#whole.used + bytes > this.#whole.limit)
      if (bytes > this.#limit || !this.reclaimable?.dropOldest()) return false
    return true
  }

  /** The error for bytes that do not fit. */
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

  /**
   * Resolves when this account may send its next chunk of up to 64 KiB: accounts take turns, and other work runs in between.
   * Without it the responses of one client that reads fast would be sent to their ends before anything else happens.
   */
  sendingTurn(): Promise<void> {
    return new Promise(resolve => this.#whole.sending.add(this.#name, resolve))
  }

  /** The same for the next part of up to 1 MiB that is read from the store, which takes up to 13 ms: one in a turn. */
  readingTurn(): Promise<void> {
    return new Promise(resolve => this.#whole.reading.add(this.#name, resolve))
  }

  /** Marks the start of a request that may charge bytes; {@link leave} ends it. Needed only for accounts of addresses. */
  enter(): void {
    this.#holders += 1
  }

  leave(): void {
    this.#holders -= 1
    if (this.#used === 0 && this.#holders === 0) this.#idle()
  }
}

/** The accounts of all users and addresses, and their sum. */
export class BytesInFlight {
  readonly #limits: ByteLimits
  readonly #whole: Shared
  readonly #users = new Map<string, ByteAccount>()
  readonly #addresses = new Map<string, ByteAccount>()

  /** `passed` is called from time to time with the number of bytes taken since the last call. */
  constructor(limits: ByteLimits, passed: (bytes: number) => void = () => {}) {
    this.#limits = limits
    this.#whole = {
      used: 0,
      limit: limits.total,
      taken: 0,
      passed,
      sending: new FairTurns(CHUNKS_PER_TURN),
      reading: new FairTurns(),
    }
  }

  /** Bytes held in all accounts. */
  get used(): number {
    return this.#whole.used
  }

  /** The account of a user; it exists as long as the hub runs. */
  user(userId: string): ByteAccount {
    let account = this.#users.get(userId)
    if (!account) {
      account = new ByteAccount(`user ${userId}`, this.#limits.perUser, this.#whole)
      this.#users.set(userId, account)
    }
    return account
  }

  /** The account of an address, already entered: the caller leaves it when its request ends. */
  enterAddress(address: string): ByteAccount {
    let account = this.#addresses.get(address)
    if (!account) {
      account = new ByteAccount(`address ${address}`, this.#limits.perAddress, this.#whole, () =>
        this.#addresses.delete(address),
      )
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
