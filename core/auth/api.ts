import type { UserActor } from '../contract/records.ts'

/** Where a credential came from. */
export interface CredentialSource {
  /** What one client is counted by: its address, or its IPv6 network. */
  readonly addressKey: string
  /** Whether administrators have their rights from here (ADMIN_ADDRESSES). */
  readonly mayAdminister: boolean
}

export interface Authenticator {
  /**
   * The person behind a request's headers. Synchronous when the credential was verified in the last 30 s.
   * `mcp` takes `Authorization` alone; `api` also `x-auth-token`. An administrator at an address without administration comes
   * back as an ordinary user (`restricted`). Throws HubError: unauthenticated, token_*, credentials_conflict,
   * insufficient_scope (a key without `api` on the API), password_change_required (unless `beforePasswordChange`), and
   * rate_limited for a credential that was never verified, from an address that has sent too many wrong ones.
   */
  authenticate(
    headers: Headers,
    audience: 'api' | 'mcp',
    method: string,
    source: CredentialSource,
    beforePasswordChange?: boolean,
  ): UserActor | Promise<UserActor>
  /** The same for a token that came as a text (first WebSocket message). */
  authenticateToken(
    token: string,
    audience: 'api' | 'mcp',
    method: string,
    source: CredentialSource,
  ): Promise<UserActor>
  /** Whether the credential behind an open stream or session still holds now. Cheap; cached. */
  stillValid(actor: UserActor): boolean | Promise<boolean>
}
