import type { JsonObject } from './json.ts'

/** The server to which a connection leads. `config`: the fields of its transport, with variables filled in. */
export interface CredentialTarget {
  readonly id: string
  readonly name: string
  readonly ownerId: string
  readonly transport: string
  readonly config: JsonObject
}

/** Headers that a connection carries for one user, and by which the source knows them again. */
export interface Brought {
  readonly id: string
  /** A number that rises with each change of the headers. */
  readonly version: number
  readonly headers: Readonly<Record<string, string>>
}

/** The refusal of a request by a server. */
export interface CredentialChallenge {
  readonly status: 401 | 403
  /** The address of the request. */
  readonly url: string
  /** The text of its `WWW-Authenticate`. */
  readonly header?: string
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
}

/** `gained`: there is one now. `renewed`: it has other headers. `lost`: it must not be used any more. */
export type CredentialChange = 'gained' | 'renewed' | 'lost'
