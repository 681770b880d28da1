import type { Actor, UserActor } from '../contract/records.ts'
import type { ShareRole, Thing, ThingRole } from '../domain/ownership.ts'

/** The kinds of things that can be shared. */
export type SharedKind = 'server' | 'group'

/** A share as its owner sees it. Times are ISO 8601 UTC. */
export interface ShareRecord {
  /** `user:name` or `team:name`. */
  readonly subject: string
  readonly role: ShareRole
  /** `file`: it is stated in the settings file. */
  readonly origin: 'file' | 'store'
  /** The name of the user who shared it; absent when that account was deleted, and for the settings file. */
  readonly grantedBy?: string
  readonly createdAt: string
}

/** A share to be given. */
export interface NewShare {
  /** `user:name` or `team:name`; letter case ignored. */
  readonly subject: string
  readonly role: ShareRole
  /** True: a greater role that the subject has by a share of its own stays. */
  readonly keepsGreater?: true
}

/** The user whose view of a group is previewed. */
export interface Viewer {
  readonly userId: string
  readonly name: string
  /** Its present role; absent: none. */
  readonly role?: ThingRole
}

/** The thing that a change of its shares concerns. */
export interface ShareTarget {
  readonly kind: SharedKind
  readonly id: string
  readonly name: string
  readonly ownerId: string
  readonly ownerName: string
}

/** The shares of a thing after a change. */
export interface SharesChange {
  readonly target: ShareTarget
  readonly shares: readonly ShareRecord[]
  /** The share that was put; of `replace` and `remove` absent. */
  readonly concerned?: ShareRecord
  /** The subjects whose role changed, with their present role; null: removed. */
  readonly changed: readonly { readonly subject: string; readonly role: ShareRole | null }[]
}

/**
 * Shares of servers and groups, and the question of rights itself. `ref` is resolved as for any other route. All methods that
 * write throw `server_not_found` or `group_not_found` for an actor without a role, and `not_owner` (with `role` in its data) for
 * one whose role is too small. A change acts before the returned promise resolves; `share.changed` follows it.
 */
export interface ShareRegistry {
  /**
   * The role of an actor: `owner` for owner and administrators, the highest share, `use` for public things. Undefined: to the
   * actor it does not exist. Synchronous; from memory.
   */
  roleOf(actor: Actor, thing: Thing): ThingRole | undefined
  /** The same under `/mcp`, where administrators have no additional rights. */
  roleUnderMcp(userId: string, thing: Thing): ThingRole | undefined
  /** True when sessions of this user under `/mcp` may use it by itself. */
  mayUse(userId: string, thing: Thing): boolean
  /**
   * The users who may reach a server, by itself or as a member that a shared group of its owner brings.
   */
  reachOf(server: Thing): Promise<(userId: string) => boolean>
  /**
   * True when at least one user of the group, by a share or because it is public, does not get this member: a private server of
   * another owner without a share of its own, or any private server of a public group.
   */
  isMissedBySome(group: Thing, server: Thing): boolean
  /**
   * Says what a user of this name would get of a group: by its present rights, or as if the group were shared with it where it has
   * none. For the owner and administrators. Throws `user_not_found`.
   */
  viewer(actor: Actor, ref: string, name: string): Promise<Viewer>
  /** All shares of a thing, by subject. For its owner and administrators. */
  list(actor: Actor, kind: SharedKind, ref: string): Promise<readonly ShareRecord[]>
  /**
   * Replaces all shares. Throws `validation_failed` for a subject that does not exist, is named twice or is the owner, and
   * `quota_shares` beyond 200; `settings_read_only` where the settings file states the shares.
   */
  replace(actor: UserActor, kind: SharedKind, ref: string, shares: readonly NewShare[]): Promise<SharesChange>
  /** Gives one share, or changes its role. Throws as `replace` does, but `user_not_found` or `team_not_found` for the subject. */
  put(actor: UserActor, kind: SharedKind, ref: string, share: NewShare): Promise<SharesChange>
  /** Gives these shares; a subject that has one already keeps it. Throws as `replace` does. */
  give(actor: UserActor, kind: SharedKind, ref: string, shares: readonly NewShare[]): Promise<SharesChange>
  /** A subject as it is written here. Throws `user_not_found`, `team_not_found`, `share_not_found`. */
  subject(text: string): Promise<string>
  /**
   * Removes one share: the owner any, everybody the one with itself. Throws `share_not_found`.
   */
  remove(actor: UserActor, kind: SharedKind, ref: string, subject: string): Promise<SharesChange>
}

/** A group at a provider of sign-ins, compared exactly. */
export interface TeamSource {
  readonly provider: string
  readonly group: string
}

/** A team. */
export interface TeamRecord {
  readonly id: string
  readonly name: string
  /** Number of its members. */
  readonly size: number
  /** Names, sorted; only for administrators and members. */
  readonly members?: readonly string[]
  /** Its members are set by sign-ins. Absent: by administrators. Only for administrators and members. */
  readonly source?: TeamSource
  readonly createdAt: string
}

/** Members of a new team: names of users, or a source. */
export interface NewTeam {
  readonly members?: readonly string[]
  readonly source?: TeamSource | null
}

/** A change of a team. Absent: unchanged. */
export interface TeamChange extends NewTeam {
  readonly name?: string
}

/** The names of the teams that a sign-in changed. */
export interface TeamsSet {
  readonly joined: readonly string[]
  readonly left: readonly string[]
  /** Teams that have no room for one more. */
  readonly full: readonly string[]
}

/**
 * Teams. All users see the names of teams, so that they can share with them; members and administrators also see the members.
 * Only administrators write: `admin_only` for others. Throws `team_not_found`, `name_taken`, `quota_shares`.
 */
export interface TeamRegistry {
  list(actor: Actor): Promise<readonly TeamRecord[]>
  get(actor: Actor, name: string): Promise<TeamRecord>
  /** At most 100 teams. Throws `validation_failed` for members and a source at once. */
  create(actor: Actor, name: string, team: NewTeam): Promise<TeamRecord>
  /**
   * At most 1,000 members. A new source empties the team; `source: null` makes it one of administrators with the members that it
   * has.
   */
  update(actor: Actor, name: string, change: TeamChange): Promise<TeamRecord>
  remove(actor: Actor, name: string): Promise<void>
  /** The team of a name, letter case ignored. */
  named(name: string): Promise<Pick<TeamRecord, 'id' | 'name'> | undefined>
  byId(teamId: string): Promise<Pick<TeamRecord, 'id' | 'name'> | undefined>
  /** Ids of the members whose accounts are enabled, by their names. */
  membersOf(teamId: string): Promise<readonly string[]>
  /** Ids of the teams of a user. Synchronous; from memory. */
  of(userId: string): readonly string[]
  /**
   * Makes the user a member of exactly those teams of the provider whose group is one of these. Other teams stay as they are.
   * Reads and writes nothing where that holds already.
   */
  setOf(userId: string, provider: string, groups: readonly string[]): Promise<TeamsSet>
  /** Empties the teams of providers that are over. Returns the names of those that had members. */
  endSources(isOver: (provider: string) => boolean): Promise<readonly string[]>
}
