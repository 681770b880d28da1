import type { Upstreams } from '../connections/api.ts'
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

/** The tools that wait for an approval, where the server's owner wants to be asked. */
export function blockedTools(
  upstreams: Pick<Upstreams, 'definitions'>,
  { id, definitionPolicy }: ServerRecord,
): ReadonlySet<string> | undefined {
  if (definitionPolicy !== 'pin') return undefined
  const changed = [...upstreams.definitions(id)].filter(([, definition]) => definition.changed)
  return changed.length === 0 ? undefined : new Set(changed.map(([tool]) => tool))
}
