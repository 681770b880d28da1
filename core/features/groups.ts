declare module '../contract/records.ts' {
  interface ServerSettings {
    /** Words by which people and rules find it; absent: none. */
    readonly tags?: readonly string[]
  }
  interface GroupRecord {
    readonly instructions?: GroupInstructions
    readonly tags?: readonly string[]
    readonly selector?: GroupSelector
  }
  interface GroupMember {
    /** The value of the selector's argument that chooses this member; absent: an ordinary member. */
    readonly selectedBy?: string
  }
}

declare module '../contract/points.ts' {
  interface McpContext {
    /** Tags of the group, and of the server that the request is for. */
    readonly tags: { readonly group: readonly string[]; readonly server: readonly string[] }
  }
}

/** A group's own instructions for clients. `members`: its members' follow them, or are left out. */
export interface GroupInstructions {
  readonly text: string
  readonly members: 'beside' | 'instead'
}

/** Members with the same tools, which are offered as one set of tools with an argument that chooses the member. */
export interface GroupSelector {
  readonly argument: string
  /** The description of the argument that models read. Absent: a sentence of the hub. */
  readonly description?: string
  /** The value that applies where a caller leaves the argument out. Absent: the argument is required. */
  readonly default?: string
}
