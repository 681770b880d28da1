import { LIMITS } from '../../config/limits.ts'
import type { ByteAccount, Reclaimable } from '../../domain/byte-account.ts'
import type { LongText } from '../../domain/json/long-text.ts'
import { LinkedList, type LinkedNode } from '../rpc/linked-list.ts'

/** Bytes that an event takes in memory besides its data. */
const EVENT_BYTES = 256

/** A sent event that can be sent again to a client that resumes its stream. */
export interface ReplayEvent extends LinkedNode<ReplayEvent> {
  /**
   * The event as bytes, not as text: a short text may be a slice of a longer one, and would keep all of that in memory
   * for as long as the event is kept.
   */
  readonly data: LongText
  /** Removes it from the ring buffer of its session, where it is the oldest. */
  drop(): void
}

/** The replay events of all sessions of one user, in the order in which they were sent. */
export class UserReplay implements Reclaimable {
  readonly #account: ByteAccount
  readonly #events = new LinkedList<ReplayEvent>()
  #bytes = 0

  constructor(account: ByteAccount) {
    this.#account = account
    account.reclaimable = this
  }

  /** Bytes of all events together. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds an event; older ones of any session of the user may be dropped for it. False when there is no room. */
  add(event: ReplayEvent): boolean {
    const bytes = bytesOf(event)
    if (bytes > LIMITS.eventReplayBytesPerUser) return false
    while (this.#bytes + bytes > LIMITS.eventReplayBytesPerUser) if (!this.dropOldest()) return false
    if (!this.#account.fits(bytes)) return false
    this.#account.add(bytes)
    this.#bytes += bytes
    this.#events.add(event)
    return true
  }

  /** Called when its session's ring buffer has dropped the event. */
  delete(event: ReplayEvent): void {
    const bytes = bytesOf(event)
    this.#events.delete(event)
    this.#bytes -= bytes
    this.#account.give(bytes)
  }

  dropOldest(): boolean {
    const oldest = this.#events.first
    oldest?.drop()
    return oldest !== undefined
  }
}

function bytesOf({ data }: ReplayEvent): number {
  return data.byteLength + EVENT_BYTES
}
