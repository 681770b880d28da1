/** Codes of this plugin. */

/** The page at which the caller ends the error. */
export type AtPage = { connectUrl: string }

/** A token that proves who a user is, with its type as of RFC 8693. */
export interface SubjectToken {
  readonly token: string
  readonly type: `urn:ietf:params:oauth:token-type:${'id_token' | 'access_token' | 'jwt' | 'saml2'}`
}

/** Gives tokens of users for servers with the grant `id_jag`, `token_exchange` or `jwt_bearer`. */
export interface TokenGrant {
  /**
   * A token of the user from this issuer, which alone gets it. Undefined: there is none. The issuer is what the owner of a server
   * wrote, or what a server names: only a token that this issuer gave may be returned. `audience`: with `jwt_bearer` the issuer of the
   * server, which gets the token as it is; the hub sends no token that is not for it.
   */
  subjectToken(userId: string, issuer: string, audience?: string): Promise<SubjectToken | undefined>
}

declare module 'patchbay/contract' {
  interface ExtensionPoints {
    tokenGrant: TokenGrant
  }
  interface ErrorCodes {
    sign_in_needed: AtPage
    scope_needed: AtPage & { scopes: readonly string[] }
    scope_denied: AtPage
    resource_changed: AtPage
    issuer_changed: AtPage
    flow_unknown: never
    flow_expired: never
    flow_foreign: never
    sign_in_denied: never
    issuer_mismatch: never
    resource_mismatch: never
    pkce_unsupported: never
    issuer_unusable: never
    issuer_unreachable: { retryAfterSeconds: number }
    client_needed: { redirectUri: string }
    client_refused: never
    token_too_large: never
    connection_not_found: never
  }
}
