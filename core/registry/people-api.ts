import type { JsonValue } from '../contract/json.ts'
import type { Actor, KeyScope, Origin, Role } from '../contract/records.ts'
import type { UserGrants } from '../domain/server/spawn-policy.ts'
import type { ListQuery, WriteOptions } from './options.ts'

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
  /** Name of the plugin that checks a second factor at each sign-in; null: the password is enough. */
  readonly secondFactor: string | null
  readonly origin: Origin
  readonly revision: number
  readonly createdAt: string
  readonly updatedAt: string
}

/** Number of a user's records, and the time when a sign-in or a key was last used. Times are ISO 8601 UTC, to the minute. */
export interface Possessions {
  readonly servers: number
  readonly groups: number
  readonly keys: number
  readonly signIns: number
  readonly lastSeenAt: string | null
}

/** Users. Methods with an actor check its rights. */
export interface UserRegistry {
  list(actor: Actor, query: ListQuery): Promise<readonly UserRecord[]>
  byName(actor: Actor, name: string): Promise<UserRecord>
  /** Possessions of users, by their ids. */
  possessions(actor: Actor, ids: readonly string[]): Promise<ReadonlyMap<string, Possessions>>
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
   * Sets the plugin that checks a second factor at each sign-in. `endSignIns` increases the epoch.
   */
  setSecondFactor(
    userId: string,
    change: { readonly plugin: string; readonly on: boolean; readonly endSignIns: boolean },
  ): Promise<UserRecord>
  /**
   * Replaces a hash in place (bcrypt → argon2id after a sign-in); no epoch change, no event. `mustChange`: the password
   * is one that is tried first.
   */
  rehash(userId: string, passwordHash: string, options?: { readonly mustChange?: boolean }): Promise<void>
  /** True when a user has a hash from another program, which takes a different time to verify. */
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
  /** Ids of the keys from which it descends, the oldest first: those that made it, and that it replaced. */
  readonly makers?: readonly string[]
}

/** A key with a new secret, which no other response ever contains. */
export interface NewKey {
  readonly key: KeyRecord
  readonly secret: string
  /** Scopes in the form of the API: refs instead of ids. */
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
  /**
   * A new secret. Without `overlapMs` the key gets it, and the old one ends now; with it the new secret is a key of its own
   * with the same label, scopes and expiry, and the old key expires after that time. Throws `quota_keys` then, and
   * `key_expired` for one that has ended.
   */
  rotate(actor: Actor, id: string, overlapMs?: number): Promise<NewKey>
  /** Returns the removed key. */
  remove(actor: Actor, id: string): Promise<KeyRecord>
  /** By the SHA-256 (hex) of a presented secret. */
  byHash(hash: string): Promise<KeyRecord | undefined>
  /** Ids of a user's keys, and of those from which its keys and records descend. */
  behind(ownerId: string): Promise<ReadonlySet<string>>
  /** Records the use; batched, at most once a minute per key. */
  touch(id: string): void
  /** Scopes in the form of the API: refs instead of ids, without what the actor may not see. */
  publicScopes(actor: Actor, key: KeyRecord): Promise<readonly JsonValue[]>
}
