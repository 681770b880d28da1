import { LIMITS } from '../../config/limits.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import type { EgressOwner } from '../../outbound/egress.ts'
import { createPace } from '../../outbound/pace.ts'

/** For all sandboxed programs of one owner together: about a tenth of what the hub's thread could carry. */
const EXIT_BYTES_PER_SECOND = 64 * 1024 * 1024

/** The outbound limits that one owner's sandboxed programs share: bytes per second, connections, buffered bytes. */
export class ExitShare implements EgressOwner {
  readonly pace = createPace(EXIT_BYTES_PER_SECOND)
  readonly #account: ByteAccount
  #connections = 0

  constructor(account: ByteAccount) {
    this.#account = account
  }

  enter(): boolean {
    if (this.#connections >= LIMITS.ownerTunnels) return false
    this.#connections += 1
    return true
  }

  leave(): void {
    this.#connections -= 1
  }

  held(bytes: number): void {
    this.#account.add(bytes)
  }

  gone(bytes: number): void {
    this.#account.give(bytes)
  }
}
