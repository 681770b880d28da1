import type { Upstreams } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import { parseExact } from '../domain/exact-json.ts'
import type { GroupView } from './api.ts'
import { type ItemTexts, mergeCatalogs } from './merge.ts'
import { blockedTools, type ResolvedScope } from './scope-types.ts'

/**
 * What a group offers, from the stored catalogues: a member that is offline counts as it did when it was last seen, so
 * that somebody who edits the group sees all of it.
 */
export function groupView(scope: ResolvedScope, upstreams: Upstreams, texts: ItemTexts): GroupView {
  const states = scope.members.map(member => ({
    member,
    catalog: upstreams.catalog(member.server.id),
    listed: true,
    blocked: blockedTools(upstreams, member.server),
  }))
  const merged = mergeCatalogs(scope, states, texts)
  // The hub's own tools belong to no server, and count for tokens alone.
  const ofServers = merged.lists.tools.filter(({ serverId }) => serverId !== '')
  const tools = ofServers.map(({ key, serverId, original, text }) => {
    const server = merged.byServer.get(serverId)?.member.server.name ?? serverId
    return { ...(parseExact(text) as JsonObject), name: key, server, original }
  })
  const characters = merged.lists.tools.reduce((sum, { text }) => sum + text.length, 0)
  const { prompts, resources } = merged.lists
  return {
    tools,
    counts: { tools: tools.length, prompts: prompts.length, resources: resources.length },
    tokens: Math.ceil(characters / 4),
    warnings: states.flatMap(({ member, catalog, blocked }) => {
      if (!catalog) return [`Server "${member.server.name}" was never seen online, so its tools are not known yet`]
      const waiting = [...(blocked ?? [])].map(
        tool => `tool "${tool}" changed, and waits for the approval of its owner`,
      )
      return [...catalog.warnings, ...waiting].map(warning => `Server "${member.server.name}": ${warning}`)
    }),
  }
}
