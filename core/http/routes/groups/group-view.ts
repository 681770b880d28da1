import type { Upstreams } from '../../../connections/api.ts'
import type { GroupRecord, UserActor } from '../../../contract/records.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { Registry, UsableMember, WrittenGroup } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { recordFields, roleField, seesWhole } from '../views.ts'
import { deletedWarning, missedWarnings } from './member-warnings.ts'

/** Dependencies of a group's view. */
export interface GroupViewDeps {
  readonly registry: Pick<Registry, 'groups' | 'shares'>
  readonly mcp: Pick<McpEndpoint, 'groupView'>
  readonly upstreams: Pick<Upstreams, 'status'>
}

/** The group's MCP endpoint for this actor; another owner's group has its owner in the path. */
export function endpointOf(info: RequestInfo, actor: UserActor, record: GroupRecord): string {
  const owner = record.ownerId === actor.userId ? '' : `@${encodeURIComponent(record.ownerName)}/`
  return `${info.baseUrl}/mcp/${owner}${encodeURIComponent(record.name)}`
}

/**
 * A group as visible to this actor. Other users see only members that they can use: a public group does not publish
 * private servers.
 */
export async function groupView(
  deps: GroupViewDeps,
  actor: UserActor,
  info: RequestInfo,
  record: WrittenGroup,
): Promise<object> {
  // A turn of its own after reading or writing: merging the members' lists takes a while.
  await nextTurn()
  const { usable } = record
  const { shares } = deps.registry
  const whole = seesWhole(shares, actor, record)
  const shown = whole ? record : { ...record, members: usable.map(({ member }) => member) }
  const live = await deps.mcp.groupView(actor, record, serversOf(usable))
  return {
    ...deps.registry.groups.publicBody(shown),
    ...recordFields(record),
    ...roleField(shares, actor, record),
    endpoint: endpointOf(info, actor, record),
    status: countStates(usable.map(({ server }) => deps.upstreams.status(server.id, undefined, actor.userId).state)),
    tools: live.counts.tools,
    tokens: live.tokens,
    warnings: [
      ...(whole ? record.lost.map(deletedWarning) : []),
      ...live.warnings,
      ...(whole ? missedWarnings(shares, record) : []),
    ],
  }
}

/** The same for a group that was read, with what has become of its members. */
export async function readView(
  deps: GroupViewDeps,
  actor: UserActor,
  info: RequestInfo,
  record: GroupRecord,
): Promise<object> {
  const { groups } = deps.registry
  const [usable, lost] = [await groups.usableMembers(actor, record), await groups.lostMembers(record.id)]
  return groupView(deps, actor, info, { ...record, usable, lost })
}

/** The servers of members. */
export function serversOf(usable: readonly UsableMember[]) {
  return usable.map(({ server }) => server)
}

/** The number of a group's usable servers in each state. */
export function countStates(states: readonly ('online' | 'connecting' | 'offline')[]) {
  const count = (state: string) => states.filter(each => each === state).length
  return {
    total: states.length,
    online: count('online'),
    connecting: count('connecting'),
    offline: count('offline'),
  }
}
