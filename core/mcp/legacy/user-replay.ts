import { LIMITS } from '../../config/limits.ts'
import type { ByteAccount, Reclaimable } from '../../domain/byte-account.ts'
import type { LongText } from '../../domain/json/long-text.ts'
import { LinkedList, type LinkedNode } from '../rpc/linked-list.ts'

/** What an event takes in memory besides its data. */
const EVENT_BYTES = 256

/** A sent event that may be sent again to a client that resumes its stream. */
export interface ReplayEvent extends LinkedNode<ReplayEvent> {
  /**
   * What was sent, as bytes: a short text may be a part of a longer one, and would hold the memory of all of that for as
   * long as the event is kept.
   */
  readonly data: LongText
  /** Takes it out of the ring of its session, where it is the oldest. */
  drop(): void
}

/** The replay events of all sessions of one user in the order in which they were sent. */
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

  /** Adds an event, for which older ones of any session of the user may be dropped. False when there is no room for it. */
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

  /** The ring of its session does not hold this event any more. */
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
