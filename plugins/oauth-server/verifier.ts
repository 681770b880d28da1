import { HubError } from 'patchbay/contract'
import type { GrantedCredential, TokenVerifier } from 'patchbay/features'
import { ACCESS_SECONDS, type AccessTokens } from './access-tokens.ts'
import { type Grants, targetOf } from './grants.ts'

/** Ended grants and targets of the last hour: an access token lives no longer. */
export class EndedGrants {
  readonly #ends = new Map<string, number>()

  /** `id`: of a grant, or of a group or server that is gone. */
  add(id: string): void {
    const now = Date.now()
    this.#ends.delete(id)
    this.#ends.set(id, now + ACCESS_SECONDS * 1_000)
    for (const [old, end] of this.#ends) {
      if (end > now) break
      this.#ends.delete(old)
    }
  }

  has({ grantId, target }: GrantedCredential): boolean {
    if (this.#ends.size === 0) return false
    return this.#ends.has(grantId) || (target !== undefined && target.kind !== 'all' && this.#ends.has(target.id))
  }
}

/** Makes credentials of the access tokens of grants that are in force. */
export function tokenVerifier(tokens: AccessTokens, grants: Grants, ended: EndedGrants): TokenVerifier {
  return {
    async verify(token) {
      const claims = await tokens.read(token)
      if (!claims) return undefined
      const { grantId, clientId, scopes, resource, issuer, userId, epoch, expiresAtMs } = claims
      const grant = await grants.used(grantId)
      const isSame = grant?.user_id === userId && grant.resource === resource && grant.base === issuer
      if (!grant || !isSame)
        throw new HubError('token_revoked', 'What the user agreed to has ended', { hint: 'Sign in again.' })
      // Streams and calls of a token are checked by this time from memory, so that they end with the grant too.
      const endMs = Math.min(expiresAtMs, Date.parse(grant.expires_at))
      const credential: GrantedCredential = {
        ...{ kind: 'grant', grantId, clientId, label: grant.client_name, scopes, expiresAtMs: endMs },
        ...{ resources: [resource], target: targetOf(grant) },
      }
      return { userId, epoch, credential }
    },
    hasEnded: credential => ended.has(credential),
    isInForce: async credential => !ended.has(credential) && (await grants.inForce(credential.grantId)) !== undefined,
    grants: async userId => (await grants.list(userId)).map(({ id, client_name: label }) => ({ id, label })),
  }
}
