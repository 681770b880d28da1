/** Codes of this plugin. */

/** The page at which the caller ends the error. */
export type AtPage = { connectUrl: string }

declare module 'patchbay/contract' {
  interface ErrorCodes {
    sign_in_needed: AtPage
    scope_needed: AtPage & { scopes: readonly string[] }
    scope_denied: AtPage
    resource_changed: AtPage
    issuer_changed: AtPage
    flow_unknown: never
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
