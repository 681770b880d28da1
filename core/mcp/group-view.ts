import type { Upstreams } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { differences } from '../domain/groups/agreement.ts'
import { namedValues } from '../domain/groups/selected-schema.ts'
import { parseExact } from '../domain/json/exact-json.ts'
import { pieceOf } from '../domain/piece.ts'
import { aboutTokens } from '../domain/tools/about-tokens.ts'
import type { GroupView } from './api.ts'
import { groupWarnings } from './scope/group-warnings.ts'
import type { ListItem } from './scope/list-item.ts'
import { mergeCatalogs } from './scope/merge.ts'
import { type Choice, listsFor, type ResolvedScope } from './scope/scope-types.ts'
import type { SelectorFault } from './scope/selector.ts'
import type { ToolSets } from './scope/tool-sets.ts'

interface ViewParts {
  readonly upstreams: Upstreams
  readonly toolSets: ToolSets
  readonly seesWhole: (actor: UserActor, server: ServerRecord) => boolean
}

/**
 * The offer of a group, from the stored catalogues: an offline member counts as last seen, so that an editor of the group sees
 * all of it. Warnings about a server's lists are shown to users with the role `see`.
 */
export function groupView(
  actor: UserActor,
  scope: ResolvedScope,
  { upstreams, toolSets, seesWhole }: ViewParts,
): GroupView {
  const states = scope.members.map(member => ({
    member,
    ...listsFor(upstreams, member.server, actor.userId),
    listed: true,
  }))
  const merged = mergeCatalogs(scope, states, toolSets.of(`/mcp/${scope.group.name}`, scope, actor))
  // Tools of plugins belong to no server; they count only as tokens.
  const ofServers = merged.memberTools
  const toolJson = ({ key, serverId, original, onlyFor, text }: ListItem) => {
    const server = merged.byServer.get(serverId)?.member.server.name ?? serverId
    const choice = merged.tools.get(key)?.choice
    const selected = choice ? { selector: selectedOf(choice) } : {}
    return {
      ...(parseExact(text) as JsonObject),
      name: key,
      server,
      original,
      ...selected,
      ...(onlyFor ? { appOnly: true } : {}),
    }
  }
  const quarters = merged.toolsFor('models').reduce((sum, item) => sum + item.quarterTokens, 0)
  return {
    tools: (offset, limit) => pieceOf(ofServers, offset, limit, item => item.characters).map(toolJson),
    counts: { tools: ofServers.length, ...merged.counts },
    tokens: aboutTokens(quarters),
    warnings: groupWarnings(actor, scope, merged, { upstreams, seesWhole }),
  }
}

/** The argument that chooses the server of a tool, and the server of each value. */
function selectedOf({ argument, targets }: Choice): JsonObject {
  const servers = [...targets].map(([value, { member }]) => [value, member.server.name] as const)
  return { argument, servers: Object.fromEntries(servers) }
}

/**
 * Throws `group_schema_differs`, with the places that differ, when the members that a selector chooses from have unlike tools or
 * prompts of one name, and `selector_argument_taken` when one has the selector's argument itself. Lists that were never seen
 * are not compared.
 */
export function refuseUnlike(scope: ResolvedScope, upstreams: Upstreams): void {
  const states = scope.members.map(member => ({
    ...{ member, listed: true },
    ...listsFor(upstreams, member.server, scope.group.ownerId),
  }))
  const faults = mergeCatalogs(scope, states).faults()
  const code = faults.some(({ fault }) => fault === 'taken') ? 'selector_argument_taken' : 'group_schema_differs'
  const found = faults.filter(({ fault }) => fault === (code === 'group_schema_differs' ? 'differs' : 'taken'))
  const [first] = found
  if (!first) return
  const what = `${first.kind === 'tools' ? 'tool' : 'prompt'} "${first.name}"`
  const message =
    code === 'selector_argument_taken'
      ? `The ${what} has an argument "${scope.group.selector?.argument}" of its own`
      : `The ${what} of ${namedValues(first.values)} is unlike that of ${first.as}`
  const rest = found.length > 1 ? `, and ${found.length - 1} more` : ''
  throw new HubError(code, `The group cannot be saved: ${message[0]?.toLowerCase()}${message.slice(1)}${rest}`, {
    data: { differences: found.slice(0, MOST_DIFFERENCES).map(differenceOf) },
  })
}

/** Items whose differences are shown. */
const MOST_DIFFERENCES = 20

function differenceOf({ kind, name, values, schemas, as }: SelectorFault): JsonObject {
  const places = schemas ? differences(...schemas).map(place => ({ ...place })) : []
  return { kind, name, values: [...values], ...(as === undefined ? {} : { as }), ...(schemas ? { places } : {}) }
}
