import type { UserActor } from '../../contract/records.ts'
import type { ByteAccount, BytesInFlight } from '../../domain/byte-account.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { addressKey } from '../addresses.ts'

/** The bytes that one API request is charged, from the first byte of its body until its response is complete. */
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

  /** Charges this user from now on; before that, and for anonymous clients, the client's address is charged. */
  identify(actor: UserActor | undefined): void {
    this.#actor = actor
  }

  /** Id of the user who is charged; undefined for anonymous clients. */
  get userId(): string | undefined {
    return this.#actor?.userId
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

  /** Gives back the bytes that the request has taken: its answer is complete, and charged separately from now on. */
  settle(): void {
    this.#account?.give(this.#taken)
    this.#taken = 0
  }

  /** Called once, at the end of the request. */
  release(): void {
    this.settle()
    if (!this.#actor) this.#account?.leave()
  }
}
