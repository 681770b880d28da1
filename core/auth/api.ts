import type { UserActor } from '../contract/records.ts'

/** Origin of a credential. */
export interface CredentialSource {
  /** The key of per-client limits: the client's address, or its IPv6 network. */
  readonly addressKey: string
  /** True when administrators keep their rights at this address (ADMIN_ADDRESSES). */
  readonly mayAdminister: boolean
}

/** Use of a credential. */
export type TokenAudience = 'api' | 'tools' | 'mcp'

/** Authenticates requests and tokens. */
export interface Authenticator {
  /**
   * Resolves the user of a request's headers. Synchronous when the credential was verified in the last 30 s. `mcp`
   * accepts `Authorization` only; `api` also `x-auth-token`. An administrator at an address without administration is
   * returned as an ordinary user (`restricted`). Throws HubError: unauthenticated, token_*, credentials_conflict,
   * insufficient_scope (a key without `api` on the API; `tools` is the API without this rule), password_change_required (unless `beforePasswordChange`),
   * second_factor_required (unless `beforeSecondFactor`), and rate_limited for a credential that was never verified, from an address that has sent too many wrong ones.
   */
  authenticate(
    headers: Headers,
    audience: TokenAudience,
    method: string,
    source: CredentialSource,
    beforePasswordChange?: boolean,
    beforeSecondFactor?: boolean,
  ): UserActor | Promise<UserActor>
  /** The same for a token sent as a text (first WebSocket message). */
  authenticateToken(
    token: string,
    audience: 'api' | 'mcp',
    method: string,
    source: CredentialSource,
  ): Promise<UserActor>
  /** True when the credential of an open stream or session is still valid. Cheap; cached. */
  stillValid(actor: UserActor): boolean | Promise<boolean>
  /**
   * False when the access key, the sign-in or the grant behind the credential has ended, or when the account is
   * disabled or gone. A token that has expired is no end while its client can get the next one, nor is another role.
   */
  continues(actor: UserActor): Promise<boolean>
}
