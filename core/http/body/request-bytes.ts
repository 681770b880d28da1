import type { UserActor } from '../../contract/records.ts'
import type { ByteAccount, BytesInFlight } from '../../domain/byte-account.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { addressKey } from '../addresses.ts'

/** What one request of the API counts for, from the first byte of its body until its answer is made. */
export class RequestBytes {
  readonly #bytes: BytesInFlight
  readonly #info: Pick<RequestInfo, 'clientAddress'>
  #actor: UserActor | undefined
  #account: ByteAccount | undefined
  #taken = 0

  constructor(bytes: BytesInFlight, info: Pick<RequestInfo, 'clientAddress'>) {
    this.#bytes = bytes
    this.#info = info
  }

  /** Who it is that counts; until then, and for nobody, it is the client's address. */
  identify(actor: UserActor | undefined): void {
    this.#actor = actor
  }

  get account(): ByteAccount {
    this.#account ??= this.#actor
      ? this.#bytes.user(this.#actor.userId)
      : this.#bytes.enterAddress(addressKey(this.#info.clientAddress))
    return this.#account
  }

  /** Throws `quota_bytes`, `overloaded`. */
  take(bytes: number): void {
    this.account.take(bytes)
    this.#taken += bytes
  }

  /** The request is over, once. */
  release(): void {
    this.#account?.give(this.#taken)
    if (!this.#actor) this.#account?.leave()
  }
}
