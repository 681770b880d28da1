import type { UserActor } from '../contract/records.ts'

export interface Authenticator {
  /**
   * The person behind a request's headers. Synchronous when the credential was verified in the last 30 s.
   * `mcp` takes `Authorization` alone; `api` also `x-auth-token`. Throws HubError: unauthenticated, token_*, credentials_conflict,
   * insufficient_scope (a key without `api` on the API), password_change_required (unless `beforePasswordChange`).
   */
  authenticate(
    headers: Headers,
    audience: 'api' | 'mcp',
    method: string,
    beforePasswordChange?: boolean,
  ): UserActor | Promise<UserActor>
  /** The same for a token that came as a text (first WebSocket message). */
  authenticateToken(token: string, audience: 'api' | 'mcp', method: string): Promise<UserActor>
  /** Whether the credential behind an open stream or session still holds now. Cheap; cached. */
  stillValid(actor: UserActor): boolean | Promise<boolean>
}
