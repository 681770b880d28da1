import { toWireError } from '../../transport-kit/wire-error.ts'
import type { ConnectionCredential } from './connection-credential.ts'

/** The credentials that open connections carry. */
export class CredentialUses {
  readonly #uses = new Set<ConnectionCredential>()

  add(use: ConnectionCredential): void {
    this.#uses.add(use)
  }

  remove(use: ConnectionCredential | undefined): void {
    if (use) this.#uses.delete(use)
  }

  /** Gives the connections of a user to a server the present headers. Never rejects. */
  async renew(serverId: string, userId: string): Promise<void> {
    for (const use of [...this.#uses]) {
      const { credential } = use
      if (credential.target.id !== serverId || credential.userId !== userId) continue
      const carried = await credential.load().catch((error: unknown) => toWireError(error))
      // Without a valid credential the next refusal asks for one.
      if (!('code' in carried) && this.#uses.has(use)) use.set(carried)
    }
  }
}
