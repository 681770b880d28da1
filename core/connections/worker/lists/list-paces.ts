import { LIMITS } from '../../../config/limits.ts'

/** Most characters of pages of one owner's servers that are being processed at the same time. */
const HELD_CHARACTERS = 32 * 1024 * 1024
/** Allowance for a burst: at its start a hub reads all lists at once. */
const BURST_BYTES = 2 * LIMITS.catalogReadBytesPerMinute
/** Cost of an item's objects and table rows besides its text. */
const ITEM_BYTES = 1024
const PER_MS = LIMITS.catalogReadBytesPerMinute / 60_000

/** Parts of one owner's lists that are on their way to main. */
const PARTS_AT_ONCE = 2

interface Account {
  partsUnderWay: number
  readonly waiting: (() => void)[]
  heldCharacters: number
  leftBytes: number
  atMs: number
}

/** Limits the cost of one owner's list readings in this thread, so that other owners' servers are not slowed down. */
export class ListPaces {
  readonly #accounts = new Map<string, Account>()

  /** Charges a page while it is processed; false: too many already. Call `release` after a true. */
  hold(owner: string, characters: number): boolean {
    const account = this.#of(owner)
    if (account.heldCharacters > 0 && account.heldCharacters + characters > HELD_CHARACTERS) return false
    account.heldCharacters += characters
    return true
  }

  release(owner: string, characters: number): void {
    this.#of(owner).heldCharacters -= characters
  }

  /** Resolves when one more part may be sent to main; `taken` must follow. */
  async part(owner: string): Promise<void> {
    const account = this.#of(owner)
    account.partsUnderWay += 1
    if (account.partsUnderWay > PARTS_AT_ONCE) await new Promise<void>(resolve => account.waiting.push(resolve))
  }

  taken(owner: string): void {
    const account = this.#of(owner)
    account.partsUnderWay -= 1
    account.waiting.shift()?.()
  }

  /** Charges what was read; returns how many milliseconds this owner's next page must wait. */
  spend(owner: string, bytes: number, items: number): number {
    const account = this.#of(owner)
    const now = performance.now()
    account.leftBytes = Math.min(BURST_BYTES, account.leftBytes + (now - account.atMs) * PER_MS)
    account.atMs = now
    account.leftBytes -= bytes + items * ITEM_BYTES
    return Math.max(0, -account.leftBytes / PER_MS)
  }

  #of(owner: string): Account {
    const known = this.#accounts.get(owner)
    if (known) return known
    const made = { partsUnderWay: 0, waiting: [], heldCharacters: 0, leftBytes: BURST_BYTES, atMs: performance.now() }
    this.#accounts.set(owner, made)
    return made
  }
}

/** The pause until one server's next reading, in milliseconds: 64 MiB a minute. */
export function pauseAfterMs(bytes: number, items: number): number {
  return (bytes + items * ITEM_BYTES) / PER_MS
}
