import { LIMITS } from '../../config/limits.ts'
import type { Upstreams } from '../../connections/api.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import type { GroupWarning } from '../../domain/group-warning.ts'
import { differences } from '../../domain/groups/agreement.ts'
import { namedValues } from '../../domain/groups/selected-schema.ts'
import { LIST_KINDS } from '../../domain/mcp-methods.ts'
import { visibleName } from '../../domain/text/visible-text.ts'
import { aboutTokens, MANY_TOKENS, MANY_TOKENS_OF_A_TOOL } from '../../domain/tools/about-tokens.ts'
import { isToolOn, overrideOf } from '../../domain/tools/tool-shape.ts'
import { chosenTools, originals } from './chosen.ts'
import type { ListItem } from './list-item.ts'
import type { MergedCatalog } from './merge.ts'
import { legalName } from './naming.ts'
import type { MemberState, ResolvedScope } from './scope-types.ts'
import type { SelectorFault } from './selector.ts'

const ONE_CONNECTION = ' serves one connection at a time: all clients share it, and it cannot ask any of them'
/** Most names in one warning. */
const NAMED = 50

interface WarningParts {
  readonly upstreams: Pick<Upstreams, 'face'>
  readonly seesWhole: (actor: UserActor, server: ServerRecord) => boolean
}

/**
 * Lists the features that clients of a scope may miss. Warnings about a server's lists are only for users with the role `see`
 * for it.
 */
export function groupWarnings(
  actor: UserActor,
  scope: ResolvedScope,
  merged: MergedCatalog,
  { upstreams, seesWhole }: WarningParts,
): readonly GroupWarning[] {
  const own = (state: MemberState) => scope.group.ownerId === state.member.server.ownerId
  const listed = Map.groupBy(merged.lists.tools, item => item.serverId)
  return [
    ...LIST_KINDS.filter(kind => merged.leftOut[kind] > 0).map(kind => leftOutWarning(kind, merged.leftOut[kind])),
    ...costWarnings(actor, scope, merged),
    ...merged.faults().map(faultWarning),
    ...merged.states.flatMap(state => {
      const { member, catalog, blocked = NONE } = state
      const { name: server } = member.server
      const warning = (code: GroupWarning['code'], message: string, tools?: readonly string[]): GroupWarning => ({
        ...{ code, message: `Server "${server}"${message}`, server },
        ...(tools ? { tools: tools.slice(0, NAMED) } : {}),
      })
      if (!catalog) return warning('server_unseen', ' was never seen online, so its tools are not known yet')
      const { tools: extra, single = false } = upstreams.face(member.server.id)
      const { missing, asking } = missedTools(state, own(state), extra)
      const collided =
        scope.group.naming === 'auto' ? collidedTools(state, listed.get(member.server.id) ?? [], own(state)) : []
      const complaints = seesWhole(actor, member.server) ? catalog.warnings : []
      return [
        ...complaints.map(text => warning('server_lists', `: ${text}`)),
        ...missing.map(tool => warning('tool_missing', `: it has no tool "${tool}", which the group selects`, [tool])),
        ...(asking.length === 0
          ? []
          : [warning('tools_need_asking', `: only clients that can be asked see ${named(asking)}`, asking)]),
        ...(single ? [warning('one_connection_only', ONE_CONNECTION)] : []),
        ...(collided.length === 0
          ? []
          : [warning('names_collide', `: another name, since others have theirs too: ${named(collided)}`, collided)]),
        ...[...blocked].map(tool =>
          warning('approval_waits', `: tool "${tool}" changed, and waits for the approval of its owner`, [tool]),
        ),
      ]
    }),
  ]
}

function faultWarning({ fault, kind, name, values, schemas, as }: SelectorFault): GroupWarning {
  const what = `${kind === 'tools' ? 'tool' : 'prompt'} "${name}"`
  const params = { item: name, kind, values: namedValues(values) }
  switch (fault) {
    case 'differs': {
      const place = schemas ? placesOf(schemas) : ''
      const message = `The ${what} of ${params.values} is left out: it is unlike that of ${as}${place}`
      return { code: 'selector_differs', message, params: { ...params, as: as ?? '', places: place } }
    }
    case 'partial':
      return {
        code: 'selector_partial',
        message: `The ${what} cannot be used with ${params.values}: not offered there`,
        params,
      }
    case 'taken':
      return {
        code: 'selector_argument_taken',
        message: `The ${what} is left out: the selector's argument is one of its own`,
        params,
      }
  }
}

