import type { ErrorCode } from '../../contract/errors.ts'
import type { GuardedFetch } from '../../contract/fetch.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor, ConnectionState, GroupRecord, Role, ServerRecord, UserActor } from '../../contract/records.ts'
import type { GuardedDial } from './sockets.ts'

declare module '../../contract/plugin.ts' {
  interface PluginContext<Config> {
    readonly servers: PluginServers
    readonly groups: PluginRecords<GroupRecord, Omit<GroupRecord, 'members'>>
    readonly people: PluginPeople
    /** Usable once the hub has begun, as is `client`; in `setup` both reject with `starting`. */
    readonly states: PluginStates
    /** Opens a client at a path such as `/mcp/work`. */
    client(actor: UserActor, path: string): Promise<PluginClient>
    readonly audit: PluginAudit
    readonly fetchFor: FetchFor
    readonly dialFor: DialFor
  }
}

/**
 * Servers or groups within the rights of an actor, as the API returns them: those that the actor may not see are missing.
 * `ref`: a name, or `owner~name`. Changes have audit records that name the plugin. Rejects with the errors of the routes.
 */
export interface PluginRecords<Found, Listed = Found> {
  /**
   * The records that the actor owns; with `visible` also those that are shared with it, and public ones; with `all` those of
   * everybody: `admin_only` unless the actor is an administrator.
   */
  list(actor: Actor, scope?: 'mine' | 'visible' | 'all'): Promise<readonly Listed[]>
  /** `edit`, `owner`: `not_owner` unless the actor may change it, or is its owner or an administrator. Default `see`. */
  find(actor: Actor, ref: string, right?: 'see' | 'edit' | 'owner'): Promise<Found>
  create(actor: Actor, body: JsonObject): Promise<Found>
  patch(actor: Actor, ref: string, patch: JsonObject): Promise<Found>
  remove(actor: Actor, ref: string): Promise<void>
}

/** Options of a change of a server. */
export interface ServerWrite {
  /** The template that the server follows from now on, in the form of the point `serverTemplates`. Absent: unchanged. */
  readonly template?: JsonObject
  /** The revision that was read: `version_conflict` when it is another one now. */
  readonly ifRevision?: number
  /** The audit record, if not `server.create` or `server.update` with the plugin's name. */
  readonly audit?: Readonly<{ action?: string; detail: JsonObject; request?: AuditedRequest }>
}

/** Fields of a request that an audit record has. */
export type AuditedRequest = Readonly<Record<'requestId' | 'clientAddress', string>>
/** The servers. */
export interface PluginServers extends PluginRecords<ServerRecord> {
  create(actor: Actor, body: JsonObject, write?: ServerWrite): Promise<ServerRecord>
  replace(actor: Actor, ref: string, body: JsonObject, write?: ServerWrite): Promise<ServerRecord>
  /** Checks a body as `create` does, or as `replace` of `ref`; changes nothing. */
  check(actor: Actor, body: JsonObject, ref?: string): Promise<void>
  /** Names of the servers, of one owner or of all, that run a program which the plugin stores; `field`: of its `programs`. */
  running(field: string, program: string, ownerId?: string): Promise<readonly string[]>
  /** True when the sandbox has a program of this name. */
  hasProgram(name: string): boolean
  /** Flat, secrets masked; for an actor who may edit it. */
  body(record: ServerRecord): JsonObject
  /** The server as `GET /api/servers/{ref}` answers it. In `setup` it throws `starting`. */
  view(actor: Actor, record: ServerRecord): object
}

/** A user, as plugins see it. `epoch` rises when all credentials of the user are withdrawn, as by a new password. */
export type Person = Readonly<{
  id: string
  name: string
  role: Role
  disabled: boolean
  epoch: number
  secondFactor: boolean
}>

/** An access key. `makers`: ids of those from which it descends, the oldest first; some may be deleted. */
export type OwnKey = Readonly<{ id: string; label: string; makers: readonly string[] }>

/** A grant: a user lets a client act in its name. `label`: the name of the client. */
export type OwnGrant = Readonly<{ id: string; label: string }>

/** The users. */
export interface PluginPeople {
  byId(userId: string): Promise<Person | undefined>
  /** Rejects with `user_not_found`. */
  byName(actor: Actor, name: string): Promise<Person>
  /** The actor's own access keys. */
  keys(actor: UserActor): Promise<readonly OwnKey[]>
  /** Ids of a user's access keys, and of those, perhaps deleted, from which its keys and records descend. */
  keysBehind(userId: string): Promise<ReadonlySet<string>>
  /**
   * The grants of a user that are in force; their ids are those of credentials of the kind `grant`. Undefined where they are not
   * known, since no plugin that verifies tokens runs, or one keeps no record.
   */
  grants(userId: string): Promise<readonly OwnGrant[] | undefined>
  /** The user with the rights of an ordinary one, for work outside of requests. Undefined when the user is gone or disabled. */
  actor(userId: string): Promise<UserActor | undefined>
  /**
   * For work that outlasts a request: false when what the actor came with has ended, that is its access key, its sign-in or what it
   * agreed to for a client, or when the account is disabled or gone. A token that has expired is no end while its client can get the
   * next one. `actor`: the object that came with the request. Rejects when the store fails.
   */
  continues(actor: UserActor): Promise<boolean>
}

/** The hub's connection to a server. */
export type StateInfo = Readonly<{ state: ConnectionState; reason?: { code: ErrorCode; message: string } }>

/** Keeps an audit record `{plugin}.{word}`, for work outside of a request that has one by itself. */
export type PluginAudit = (
  actor: Actor,
  word: string,
  target: string,
  ownerId: string,
  said?: ServerWrite['audit'],
) => void

/** States of servers that the actor may see; `waitMs`: longest wait until the server is online or stays offline. */
export interface PluginStates {
  of(actor: Actor, ref: string, waitMs?: number): Promise<StateInfo>
  /**
   * The server's own names of all its tools, switched off ones included, as of the last reading. Undefined before the first one.
   * The actor must be allowed to see the server's settings.
   */
  tools(actor: Actor, ref: string): Promise<readonly string[] | undefined>
  /** Closes the connections and opens new ones. The actor must be allowed to edit the server, which must be enabled. */
  restart(actor: Actor, ref: string): Promise<void>
}

/** An MCP client inside the hub. The actor's rights are checked at each request. It ends with the plugin. */
export interface PluginClient {
  tools(most: number): Promise<readonly JsonObject[]>
  /** Resolves with the result. Rejects with the hub's refusals, and with `upstream_protocol` for an error of the server. */
  call(tool: string, given: JsonObject, signal: AbortSignal): Promise<JsonObject>
  close(): void
}

/**
 * Requests in the rights that a user has now, or those of an ordinary user with `as`; rejects with `user_not_found` for one that
 * is gone or disabled. Undefined: nobody, with the rights of an ordinary user.
 */
export type FetchFor = (userId: string | undefined, as?: 'user') => GuardedFetch

/** WebSockets in the rights that a user has when they are opened; rejects as {@link FetchFor} does. They end with the plugin. */
export type DialFor = (userId: string) => GuardedDial
