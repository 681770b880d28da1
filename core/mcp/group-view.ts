import { LIMITS } from '../config/limits.ts'
import type { Upstreams } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { parseExact } from '../domain/exact-json.ts'
import { canEdit } from '../domain/ownership.ts'
import { pieceOf } from '../domain/piece.ts'
import type { GroupView } from './api.ts'
import type { ListItem } from './list-item.ts'
import { type MergedCatalog, mergeCatalogs } from './merge.ts'
import { blockedTools, CATALOG_KINDS, type ResolvedScope } from './scope-types.ts'

/**
 * What a group offers, from the stored catalogues: a member that is offline counts as it did when it was last seen, so
 * that somebody who edits the group sees all of it. What its lists complained of is shown to who may edit the server.
 */
export function groupView(actor: UserActor, scope: ResolvedScope, upstreams: Upstreams): GroupView {
  const states = scope.members.map(member => ({
    member,
    catalog: upstreams.catalog(member.server.id),
    listed: true,
    blocked: blockedTools(upstreams, member.server),
  }))
  const merged = mergeCatalogs(scope, states)
  // The hub's own tools belong to no server, and count for tokens alone.
  const ofServers = merged.lists.tools.filter(({ serverId }) => serverId !== '')
  const toolJson = ({ key, serverId, original, text }: ListItem) => {
    const server = merged.byServer.get(serverId)?.member.server.name ?? serverId
    return { ...(parseExact(text) as JsonObject), name: key, server, original }
  }
  const characters = merged.lists.tools.reduce((sum, item) => sum + item.characters, 0)
  const { prompts, resources } = merged.lists
  return {
    tools: (offset, limit) => pieceOf(ofServers, offset, limit, item => item.characters).map(toolJson),
    counts: { tools: ofServers.length, prompts: prompts.length, resources: resources.length },
    tokens: Math.ceil(characters / 4),
    warnings: leftOutWarnings(merged.leftOut).concat(
      states.flatMap(({ member, catalog, blocked }) => {
        if (!catalog) return [`Server "${member.server.name}" was never seen online, so its tools are not known yet`]
        const waiting = [...(blocked ?? [])].map(
          tool => `tool "${tool}" changed, and waits for the approval of its owner`,
        )
        const complaints = canEdit(actor, member.server) ? catalog.warnings : []
        return [...complaints, ...waiting].map(warning => `Server "${member.server.name}": ${warning}`)
      }),
    ),
  }
}

/** Says what one address does not offer since there is more than it may. */
export function leftOutWarnings(leftOut: MergedCatalog['leftOut']): string[] {
  return CATALOG_KINDS.filter(kind => leftOut[kind] > 0).map(
    kind => `${leftOut[kind]} ${kind} are left out: one address offers at most ${LIMITS.scopeItems}`,
  )
}
