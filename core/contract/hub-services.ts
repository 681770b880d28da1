import type { CredentialChange, CredentialTarget } from './credentials.ts'
import type { ErrorCode } from './errors.ts'
import type { GuardedDial, GuardedFetch } from './fetch.ts'
import type { JsonObject } from './json.ts'
import type { Actor, ConnectionState, Role, UserActor } from './records.ts'

/**
 * Servers or groups within the rights of an actor, as the API returns them: those that the actor may not see are missing.
 * `ref`: a name, or `owner~name`. Changes have audit records that name the plugin. Rejects with the errors of the routes.
 */
export interface PluginRecords<Found, Listed = Found> {
  /** The records that the actor owns. */
  list(actor: Actor): Promise<readonly Listed[]>
  find(actor: Actor, ref: string): Promise<Found>
  create(actor: Actor, body: JsonObject): Promise<Found>
  patch(actor: Actor, ref: string, patch: JsonObject): Promise<Found>
  remove(actor: Actor, ref: string): Promise<void>
}

/** A user, as plugins see it. */
export type Person = Readonly<{ id: string; name: string; role: Role; disabled: boolean }>

/** The users. */
export interface PluginPeople {
  byId(userId: string): Promise<Person | undefined>
  /** The user with the rights of an ordinary one, for work outside of requests. Undefined when the user is gone or disabled. */
  actor(userId: string): Promise<UserActor | undefined>
}

/** The hub's connection to a server. */
export type StateInfo = Readonly<{ state: ConnectionState; reason?: { code: ErrorCode; message: string } }>

/** States of servers that the actor may see; `waitMs`: longest wait until the server is online or stays offline. */
export interface PluginStates {
  of(actor: Actor, ref: string, waitMs?: number): Promise<StateInfo>
  /** Closes the connections and opens new ones. The actor must be allowed to edit the server, which must be enabled. */
  restart(actor: Actor, ref: string): Promise<void>
  /** The server as its connections see it, with its secrets: for a contribution at `credentialSource`. */
  target(serverId: string): Promise<CredentialTarget>
  /** For a contribution at `credentialSource`: a user's credential for a server is another one now. */
  credentialChanged(serverId: string, userId: string, change: CredentialChange): void
}

/** An MCP client inside the hub. The actor's rights are checked at each request. It ends with the plugin. */
export interface PluginClient {
  tools(most: number): Promise<readonly JsonObject[]>
  /** Resolves with the result. Rejects with the hub's refusals, and with `upstream_protocol` for an error of the server. */
  call(tool: string, given: JsonObject, signal: AbortSignal): Promise<JsonObject>
  close(): void
}

/** Requests in the rights that a user has now; rejects with `user_not_found` for one that is gone or disabled. */
export type FetchFor = (userId: string) => GuardedFetch

/** WebSockets in the rights that a user has when they are opened; rejects as {@link FetchFor} does. They end with the plugin. */
export type DialFor = (userId: string) => GuardedDial
