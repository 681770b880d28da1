import type { ErrorCode } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Credential } from '../contract/records.ts'
import type { OwnGrant } from './services/hub-services.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    headerProvider: HeaderProvider
    credentialSource: CredentialSource
    tokenVerifier: TokenVerifier
    challenge: Challenge
  }
}

declare module './services/hub-services.ts' {
  interface PluginStates {
    /** The server as its connections see it, with its secrets: for a contribution at `credentialSource`. */
    target(serverId: string): Promise<CredentialTarget>
    /** For a contribution at `credentialSource`: a user's credential for a server is another one now. */
    credentialChanged(serverId: string, userId: string, change: CredentialChange): void
  }
}

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
 * Reads Bearer tokens that are neither access keys nor session tokens. Such a token opens the paths of its `resources` under `/mcp`,
 * and there its `target`; core checks both, and that the user is there, enabled and of the same epoch.
 */
export interface TokenVerifier {
  /**
   * Undefined for a token that is not its own. Rejects with `token_invalid` and the like. Its outcome is kept for 30 s. What is open
   * with the credential ends within 5 s of its `expiresAtMs`: the end of the token, or of what the user agreed to where that is earlier.
   */
  verify(token: string): Promise<VerifiedToken | undefined>
  /** True once a credential that it has verified has ended. Answers from memory, since it is called with each request. */
  hasEnded(credential: GrantedCredential): boolean
  /**
   * True while what the user agreed to holds, also when the token itself has expired and its client can get another one. Answers
   * false for credentials of other verifiers. Calling it is not noted as a use of the grant.
   */
  isInForce(credential: GrantedCredential): boolean | Promise<boolean>
  /** The grants of this user that are in force. Undefined: it keeps no record of them. */
  grants(userId: string): Promise<readonly OwnGrant[]> | undefined
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

/** The server to which a connection leads. `config`: the fields of its transport, with variables filled in. */
export interface CredentialTarget {
  readonly id: string
  readonly name: string
  readonly ownerId: string
  readonly transport: string
  readonly config: JsonObject
}

/** Headers of a user's connection, or variables of a user's process. `proofKey`: a private JWK (P-256); each request proves it (DPoP). */
export interface Brought {
  readonly id: string
  /** A number that rises with each change of the headers. */
  readonly version: number
  readonly headers: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly proofKey?: JsonObject
}

/** The refusal of a request by a server. */
export interface CredentialChallenge {
  readonly status: 401 | 403
  /** The address of the request. */
  readonly url: string
  /** The text of its `WWW-Authenticate`. */
  readonly header?: string
}

/** A user's credential for a server. */
export interface CredentialStanding {
  /** `refused`: the user holds something that was refused for good. */
  readonly state: 'active' | 'sign_in_needed' | 'refused'
  /** Why it cannot be used; absent where it can. */
  readonly reason?: { readonly code: ErrorCode; readonly message: string }
  /** The page at which the user gets a credential, or another one. */
  readonly connectUrl?: string
  /** The id of the user's connection to the server, by which it can be ended. */
  readonly connection?: string
}

/**
 * Credentials of users for servers. A server whose `credentials` are its callers' has a connection for each user, with what
 * that user has; the connection that reads its lists carries the owner's, and so do all connections of other servers. An error
 * with `data.connectUrl` says that the user can end it at that page: the server is not tried again until `credentialChanged` of
 * the plugin's `states`, and callers get `authorization_required` with the page.
 */
export interface CredentialSource {
  /** Undefined: it has no say about this server. Throws when the user has nothing valid. */
  forConnection(server: CredentialTarget, userId: string): Promise<Brought | undefined>
  /**
   * The server refused what a connection carried (`used`, absent: nothing). Returns what to send the request again with, once;
   * undefined: the refusal is the server's answer. Throws as `forConnection` does.
   */
  refused(
    server: CredentialTarget,
    userId: string,
    used: Pick<Brought, 'id' | 'version'> | undefined,
    challenge: CredentialChallenge,
  ): Promise<Brought | undefined>
  /** The user's credential, from the source's own records, without asking another machine. Undefined: it has no say about this server. */
  standing?(server: CredentialTarget, userId: string): Promise<CredentialStanding | undefined>
}

/** `gained`: there is one now. `renewed`: it has other headers. `lost`: it must not be used any more. */
export type CredentialChange = 'gained' | 'renewed' | 'lost'

/** Adds headers when the hub connects to a server. A configured header of the same name wins; core ensures that. */
export interface HeaderProvider {
  /** A connection with a header of this provider follows no redirect at all; else only within the origin. */
  readonly redirects?: 'none'
  headersFor(
    server: Readonly<Record<'id' | 'ownerId' | 'transport' | 'url', string>>,
  ): Promise<Readonly<Record<string, string>>>
}
