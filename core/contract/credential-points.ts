import type { Credential } from './records.ts'

/** A credential that a plugin has issued. */
export type GrantedCredential = Extract<Credential, { kind: 'grant' }>

/** The outcome of a check of a token. */
export interface VerifiedToken {
  readonly userId: string
  /** The user's `epoch` when the token was issued; with another one now, the token is refused. */
  readonly epoch: number
  readonly credential: GrantedCredential
}

/**
 * Reads Bearer tokens that are neither access keys nor session tokens. Such a token opens the path of its `resource` under `/mcp`,
 * and there its `target`; core checks both, and that the user is there, enabled and of the same epoch.
 */
export interface TokenVerifier {
  /** Undefined for a token that is not its own. Rejects with `token_invalid`, `token_expired` or `token_revoked`. Its outcome is kept for 30 s. */
  verify(token: string): Promise<VerifiedToken | undefined>
  /** True once a credential that it has verified has ended. Answers from memory, since it is called with each request. */
  hasEnded(credential: GrantedCredential): boolean
}

/** A refused request under `/mcp`. */
export interface RefusedAccess {
  /** 401, or 403 for a credential with too few scopes. */
  readonly status: 401 | 403
  /** As the client wrote it, below the base path. */
  readonly path: string
  readonly baseUrl: string
  readonly message: string
}

/** Says in `WWW-Authenticate` how a client gets a credential. */
export interface Challenge {
  /** Parameters beside `realm` and `error`, in this order; a quotation mark in a value is sent as `%22`. */
  parameters(refused: RefusedAccess): Readonly<Record<string, string>>
}
