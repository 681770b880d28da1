import type { GroupRecord, MemberTool, ServerRecord } from '../contract/records.ts'

/** One upstream as a member of a scope, with what the scope's owner chose of it. */
export interface ScopeMember {
  readonly server: ServerRecord
  /** Legal and unique in the scope. */
  readonly alias: string
  readonly tools: 'all' | readonly MemberTool[]
  readonly prompts: 'all' | readonly string[]
  readonly resources: 'all' | readonly string[]
}

/** What a path stands for, for one caller. */
export interface ResolvedScope {
  /** `server`: one server under its own name; its lists and capabilities pass through. */
  readonly kind: 'all' | 'group' | 'server'
  readonly group: GroupRecord
  readonly members: readonly ScopeMember[]
  /** Lower-case names of the request headers that some member wants; mostly none. */
  readonly passthroughHeaders: readonly string[]
}
