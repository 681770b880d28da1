import { LIMITS } from '../../../config/limits.ts'

/** Pages of one owner's servers that were read and are being taken apart, in characters. */
const HELD_CHARACTERS = 32 * 1024 * 1024
/** What a pause has saved: a hub that starts reads all lists at once. */
const BURST_BYTES = 2 * LIMITS.catalogReadBytesPerMinute
/** Objects and table rows of an item cost beside its text. */
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

/** What the lists of one owner's servers may cost in this thread, so that the servers of others are read and called as before. */
export class ListPaces {
  readonly #accounts = new Map<string, Account>()

  /** Takes a page into account while it is taken apart; false: there are too many already. `release` follows a true. */
  hold(owner: string, characters: number): boolean {
    const account = this.#of(owner)
    if (account.heldCharacters > 0 && account.heldCharacters + characters > HELD_CHARACTERS) return false
    account.heldCharacters += characters
    return true
  }

  release(owner: string, characters: number): void {
    this.#of(owner).heldCharacters -= characters
  }

  /** Resolves when one more part may travel to main; `taken` follows. */
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

  /** What was read; returns how many milliseconds the next page of this owner should wait for. */
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

/** Until so much was read again, one server's next reading is due; 64 MiB a minute. */
export function pauseAfterMs(bytes: number, items: number): number {
  return (bytes + items * ITEM_BYTES) / PER_MS
}