function placesOf([offered, other]: NonNullable<SelectorFault['schemas']>): string {
  const places = differences(offered, other, 3).map(({ at }) => at)
  return places.length === 0 ? '' : ` at ${places.join(', ')}`
}

/** Warns about items that one address does not offer because its limit is exceeded. */
export function leftOutWarnings(leftOut: MergedCatalog['leftOut']): string[] {
  return LIST_KINDS.filter(kind => leftOut[kind] > 0).map(kind => leftOutWarning(kind, leftOut[kind]).message)
}

function leftOutWarning(kind: (typeof LIST_KINDS)[number], count: number): GroupWarning {
  const message = `${count} ${kind} are left out: one address offers at most ${LIMITS.scopeItems}`
  return { code: 'items_left_out', message, params: { kind, count, limit: LIMITS.scopeItems } }
}

/** Most tools that are named as the largest. */
const LARGEST = 5

/** Warns about tools that cost a model much of its context. */
function costWarnings(actor: UserActor, scope: ResolvedScope, { lists, byServer }: MergedCatalog): GroupWarning[] {
  const weighed = lists.tools.map(item => ({ item, quarters: item.quarterTokens }))
  const total = aboutTokens(weighed.reduce((sum, { quarters }) => sum + quarters, 0))
  const costly = weighed.filter(({ quarters }) => aboutTokens(quarters) > MANY_TOKENS_OF_A_TOOL).slice(0, NAMED)
  const ofOne = costly.map(({ item, quarters }): GroupWarning => {
    const server = byServer.get(item.serverId)?.member.server.name
    const message = `A model pays about ${count(quarters)} tokens to read the tool "${item.key}"`
    const params = { tool: item.key, tokens: aboutTokens(quarters) }
    return { code: 'tool_costly', message, ...(server === undefined ? {} : { server }), tools: [item.original], params }
  })
  if (total <= MANY_TOKENS) return ofOne
  const largest = weighed.toSorted((one, other) => other.quarters - one.quarters).slice(0, LARGEST)
  const named = largest.map(({ item, quarters }) => `${item.key} (${count(quarters)})`).join(', ')
  const path = smartPath(actor, scope)
  const message = `A model pays about ${total.toLocaleString('en-US')} tokens to read these tools, most for ${named}: select fewer, or use ${path}`
  const params = { tokens: total, largest: named, path }
  return [{ code: 'tools_costly', message, tools: largest.map(({ item }) => item.original), params }, ...ofOne]
}

function smartPath(actor: UserActor, { kind, group }: ResolvedScope): string {
  if (kind === 'all') return '/mcp/$smart'
  const owner = group.ownerId === actor.userId ? '' : `@${group.ownerName}/`
  return `/mcp/$smart/${owner}${group.name}`
}

const count = (quarters: number): string => aboutTokens(quarters).toLocaleString('en-US')

const NONE: ReadonlySet<string> = new Set()

function named(tools: readonly string[]): string {
  const more = tools.length > NAMED ? ` and ${tools.length - NAMED} more` : ''
  return `${tools.slice(0, NAMED).join(', ')}${more}`
}

/** Selected tools that the server does not have, and tools that it lists only for clients with some capability. */
function missedTools(
  { member: { server, tools }, catalog }: MemberState,
  own: boolean,
  extra: readonly string[],
): { readonly missing: readonly string[]; readonly asking: readonly string[] } {
  const offered = extra.filter(name => isToolOn(server, overrideOf(server.tools, name)))
  if (tools === 'all') return { missing: [], asking: offered }
  const ofItem = originals(server, catalog?.tools ?? [], own)
  const ofExtra = originals(
    server,
    extra.map(key => ({ key })),
    own,
  )
  const names = new Set(tools.map(({ name }) => visibleName(name)))
  const isAsked = (name: string): boolean => names.has(name) && ofExtra(name) !== undefined
  return {
    missing: [...names].filter(name => ofItem(name) === undefined && ofExtra(name) === undefined),
    asking: offered.filter(name => names.has(name) || isAsked(overrideOf(server.tools, name)?.name ?? name)),
  }
}

/** Tools that are prefixed because another member has a tool of the same name. */
function collidedTools({ member, catalog }: MemberState, listed: readonly ListItem[], own: boolean): readonly string[] {
  const { server } = member
  const chosen = chosenTools(member, catalog?.tools ?? [], own)
  return listed
    .filter(({ key, serverId, original }) => {
      const wanted = chosen?.get(original)?.as ?? overrideOf(server.tools, original)?.name ?? original
      return key !== legalName(wanted, serverId, 'tools')
    })
    .map(({ original }) => original)
}
