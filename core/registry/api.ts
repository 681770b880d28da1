import type { FieldError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type {
  Actor,
  GroupMember,
  GroupRecord,
  Role,
  ServerRecord,
  ServerSettings,
  Visibility,
} from '../contract/records.ts'
import type { ThingRole } from '../domain/ownership.ts'
import type { RightsCap } from '../domain/server/owner-rights.ts'
import type { UserGrants } from '../domain/server/spawn-policy.ts'
import type { ListQuery, WriteOptions } from './options.ts'
import type { KeyRegistry, UserRegistry } from './people-api.ts'
import type { ShareRegistry, TeamRegistry } from './shares-api.ts'

export type { ListQuery, WriteOptions } from './options.ts'
export type { KeyRecord, KeyRegistry, NewKey, UserChange, UserRecord, UserRegistry } from './people-api.ts'
export type {
  NewTeam,
  SharedKind,
  ShareRecord,
  ShareRegistry,
  SharesChange,
  TeamRecord,
} from './shares-api.ts'

/**
 * The registry with ownership rules: every call takes the actor, checks its rights, runs one transaction, and emits its event
 * after the commit. A record that an actor may not see is rejected exactly as if it were missing.
 */
export interface Registry {
  readonly servers: ServerRegistry
  readonly groups: GroupRegistry
  readonly users: UserRegistry
  readonly keys: KeyRegistry
  readonly shares: ShareRegistry
  readonly teams: TeamRegistry
  readonly settings: SettingRegistry
  readonly audit: AuditRegistry
}

/** A name, or `owner~name`. */
export type Ref = string
/** The least role that an actor must have: `use` also those of public things, `owner` the owner and administrators. */
export type Right = ThingRole

/** One page; `total` counts all matches. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** Options for creating a server. */
export interface CreateOptions {
  /**
   * Another user wrote the body, and the actor may not have read it. Such a server of an owner with more than ordinary rights
   * waits for a review.
   */
  readonly unseen?: boolean
  /** The template from which it is installed. */
  readonly template?: JsonObject | undefined
}

/** A stored document in UTF-8 that is read part by part. Each part is in memory of its own. */
export interface DocumentParts {
  /** Bytes of the whole text. */
  readonly bytes: number
  /** Bytes of the largest part, at most 1 MiB. */
  readonly partBytes: number
  /** Reads the next part. Undefined at the end. Throws `config_invalid` when the document was replaced or deleted. */
  next(): Promise<Uint8Array<ArrayBuffer> | undefined>
}

/** Servers with the rights of the actor. Throws `server_not_found`, `not_owner`, `validation_failed`. */
export interface ServerRegistry {
  /** All matches, unpaged: the route filters by live state and pages. */
  list(actor: Actor, query: ListQuery): Promise<readonly ServerRecord[]>
  /**
   * Resolves (actor, name) first, then `owner~name`, then the only public server of that name, then, for an
   * administrator, the only one at all. Several candidates: `server_ambiguous`, which lists them. Not visible:
   * `server_not_found`, as if missing. Visible but not editable with right `edit`: `not_owner`.
   */
  resolve(actor: Actor, ref: Ref, right: Right): Promise<ServerRecord>
  /** By id with the same rights; undefined when missing or not visible. */
  byId(actor: Actor, id: string): Promise<ServerRecord | undefined>
  /** `body` is the flat body of the API (or the nested one); all invalid fields are reported at once. */
  create(actor: Actor, body: JsonObject, options?: CreateOptions): Promise<ServerRecord>
  replace(actor: Actor, ref: Ref, body: JsonObject, options?: WriteOptions): Promise<ServerRecord>
  /** RFC 7396 merge patch of the flat body. */
  patch(actor: Actor, ref: Ref, patch: JsonObject, options?: WriteOptions): Promise<ServerRecord>
  remove(actor: Actor, ref: Ref, options?: WriteOptions): Promise<void>
  setEnabled(actor: Actor, ref: Ref, enabled: boolean): Promise<ServerRecord>
  /** Opens the inline OpenAPI document of a server that the actor may edit. Undefined when it has none. */
  document(actor: Actor, ref: Ref): Promise<DocumentParts | undefined>
  /** The flat body for the API, for an actor who may edit: secrets masked. */
  publicBody(record: ServerRecord): JsonObject
  /**
   * The flat body with `replace` applied to each opened secret, and the inline OpenAPI document as a text; for exports. The
   * actor must be its owner.
   */
  openBody(
    actor: Actor,
    record: ServerRecord,
    replace: (secret: string, pointer: string) => string,
  ): Promise<JsonObject>
  /** The configuration for connecting: secrets opened, `${variables}` filled in. Throws variable_unknown. Never shown. */
  effective(id: string): Promise<EffectiveServer>
  /**
   * Validates a body as `create` would, without saving; returns the settings for a trial connection. Masks are replaced by the
   * secrets of `edited`, if the actor may change that server; a mask that matches no secret is `secret_mask`.
   */
  draft(actor: Actor, body: JsonObject, edited?: Ref): Promise<EffectiveServer>
  /** Names of the servers, of one owner or of all, that run a stored program; `field`: the member that names it. */
  running(field: string, program: string, ownerId?: string): Promise<readonly string[]>
}

/** A server ready to connect: secrets opened, variables filled in, its owner's rights. */
export interface EffectiveServer {
  readonly settings: ServerSettings
  readonly ownerId: string
  readonly ownerRole: Role
  /** Never reused; the uid of sandboxed processes is derived from it. */
  readonly ownerNumber: number
  readonly ownerGrants: UserGrants
  /** The limit due to which the role and grants above may be less than the owner’s own. */
  readonly rightsCap?: RightsCap
  /** Texts to redact in all output about the server: its decrypted secrets, and their parts that may appear alone. */
  readonly secrets: readonly string[]
  /** Protocol version for `initialize`, if the server was found to reject the latest one. */
  readonly askedVersion?: string
  /** SHA-256 of all settings whose change requires a new connection. */
  readonly configHash: string
  /** Reads the inline OpenAPI document whose placeholder is in `settings`, as UTF-8. Absent if there is none. */
  readonly document?: () => Promise<Uint8Array>
}

/** A member of a group with its server. */
export interface UsableMember {
  readonly member: GroupMember
  readonly server: ServerRecord
}

/** A written group with the members that the actor may use, so that the response needs no read after the commit. */
export interface WrittenGroup extends GroupRecord {
  readonly usable: readonly UsableMember[]
  /** Names of members whose servers were deleted since the last write of members; for editors of the group. */
  readonly lost: readonly string[]
}

/** A group without its members; all groups of one user may have tens of thousands of members. */
export type GroupHead = Omit<GroupRecord, 'members'>

/** Former names of a group's members, kept by an import. */
export interface FormerNames {
  /** Names under which the other hub served it; its owner finds it by them too. */
  readonly formerPaths?: readonly string[]
  /** Former prefixes of the members' tools and prompts, by the server's name in the body. */
  readonly formerPrefixes?: ReadonlyMap<string, string>
}

/** Groups with the rights of the actor. Throws `group_not_found`, `not_owner`, `validation_failed`. */
export interface GroupRegistry {
  /** All matches, unpaged; `byId` reads the members of one. */
  list(actor: Actor, query: ListQuery): Promise<readonly GroupHead[]>
  resolve(actor: Actor, ref: Ref, right: Right): Promise<GroupRecord>
  byId(actor: Actor, id: string): Promise<GroupRecord | undefined>
  /** The group of exactly this owner, if the actor may see it. Letter case ignored. */
  find(actor: Actor, ownerName: string | undefined, name: string): Promise<GroupRecord | undefined>
  create(actor: Actor, body: JsonObject, former?: FormerNames): Promise<WrittenGroup>
  /** Returns the group that {@link create} would store for this body; writes nothing. */
  draft(actor: Actor, body: JsonObject): Promise<WrittenGroup>
  replace(
    actor: Actor,
    ref: Ref,
    body: JsonObject,
    options?: WriteOptions & Pick<FormerNames, 'formerPrefixes'>,
  ): Promise<WrittenGroup>
  patch(actor: Actor, ref: Ref, patch: JsonObject, options?: WriteOptions): Promise<WrittenGroup>
  /** `group_in_use` while an assistant endpoint of the group's owner is bound to it, unless `force`. */
  remove(actor: Actor, ref: Ref, options?: WriteOptions & { readonly force?: boolean }): Promise<void>
  putMember(actor: Actor, ref: Ref, server: Ref, body: JsonObject): Promise<WrittenGroup>
  removeMember(actor: Actor, ref: Ref, server: Ref): Promise<WrittenGroup>
  /** The members whose servers this actor may use: own, public and shared ones, and private ones of the owner of a group that is shared with it. */
  usableMembers(
    actor: Actor,
    group: GroupRecord,
    options?: { /** As if the group were shared with the actor. */ readonly asShared?: boolean },
  ): Promise<readonly UsableMember[]>
  /** See `WrittenGroup.lost`. */
  lostMembers(groupId: string): Promise<readonly string[]>
  publicBody(record: GroupRecord): JsonObject
}

/** System and user settings; null as a value removes a setting. */
export interface SettingRegistry {
  /**
   * Stored bytes of a user: servers, documents, groups, settings and keys; `config`: the part that lists read.
   */
  storedBytes(userId: string): Promise<{ readonly total: number; readonly config: number }>
  /** A system setting made through the API, or undefined. */
  system(key: string): Promise<JsonValue | undefined>
  allSystem(): Promise<Readonly<Record<string, JsonValue>>>
  /** Counts the changes of the system's settings by `setSystem`; 0 before the first. */
  systemRevision(): Promise<number>
  /** Throws `version_conflict` when another revision was seen. */
  setSystem(
    actor: Actor,
    values: Readonly<Record<string, JsonValue | null>>,
    options?: Pick<WriteOptions, 'ifRevision'>,
  ): Promise<void>
  user(userId: string): Promise<Readonly<Record<string, JsonValue>>>
  /** Sets all values or, if it throws, none; `secrets` are encrypted. One `settings.updated` names all keys. */
  setUser(
    actor: Actor,
    userId: string,
    values: Readonly<Record<string, JsonValue | null>>,
    secrets?: Readonly<Record<string, string | null>>,
  ): Promise<void>
  /** A secret of the hub itself, sealed; null removes it. Administrators only. `settings.updated` names its key. */
  setSystemSecret(actor: Actor, key: string, value: string | null): Promise<void>
  /** The scope of what a plugin keeps of the hub, in place of a user's id. */
  pluginScope(plugin: string): string
  /** Values and secrets of a plugin that belong to no user. */
  setPlugin(
    plugin: string,
    values: Readonly<Record<string, JsonValue | null>>,
    secrets?: Readonly<Record<string, string | null>>,
  ): Promise<void>
  /** For the hub's own use. */
  openSystemSecret(key: string): Promise<string | undefined>
  /** Displayable facts about a secret: its last characters, empty for a short one, and the time when it was stored. */
  systemSecretInfo(key: string): Promise<{ readonly last4: string; readonly setAt: string } | undefined>
  /** For the hub's own use. */
  openUserSecret(userId: string, key: string): Promise<string | undefined>
  /** Times when the secrets were stored, by key. Decrypts none, which would take a good part of a millisecond for 64. */
  userSecretTimes(userId: string, prefix: string): Promise<Readonly<Record<string, string>>>
  userSecretInfo(
    userId: string,
    prefix: string,
  ): Promise<Readonly<Record<string, { readonly last4: string; readonly setAt: string }>>>
}

/** One audit record; `detail` is redacted by key before it is stored. */
export interface AuditEntry {
  readonly action: string
  readonly target: string
  readonly ownerId: string | null
  /** The request that caused the action; absent for actions of the hub itself. */
  readonly request?: AuditedRequest
  readonly detail?: JsonObject
}

/** Fields of a request that the audit log keeps. */
export interface AuditedRequest {
  readonly requestId: string
  /** The client's address, after trusted proxies. */
  readonly clientAddress: string
}

/** The audit log; `list` returns the newest first. */
export interface AuditRegistry {
  /** Never throws or blocks: written in batches. */
  record(actor: Actor, entry: AuditEntry): void
  list(
    actor: Actor,
    query: { readonly limit: number; readonly offset: number; readonly action?: string; readonly user?: string },
  ): Promise<Page<JsonObject>>
  /**
   * Name of the user who made the first recorded change of a record since `since` (ISO 8601); undefined if there is none that
   * the actor may see.
   */
  changer(
    actor: Actor,
    change: { readonly kind: string; readonly record: string; readonly since: string },
  ): Promise<string | undefined>
  flush(): Promise<void>
}

/** Members of an entry of the settings file beside the body of its thing. */
export interface BesideBody {
  /** `[{subject, role}]`. */
  readonly shares?: JsonValue
  /** Settings of plugins, by name. */
  readonly attached?: JsonObject
}

/** The content of the settings file, mirrored into the store with `origin: file`. */
export interface FileState {
  readonly users: readonly (Pick<BesideBody, 'attached'> & {
    readonly name: string
    readonly passwordHash?: string
    readonly role: Role
  })[]
  /** `owner` absent: user row 1. */
  readonly servers: readonly (BesideBody & {
    readonly owner?: string
    readonly name: string
    readonly body: JsonObject
  })[]
  readonly groups: readonly (BesideBody & { readonly owner?: string; readonly body: JsonObject })[]
}

/** Mirrors the settings file into the store. */
export interface FileMirror {
  /** Makes the store match the file in one transaction, with events; entries that left the file are removed. */
  apply(state: FileState): Promise<{
    readonly applied: readonly string[]
    readonly problems: readonly { readonly entry: string; readonly errors: readonly FieldError[] }[]
  }>
}

export type { Visibility }
