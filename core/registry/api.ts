import type { FieldError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type {
  Actor,
  GroupMember,
  GroupRecord,
  KeyScope,
  Origin,
  Role,
  ServerRecord,
  ServerSettings,
  Visibility,
} from '../contract/records.ts'
import type { RightsCap } from '../domain/server/owner-rights.ts'
import type { UserGrants } from '../domain/server/spawn-policy.ts'

/**
 * The registry with ownership rules: every call takes the actor, checks its rights, runs one transaction, and emits its
 * event after the commit. What an actor may not see is rejected exactly as if it were missing.
 */
export interface Registry {
  readonly servers: ServerRegistry
  readonly groups: GroupRegistry
  readonly users: UserRegistry
  readonly keys: KeyRegistry
  readonly settings: SettingRegistry
  readonly audit: AuditRegistry
}

/** A name, or `owner~name`. */
export type Ref = string
/** `edit`: only the owner and administrators. */
export type Right = 'see' | 'edit'

/** One page; `total` counts all matches. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly total: number
}

/** Filters and order of a list; all are optional. */
export interface ListQuery {
  /** `mine` (default): owned by the actor. `visible`: also public ones of others. `all`: every one; administrators only. `public`: public ones of everybody. */
  readonly scope?: 'mine' | 'visible' | 'all' | 'public'
  /** Substring of name or description, letter case ignored, taken literally. */
  readonly q?: string
  /** A user's name. */
  readonly owner?: string
  /** `name`, `createdAt` or `updatedAt`, with `-` in front for descending. Default `name`. */
  readonly sort?: string
}

/** Conditions of a write. */
export interface WriteOptions {
  /** The revision that the writer saw; `version_conflict` when it is another one now. Absent: no check. */
  readonly ifRevision?: number
  /** The writer wants to create a record (`If-None-Match: *`): `version_conflict` when it exists. */
  readonly ifMissing?: true
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
  /**
   * `body` is the flat body of the API (or the nested one); all invalid fields are reported at once. `unseen`: somebody
   * else wrote it and the actor may not have read it. Such a server of an owner with more than ordinary rights waits
   * for a review.
   */
  create(actor: Actor, body: JsonObject, options?: { readonly unseen?: boolean }): Promise<ServerRecord>
  replace(actor: Actor, ref: Ref, body: JsonObject, options?: WriteOptions): Promise<ServerRecord>
  /** RFC 7396 merge patch of the flat body. */
  patch(actor: Actor, ref: Ref, patch: JsonObject, options?: WriteOptions): Promise<ServerRecord>
  remove(actor: Actor, ref: Ref, options?: WriteOptions): Promise<void>
  setEnabled(actor: Actor, ref: Ref, enabled: boolean): Promise<ServerRecord>
  /** The inline OpenAPI document of a server that the actor may edit, as UTF-8. Undefined when it has none. */
  document(actor: Actor, ref: Ref): Promise<Uint8Array | undefined>
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
   * Validates a body as `create` would, without saving; returns the settings for a trial connection. Masks stand for the
   * secrets of `edited`, if the actor may change that server; a mask that matches no secret is `secret_mask`.
   */
  draft(actor: Actor, body: JsonObject, edited?: Ref): Promise<EffectiveServer>
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
  /** Texts to redact in everything about the server: its opened secrets, and their parts that may appear alone. */
  readonly secrets: readonly string[]
  /** SHA-256 of all settings whose change requires a new connection. */
  readonly configHash: string
  /** Reads the inline OpenAPI document whose placeholder is in `settings`, as UTF-8. Absent: there is none. */
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

/** Groups with the rights of the actor. Throws `group_not_found`, `not_owner`, `validation_failed`. */
export interface GroupRegistry {
  list(actor: Actor, query: ListQuery): Promise<readonly GroupRecord[]>
  resolve(actor: Actor, ref: Ref, right: Right): Promise<GroupRecord>
  byId(actor: Actor, id: string): Promise<GroupRecord | undefined>
  /** The group of exactly this owner, if the actor may see it. Letter case ignored. */
  find(actor: Actor, ownerName: string | undefined, name: string): Promise<GroupRecord | undefined>
  /** `formerPaths`: names under which another hub served it; its owner finds it by them too. */
  create(actor: Actor, body: JsonObject, options?: { readonly formerPaths?: readonly string[] }): Promise<WrittenGroup>
  replace(actor: Actor, ref: Ref, body: JsonObject, options?: WriteOptions): Promise<WrittenGroup>
  patch(actor: Actor, ref: Ref, patch: JsonObject, options?: WriteOptions): Promise<WrittenGroup>
  /** `group_in_use` while an assistant endpoint of the group's owner is bound to it, unless `force`. */
  remove(actor: Actor, ref: Ref, options?: WriteOptions & { readonly force?: boolean }): Promise<void>
  putMember(actor: Actor, ref: Ref, server: Ref, body: JsonObject): Promise<WrittenGroup>
  removeMember(actor: Actor, ref: Ref, server: Ref): Promise<WrittenGroup>
  /** The members whose servers this actor may use: its own, and public ones. */
  usableMembers(actor: Actor, group: GroupRecord): Promise<readonly UsableMember[]>
  /** See `WrittenGroup.lost`. */
  lostMembers(groupId: string): Promise<readonly string[]>
  publicBody(record: GroupRecord): JsonObject
}

/** A user without the password hash. Times are ISO 8601 UTC. */
export interface UserRecord {
  readonly id: string
  readonly number: number
  readonly name: string
  readonly role: Role
  readonly disabled: boolean
  readonly mustChangePassword: boolean
  readonly grants: UserGrants
  readonly tokenEpoch: number
  readonly origin: Origin
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** Users. Methods with an actor check its rights. */
export interface UserRegistry {
  list(actor: Actor, query: ListQuery): Promise<readonly UserRecord[]>
  byName(actor: Actor, name: string): Promise<UserRecord>
  byId(id: string): Promise<UserRecord | undefined>
  /** For sign-in only: the row with its hash, by name in any letter case. */
  credentials(name: string): Promise<{ readonly user: UserRecord; readonly passwordHash: string | null } | undefined>
  /** True while no administrator with a password exists, so that set-up is open. */
  needsSetup(): Promise<boolean>
  /** Gives user row 1 (created without a name at the first start) a name and the administrator role. Once. */
  completeSetup(name: string, passwordHash: string): Promise<UserRecord>
  create(
    actor: Actor,
    input: {
      readonly name: string
      /** Null: the user cannot sign in until an administrator sets a password. */
      readonly passwordHash: string | null
      readonly role: Role
      readonly mustChangePassword?: boolean
      readonly disabled?: boolean
    },
  ): Promise<UserRecord>
  /** Changes role, disabled, name, password or grants. Every change that reduces rights increases the token epoch. */
  update(actor: Actor, name: string, change: UserChange, options?: WriteOptions): Promise<UserRecord>
  /** `user_owns_resources` unless one of the two is given; `last_admin` for the last administrator. */
  remove(
    actor: Actor,
    name: string,
    options: { readonly transferTo?: string; readonly cascade?: boolean },
  ): Promise<void>
  /** The user's own password; increases the epoch. */
  setPassword(userId: string, passwordHash: string): Promise<UserRecord>
  /**
   * Replaces a hash in place (bcrypt → argon2id after a sign-in); no epoch change, no event. `mustChange`: the password
   * is one that is tried first.
   */
  rehash(userId: string, passwordHash: string, options?: { readonly mustChange?: boolean }): Promise<void>
  /** Whether some user's hash comes from another program and takes another time to verify than the hub's own. */
  hasImportedHashes(): Promise<boolean>
}

/** Absent fields stay unchanged. */
export interface UserChange {
  readonly name?: string
  readonly role?: Role
  readonly disabled?: boolean
  readonly passwordHash?: string
  readonly mustChangePassword?: boolean
  readonly grants?: UserGrants
}

/** An access key without its secret. Times are ISO 8601 UTC. */
export interface KeyRecord {
  readonly id: string
  readonly ownerId: string
  readonly label: string
  readonly last4: string
  readonly scopes: readonly KeyScope[]
  readonly expiresAt?: string
  readonly lastUsedAt?: string
  readonly createdAt: string
}

/** A key with a new secret, which no other response ever contains. */
export interface NewKey {
  readonly key: KeyRecord
  readonly secret: string
  /** As the API shows them: refs in place of ids. */
  readonly scopes: readonly JsonValue[]
}

/** Access keys. Methods with an actor check its rights. */
export interface KeyRegistry {
  /** Own keys; an administrator may name another owner. */
  list(actor: Actor, ownerName?: string): Promise<readonly KeyRecord[]>
  /** Scope refs are resolved to ids, so that a rename keeps them. Returns the secret, which is never shown again. */
  create(
    actor: Actor,
    input: { readonly label: string; readonly scopes: readonly JsonValue[]; readonly expiresAt?: string },
  ): Promise<NewKey>
  /** A key with the secret that it had in another hub, for its owner's own. Throws `name_taken` when it is known. */
  adopt(
    actor: Actor,
    input: {
      readonly ownerId: string
      readonly label: string
      readonly scopes: readonly JsonValue[]
      readonly secret: string
      readonly expiresAt?: string
    },
  ): Promise<KeyRecord>
  rotate(actor: Actor, id: string): Promise<NewKey>
  remove(actor: Actor, id: string): Promise<void>
  /** By the SHA-256 (hex) of a presented secret. */
  byHash(hash: string): Promise<KeyRecord | undefined>
  /** Records the use; batched, at most once a minute per key. */
  touch(id: string): void
  /** Scopes as the API shows them: refs in place of ids. */
  publicScopes(key: KeyRecord): Promise<readonly JsonValue[]>
}

/** System and user settings; null as a value removes a setting. */
export interface SettingRegistry {
  /** Stored bytes of a user: servers, documents, groups, settings and keys; `config` is the part that lists read. */
  storedBytes(userId: string): Promise<{ readonly total: number; readonly config: number }>
  /** A system setting made through the API, or undefined. */
  system(key: string): Promise<JsonValue | undefined>
  allSystem(): Promise<Readonly<Record<string, JsonValue>>>
  setSystem(actor: Actor, values: Readonly<Record<string, JsonValue | null>>): Promise<void>
  user(userId: string): Promise<Readonly<Record<string, JsonValue>>>
  setUser(actor: Actor, userId: string, values: Readonly<Record<string, JsonValue | null>>): Promise<void>
  /** Sealed; null removes. */
  setUserSecret(actor: Actor, userId: string, key: string, value: string | null): Promise<void>
  /** For the hub's own use. */
  openUserSecret(userId: string, key: string): Promise<string | undefined>
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
  readonly requestId?: string
  readonly detail?: JsonObject
}

/** The audit log; `list` returns the newest first. */
export interface AuditRegistry {
  /** Never throws or blocks: written in batches. */
  record(actor: Actor, entry: AuditEntry): void
  list(
    actor: Actor,
    query: { readonly limit: number; readonly offset: number; readonly action?: string; readonly user?: string },
  ): Promise<Page<JsonObject>>
  flush(): Promise<void>
}

/** The content of the settings file, mirrored into the store with `origin: file`. */
export interface FileState {
  readonly users: readonly { readonly name: string; readonly passwordHash?: string; readonly role: Role }[]
  /** `owner` absent: user row 1. */
  readonly servers: readonly {
    readonly owner?: string
    readonly name: string
    readonly body: JsonObject
  }[]
  readonly groups: readonly { readonly owner?: string; readonly body: JsonObject }[]
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
