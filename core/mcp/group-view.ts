import type { Upstreams } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { parseExact } from '../domain/json/exact-json.ts'
import { pieceOf } from '../domain/piece.ts'
import { aboutTokens } from '../domain/tools/about-tokens.ts'
import type { GroupView } from './api.ts'
import { groupWarnings } from './scope/group-warnings.ts'
import type { ListItem } from './scope/list-item.ts'
import { mergeCatalogs } from './scope/merge.ts'
import { listsFor, type ResolvedScope } from './scope/scope-types.ts'
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
    return { ...(parseExact(text) as JsonObject), name: key, server, original, ...(onlyFor ? { appOnly: true } : {}) }
  }
  const quarters = merged.toolsFor('models').reduce((sum, item) => sum + item.quarterTokens, 0)
  return {
    tools: (offset, limit) => pieceOf(ofServers, offset, limit, item => item.characters).map(toolJson),
    counts: { tools: ofServers.length, ...merged.counts },
    tokens: aboutTokens(quarters),
    warnings: groupWarnings(actor, scope, merged, { upstreams, seesWhole }),
  }
}
