import type { GroupRecord, ServerRecord } from '../contract/records.ts'

declare module '../contract/events.ts' {
  interface PluginEvents {
    'share.changed': ShareChange
    'team.renamed': { teamId: string; name: string; before: string }
    'team.removed': { teamId: string; name: string }
  }
}

declare module '../contract/plugin.ts' {
  interface RegistryView {
    /** True when sessions of this user under `/mcp` may use it: own, public and shared things. Administrators have no additional rights there. */
    mayUse(userId: string, thing: ServerRecord | GroupRecord): boolean
    /** True for the users who may use the server by itself, or by a group that brings it. */
    reachOf(server: ServerRecord): Promise<(userId: string) => boolean>
  }
}

declare module '../contract/plugin.ts' {
  interface PluginContext<Config> {
    readonly shares: PluginShares
    readonly teams: PluginTeams
  }
}

/** Teams, whose names all users see. Of bundled plugins alone. */
export interface PluginTeams {
  /** Letter case ignored. Undefined: there is none. */
  byName(name: string): Promise<Readonly<Record<'id' | 'name', string>> | undefined>
  byId(teamId: string): Promise<Readonly<Record<'id' | 'name', string>> | undefined>
  /** Ids of the members whose accounts are enabled, by their names. */
  members(teamId: string): Promise<readonly string[]>
  /** Ids of the teams of a user, from memory. */
  of(userId: string): readonly string[]
}

/** A server or group that can be shared. */
export interface SharedThing {
  readonly kind: 'server' | 'group'
  readonly id: string
  /** `owner~name`. */
  readonly ref: string
  readonly name: string
  readonly owner: string
}

/** Shares in the right of owners, who have no more of it than their own things. Of bundled plugins alone. */
export interface PluginShares {
  /** The owner's thing. Rejects with `server_not_found`, `group_not_found`, and `not_owner` for those of others, also for administrators. */
  owned(ownerId: string, kind: SharedThing['kind'], ref: string): Promise<SharedThing>
  /** The thing while it belongs to this owner, and the account is enabled. */
  stillOwned(ownerId: string, thing: Pick<SharedThing, 'kind' | 'id'>): Promise<SharedThing | undefined>
  /** Shares it with a user as its owner; a greater role stays. Audited. Rejects with `not_owner` once it belongs to somebody else. */
  give(
    ownerId: string,
    thing: Pick<SharedThing, 'kind' | 'id'>,
    userId: string,
    role: 'use' | 'see' | 'change',
  ): Promise<void>
}

/**
 * The rights of somebody on a server or group have changed. Emitted for the owner, and for each user concerned.
 */
export type ShareChange = {
  kind: 'server' | 'group'
  /** Id of the server or group. */
  id: string
  /** `owner~name`. */
  ref: string
  /** `user:name` or `team:name`. */
  subject: string
  /** Null: it is no longer shared with the subject. */
  role: 'use' | 'see' | 'change' | null
}
