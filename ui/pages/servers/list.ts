import { refOf } from '../../api/servers.ts'
import type { ServerRecord } from '../../api/types.ts'
import { worksForReader } from '../../components/servers/sign-in.ts'
import { isResting, needsSignIn } from '../../components/servers/status.ts'
import { hasTag } from '../../components/tags.ts'
import { problemText } from '../../text/problem.ts'

/** States that the chips filter by; servers that are stopped on purpose are not faulty. */
export type Condition = 'online' | 'connecting' | 'offline' | 'sign-in' | 'stopped'
export const CONDITIONS: readonly Condition[] = ['online', 'connecting', 'offline', 'sign-in', 'stopped']

/** The condition of a server for this reader, as its row says it. */
export function conditionOf(server: Pick<ServerRecord, 'id' | 'status' | 'mine'>): Condition {
  if (worksForReader(server)) return 'online'
  if (isResting(server.status)) return 'stopped'
  return needsSignIn(server) ? 'sign-in' : server.status.state
}

/** Order of states: servers that need an action are at the top. */
const RANK: Readonly<Record<Condition, number>> = { offline: 0, 'sign-in': 0, connecting: 1, stopped: 3, online: 4 }

/** Sort key of the column of states. */
export function rankOf(server: ServerRecord): string {
  const waits = server.review !== undefined && (server.review as { required?: boolean }).required === true
  return `${waits ? 2 : RANK[conditionOf(server)]} ${server.name}`
}

/** Filter of the list; absent parts match all servers. */
export interface ServerFilter {
  readonly text?: string | undefined
  readonly condition?: string | undefined
  readonly transport?: string | undefined
  readonly owner?: string | undefined
  readonly tag?: string | undefined
  /** References of the group's members. */
  readonly members?: ReadonlySet<string> | undefined
}

/** True when all filters but the state match: the chips count these servers. */
export function fitsBeyondState(server: ServerRecord, { text, transport, owner, tag, members }: ServerFilter): boolean {
  if (!hasTag(server, tag)) return false
  if (transport && server.transport !== transport) return false
  if (owner && server.owner !== owner) return false
  if (members && !members.has(refOf(server))) return false
  return !text || searchText(server).includes(text.toLowerCase())
}

const texts = new WeakMap<ServerRecord, string>()

/** Name, owner, command, address and error of a server in lower case. */
function searchText(server: ServerRecord): string {
  const known = texts.get(server)
  if (known !== undefined) return known
  const { name, owner, description, tags, command, args, url, status, problem } = server
  const parts = [
    name,
    owner,
    description,
    ...(tags ?? []),
    command,
    ...(args ?? []),
    url,
    status.reason?.message,
    problem?.message,
  ]
  const text = parts
    .filter(part => typeof part === 'string')
    .join('\n')
    .toLowerCase()
  texts.set(server, text)
  return text
}

/** Number of servers in each condition. */
export function countConditions(servers: readonly ServerRecord[]): Readonly<Record<Condition, number>> {
  const counts = { online: 0, connecting: 0, offline: 0, 'sign-in': 0, stopped: 0 }
  for (const server of servers) counts[conditionOf(server)] += 1
  return counts
}

/** The last error of a server in one line, if there is one. */
export function lastError(server: ServerRecord): string | undefined {
  if (server.problem) return problemText(server.problem)
  const { reason, state } = server.status
  if (!reason || state === 'online' || isResting(server.status) || reason.ofOwner) return undefined
  return problemText(reason).replace(/\s+/g, ' ')
}
