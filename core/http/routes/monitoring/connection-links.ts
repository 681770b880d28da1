import type { SessionInfo } from '../../../mcp/legacy/session.ts'
import type { CallLink } from '../../../telemetry/calls/call-links.ts'

/** Above this number of links, clients of one name are summed; if there are still too many, the least used links are left out. */
const MOST_LINKS = 500

/** A caller as a reader may see it. */
export interface LinkClient {
  /** The same at each reading. */
  readonly id: string
  readonly kind: 'client' | 'api'
  readonly name: string
  /** Absent where several users' clients are summed. */
  readonly userId?: string
  readonly keyId?: string | undefined
}

/** A caller, the group that it used, the server that answered, and what went between them. */
export interface ClientLink {
  readonly client: LinkClient
  readonly group: { readonly id: string; readonly name: string }
  readonly server?: CallLink['server']
  readonly calls: number
  readonly failures: number
  /** In milliseconds since 1970; 0: no call. */
  readonly lastUsedAtMs: number
  /** Open MCP sessions. */
  readonly sessions: number
}

/** Links for an answer: one for each client, group and server. */
export interface ShownLinks {
  readonly links: readonly ClientLink[]
  readonly clients: readonly (LinkClient & { readonly sessions: number })[]
  readonly summed: boolean
  readonly omitted: number
}

/** Links and sessions that this user may see: own ones, those to own servers without the caller's details, or all. */
export function visibleLinks(
  userId: string,
  all: boolean,
  links: readonly CallLink[],
  sessions: readonly SessionInfo[],
): readonly ClientLink[] {
  const open = sessions.filter(session => all || session.userId === userId)
  return [
    ...open.map(session => ({
      client: clientOf({ ...session, clientName: nameOf(session.clientInfo.name) }),
      group: { id: session.groupId, name: session.group },
      ...{ calls: 0, failures: 0, lastUsedAtMs: 0, sessions: 1 },
    })),
    ...links.flatMap(({ groupId, group, calls, failures, lastUsedAtMs, ...link }): ClientLink[] => {
      const isOwn = all || link.userId === userId
      if (!isOwn && link.server?.ownerId !== userId) return []
      const client = clientOf(isOwn ? link : { userId: link.userId, keyId: undefined, clientName: '' })
      const server = link.server ? { server: link.server } : {}
      return [{ client, group: { id: groupId, name: group }, ...server, calls, failures, lastUsedAtMs, sessions: 0 }]
    }),
  ]
}

/** At most 500 links, the most used ones. */
export function shownLinks(found: readonly ClientLink[]): ShownLinks {
  const each = withoutIdle(merge(found))
  if (each.length <= MOST_LINKS) return { links: each, clients: clientsOf(found, each), summed: false, omitted: 0 }
  const byName = found.map(link => ({ ...link, client: summedClient(link.client) }))
  const summed = withoutIdle(merge(byName)).sort((a, b) => b.calls - a.calls)
  const links = summed.slice(0, MOST_LINKS)
  return { links, clients: clientsOf(byName, links), summed: true, omitted: summed.length - links.length }
}

/** The clients of the links, with all their sessions. */
function clientsOf(found: readonly ClientLink[], links: readonly ClientLink[]): ShownLinks['clients'] {
  const sessions = new Map<string, number>()
  for (const link of found) sessions.set(link.client.id, (sessions.get(link.client.id) ?? 0) + link.sessions)
  const clients = new Map(links.map(({ client }) => [client.id, client]))
  return [...clients.values()].map(client => ({ ...client, sessions: sessions.get(client.id) ?? 0 }))
}

function nameOf(name: unknown): string {
  return typeof name === 'string' ? name.slice(0, 64) : ''
}

function clientOf({ userId, keyId, clientName }: Pick<CallLink, 'userId' | 'keyId' | 'clientName'>): LinkClient {
  const kind = clientName === undefined ? 'api' : 'client'
  const name = clientName ?? ''
  return { id: `${userId}/${keyId ?? ''}/${kind}/${name}`, kind, name, userId, ...(keyId ? { keyId } : {}) }
}

function summedClient({ kind, name }: LinkClient): LinkClient {
  return { id: `*/*/${kind}/${name}`, kind, name }
}

function merge(links: readonly ClientLink[]): ClientLink[] {
  const merged = new Map<string, ClientLink>()
  for (const link of links) {
    const key = JSON.stringify([link.client.id, link.group.id, link.server?.id])
    const known = merged.get(key)
    merged.set(key, known ? sum(known, link) : link)
  }
  return [...merged.values()]
}

function sum(a: ClientLink, b: ClientLink): ClientLink {
  return {
    ...a,
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    lastUsedAtMs: Math.max(a.lastUsedAtMs, b.lastUsedAtMs),
    sessions: a.sessions + b.sessions,
  }
}

/** A session without a call in the range is shown where nothing else links its client to the group. */
function withoutIdle(links: readonly ClientLink[]): ClientLink[] {
  const placeOf = ({ client, group }: ClientLink): string => JSON.stringify([client.id, group.id])
  const used = new Set(links.filter(({ calls }) => calls > 0).map(placeOf))
  return links.filter(link => link.calls > 0 || !used.has(placeOf(link)))
}
