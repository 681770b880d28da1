import type { Actor, GroupRecord, ServerRecord } from '../contract/records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    groupResolver: GroupResolver
  }
}

/** Resolves a name under `/mcp` to a group of servers. */
export interface GroupResolver {
  /** Undefined unless the actor may see the group. An empty name without an owner: all servers of the actor. */
  resolve(actor: Actor, owner: string | undefined, name: string): Promise<ResolvedGroup | undefined>
}

/** The result of a `GroupResolver`. */
export interface ResolvedGroup {
  /** Default `group`. `server`: the name was a server's, which is the only member. `all`: every server of the actor. */
  readonly kind?: 'group' | 'server' | 'all'
  readonly group: GroupRecord
  /** The members that this actor may use, in group order. */
  readonly servers: readonly ServerRecord[]
}
