import type { ServerCatalog, ToolDefinition, Upstreams } from '../../connections/api.ts'
import type { GroupRecord, MemberTool, ServerRecord } from '../../contract/records.ts'
import { asksCallers, type Side } from '../../domain/session-scope.ts'
import type { CatalogItem } from '../../domain/tools/catalog-item.ts'
import type { TaskSupport } from '../../domain/tools/task-support.ts'
import type { ArgumentRules } from '../../domain/tools/tool-shape.ts'

/** One upstream as a member of a scope, with what the scope's owner selected of it. */
export interface ScopeMember {
  readonly server: ServerRecord
  /** Legal and unique in the scope. */
  readonly alias: string
  readonly tools: 'all' | readonly MemberTool[]
  readonly prompts: 'all' | readonly string[]
  readonly resources: 'all' | readonly string[]
  /** See `GroupMember`. */
  readonly formerPrefix?: string
  readonly selectedBy?: string
  /** Lower-case names of the caller's headers that are forwarded to this server; mostly none. */
  readonly passedHeaders: readonly string[]
}

/** The upstream item that an exposed name stands for. */
export interface Target {
  readonly member: ScopeMember
  /** The upstream's name for it. */
  readonly original: string
  /** Rules for the arguments; mostly absent. */
  readonly rules?: ArgumentRules
  /** Pinned arguments that contain variables of the server; mostly absent. */
  readonly variablesIn?: readonly string[]
  /** Its definition changed, and its owner has not approved the change yet. */
  readonly blocked?: true
  /** Present where a call of it can become a task. */
  readonly task?: TaskSupport
  /** The item as the upstream lists it; present for items that are listed by name. */
  readonly item?: CatalogItem
  /** Present where an argument chooses the member: this is then one of the choices, and never called itself. */
  readonly choice?: Choice
  /** Present for one of the choices of an argument. */
  readonly chosen?: { readonly argument: string; readonly value: string }
}

/** The items of several members, of which an argument chooses one. */
export interface Choice {
  readonly argument: string
  /** By value; members that are not listed now are there too. */
  readonly targets: ReadonlyMap<string, Target>
  /** The value that applies where the caller gives none. */
  readonly default?: string
}

/** A member of a scope, and one of its items by the upstream's name. */
export interface ExchangeTarget {
  readonly member: ScopeMember
  readonly original?: string
}

/** The resolution of a path, for one caller. */
export interface ResolvedScope {
  /** `server`: one server under its own name; its lists and capabilities are not renamed. */
  readonly kind: 'all' | 'group' | 'server'
  /** The view of it that a path asks for, such as `smart`. */
  readonly view?: string
  readonly group: GroupRecord
  readonly members: readonly ScopeMember[]
  /** Pages at which the caller must sign in, by the id of the server that wants it; mostly none. */
  readonly signIns?: ReadonlyMap<string, string>
  /** Lower-case names of the request headers that some member gets; mostly none. */
  readonly passthroughHeaders: readonly string[]
}

/** The tools that wait for approval, where the server's owner requires it. `own`: the lists of a caller, where the owner's differ. */
export function blockedTools(
  upstreams: Pick<Upstreams, 'definitions'>,
  { id, definitionPolicy }: ServerRecord,
  side?: Side,
  own?: ServerCatalog,
): ReadonlySet<string> | undefined {
  if (definitionPolicy !== 'pin') return undefined
  const definitions = upstreams.definitions(id, side)
  const changed = own
    ? own.tools.filter(({ key, hash }) => isOther(definitions.get(key), hash)).map(({ key }) => key)
    : [...definitions].filter(([, definition]) => definition.changed).map(([tool]) => tool)
  return changed.length === 0 ? undefined : new Set(changed)
}

function isOther(known: ToolDefinition | undefined, hash: string): boolean {
  return known !== undefined && known.approved !== hash
}

/** The lists of a member as a caller sees them, and its tools that wait for approval. */
export function listsFor(
  upstreams: Pick<Upstreams, 'definitions' | 'catalog'>,
  server: ServerRecord,
  userId: string,
  side?: Side,
): Pick<MemberState, 'catalog' | 'blocked'> {
  const catalog = upstreams.catalog(server.id, side, userId)
  const isOwn = asksCallers(server) && userId !== server.ownerId
  return { catalog, blocked: blockedTools(upstreams, server, side, isOwn ? catalog : undefined) }
}

/** A member with its catalogue at one moment. */
export interface MemberState {
  readonly member: ScopeMember
  readonly catalog: ServerCatalog | undefined
  /** False for a member that is hidden from lists now; its names stay reserved and callable. */
  readonly listed: boolean
  /** The page at which the caller must sign in before the member is of use; such a member is not listed. */
  readonly signInAt?: string | undefined
  /** Original names of the tools that wait for approval; mostly none. */
  readonly blocked?: ReadonlySet<string> | undefined
}
