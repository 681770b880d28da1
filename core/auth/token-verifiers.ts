import type { Credential } from '../contract/records.ts'
import type { GrantedCredential, TokenVerifier, VerifiedToken } from '../features/credentials.ts'
import type { OwnGrant } from '../features/services/hub-services.ts'

/** The plugins that verify tokens of their own. The hub authenticates before it has plugins: `source` is set later. */
export class TokenVerifiers {
  source: ReadonlyMap<string, TokenVerifier> = new Map()
  readonly #verifiedBy = new WeakMap<Credential, TokenVerifier>()

  /** The first outcome. Rejects with the error of the verifier whose token it is. */
  async verify(token: string): Promise<VerifiedToken | undefined> {
    for (const verifier of this.source.values()) {
      const found = await verifier.verify(token)
      if (!found) continue
      this.#verifiedBy.set(found.credential, verifier)
      return found
    }
    return undefined
  }

  /** True for credentials of the hub itself, and for one of a plugin that runs still and has not ended it. */
  isOpen(credential: Credential): boolean {
    if (credential.kind !== 'grant') return true
    const by = this.#verifiedBy.get(credential)
    if (!by || by.hasEnded(credential)) return false
    for (const verifier of this.source.values()) if (verifier === by) return true
    return false
  }

  /** True while some plugin that runs says so of a credential. */
  async isInForce(credential: GrantedCredential): Promise<boolean> {
    for (const verifier of this.source.values()) if (await verifier.isInForce(credential)) return true
    return false
  }

  /** See `PluginPeople.grants`. */
  async grants(userId: string): Promise<readonly OwnGrant[] | undefined> {
    const lists = [...this.source.values()].map(verifier => verifier.grants(userId))
    const known = await Promise.all(lists.filter(list => list !== undefined))
    return lists.length > 0 && known.length === lists.length ? known.flat() : undefined
  }
}
