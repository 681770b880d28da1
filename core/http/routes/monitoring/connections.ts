import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import type { UserActor } from '../../../contract/records.ts'
import { parseDuration } from '../../../domain/duration.ts'
import { includesRole, isAdmin } from '../../../domain/ownership.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { Registry } from '../../../registry/api.ts'
import { pauses } from '../../../store/pauses.ts'
import { type CallLinks, LINK_MINUTES } from '../../../telemetry/calls/call-links.ts'
import { type Route, route } from '../../route.ts'
import { timestamp } from '../schemas.ts'
import { asksForOwn, durationField, scopeField } from '../time-range.ts'
import { qualified } from '../views.ts'
import { wrong } from '../wrong-field.ts'
import { type ClientLink, type ShownLinks, shownLinks, visibleLinks } from './connection-links.ts'

/** Dependencies of the route. */
export interface ConnectionsDeps {
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'users' | 'keys' | 'shares'>
  readonly upstreams: Pick<Upstreams, 'status'>
  readonly mcp: Pick<McpEndpoint, 'sessions'>
  readonly links: Pick<CallLinks, 'list' | 'coveredMs'>
}

const MINUTE_MS = 60_000

const count = z.number().int()
const traffic = {
  calls: count.meta({ description: 'Calls that ended in the range; without `server` those that reached no server' }),
  failures: count.meta({ description: 'Those with any outcome but `ok`' }),
  callsPerMinute: z.number().meta({ description: '`calls` divided by the minutes of the range since the hub started' }),
  lastUsedAt: timestamp.optional().meta({ description: 'Absent: no call in the range' }),
}
const state = z.enum(['online', 'connecting', 'offline'])
const connections = z.object({
  timestamp,
  range: z.string(),
  summed: z.boolean().meta({ description: 'Clients of one name are one, since there were more than 500 links' }),
  omitted: count.meta({ description: 'Links left out beyond 500, those with the fewest calls' }),
  clients: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(['client', 'api']).meta({ description: '`api`: calls through the REST API and the console' }),
      name: z.string().meta({ description: 'As it named itself; empty: unknown, or not yours to see' }),
      user: z.string().optional().meta({ description: 'Absent where several are summed' }),
      key: z.object({ id: z.string(), label: z.string().optional() }).optional(),
      sessions: count,
    }),
  ),
  groups: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(['group', 'server', 'all']).meta({ description: '`server`: at /mcp/{server}; `all`: at /mcp' }),
      name: z.string(),
      owner: z.string().optional(),
      servers: z.array(z.string()).optional().meta({ description: 'Ids of its members, for those who may edit it' }),
    }),
  ),
  servers: z.array(
    z.object({
      ...{ id: z.string(), ref: z.string(), name: z.string(), owner: z.string(), state },
      reason: z
        .object({ code: z.string(), message: z.string() })
        .optional()
        .meta({ description: 'Why it is not online, for those who may edit it' }),
    }),
  ),
  links: z.array(z.object({ client: z.string(), group: z.string(), server: z.string().optional(), ...traffic })),
})
const example = {
  timestamp: '2026-11-22T09:30:00.000Z',
  range: '5m',
  summed: false,
  omitted: 0,
  clients: [
    {
      id: '01JD7C0A11/01JD7C0B22/claude-code',
      ...{ kind: 'client' as const, name: 'claude-code', user: 'ada' },
      key: { id: '01JD7C0B22', label: 'laptop' },
      sessions: 1,
    },
  ],
  groups: [{ id: '01JD7C2M8K', kind: 'group' as const, name: 'daily', owner: 'ada', servers: ['01JD7C3N9L'] }],
  servers: [{ id: '01JD7C3N9L', ref: 'ada~time', name: 'time', owner: 'ada', state: 'online' as const }],
  links: [
    {
      ...{ client: '01JD7C0A11/01JD7C0B22/claude-code', group: '01JD7C2M8K', server: '01JD7C3N9L' },
      ...{ calls: 40, failures: 1, callsPerMinute: 8.3, lastUsedAt: '2026-11-22T09:29:58.120Z' },
    },
  ],
}

/** Route that lists the connections between clients, groups and servers. */
export function connectionsRoutes(deps: ConnectionsDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/monitoring/connections',
      access: 'user',
      tag: 'monitoring',
      summary: 'Clients, groups and servers, and the calls between them: yours, and those of your servers',
      query: z.strictObject({
        range: durationField.default('5m').meta({ description: 'How far back: whole minutes, from 1m to 1h' }),
        scope: scopeField,
      }),
      responses: { 200: { description: 'What is connected', schema: connections, example } },
      async handle({ actor, query: { range, scope } }) {
        const minutes = minutesOf(range)
        const all = !asksForOwn(actor, scope) && isAdmin(actor)
        const found = visibleLinks(actor.userId, all, deps.links.list(minutes), deps.mcp.sessions())
        const { links, clients, summed, omitted } = shownLinks(found)
        const coveredMinutes = deps.links.coveredMs(minutes) / MINUTE_MS
        return {
          body: {
            timestamp: new Date().toISOString(),
            ...{ range, summed, omitted },
            clients: await named(deps, actor, clients),
            ...(await placesOf(deps, actor, all, links)),
            links: links.map(({ client, group, server, calls, failures, lastUsedAtMs }) => ({
              ...{ client: client.id, group: group.id, ...(server ? { server: server.id } : {}), calls, failures },
              callsPerMinute: Number((calls / coveredMinutes).toFixed(2)),
              ...(lastUsedAtMs > 0 ? { lastUsedAt: new Date(lastUsedAtMs).toISOString() } : {}),
            })),
          },
        }
      },
    }),
  ]
}

function minutesOf(range: string): number {
  const minutes = (parseDuration(range) ?? 0) / MINUTE_MS
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > LINK_MINUTES)
    throw wrong('?range', 'duration', 'range: whole minutes from 1m to 1h')
  return minutes
}

async function named({ registry }: ConnectionsDeps, actor: UserActor, clients: ShownLinks['clients']) {
  const labels = new Map((await registry.keys.list(actor)).map(({ id, label }) => [id, label]))
  const users = new Map<string, string>()
  for (const userId of new Set(clients.flatMap(({ userId: id }) => id ?? [])))
    users.set(userId, (await registry.users.byId(userId))?.name ?? userId)
  return clients.map(({ userId, keyId, ...client }) => {
    const label = keyId === undefined ? undefined : labels.get(keyId)
    return {
      ...client,
      ...(userId === undefined ? {} : { user: users.get(userId) ?? userId }),
      ...(keyId === undefined ? {} : { key: { id: keyId, ...(label === undefined ? {} : { label }) } }),
    }
  })
}

/** All groups and servers of the reader, and those of others that a link names. */
async function placesOf(deps: ConnectionsDeps, actor: UserActor, all: boolean, links: readonly ClientLink[]) {
  const { registry, upstreams } = deps
  const query = { scope: all ? 'all' : 'visible' } as const
  const [groups, servers] = await Promise.all([registry.groups.list(actor, query), registry.servers.list(actor, query)])
  const linkedGroups = new Map(links.map(({ group }) => [group.id, group.name]))
  const linkedServers = new Set(links.flatMap(({ server }) => server?.id ?? []))
  const byServer = new Map(servers.map(record => [record.id, record]))
  const stored = groups.filter(group => all || group.ownerId === actor.userId || linkedGroups.has(group.id))
  for (const { id } of stored) linkedGroups.delete(id)
  const shown = []
  const pause = pauses()
  for (const group of stored) {
    const members = includesRole(registry.shares.roleOf(actor, group), 'see')
      ? (await registry.groups.byId(actor, group.id))?.members
      : undefined
    shown.push({
      ...{ id: group.id, kind: 'group' as const, name: group.name, owner: group.ownerName },
      ...(members ? { servers: members.map(({ serverId }) => serverId) } : {}),
    })
    await pause()
  }
  return {
    groups: [...shown, ...[...linkedGroups].map(([id, name]) => unstored(id, name, byServer.get(id)?.ownerName))],
    servers: servers
      .filter(({ id, ownerId }) => all || ownerId === actor.userId || linkedServers.has(id))
      .map(record => {
        const { state: now, reason } = upstreams.status(record.id, record)
        return {
          ...{ id: record.id, ref: qualified(record), name: record.name, owner: record.ownerName, state: now },
          ...(reason && includesRole(registry.shares.roleOf(actor, record), 'see')
            ? { reason: { code: reason.code, message: reason.message } }
            : {}),
        }
      }),
  }
}

/** A scope that is not a stored group: one server, all servers of a user, or a group that was removed meanwhile. */
function unstored(id: string, name: string, owner: string | undefined) {
  if (owner !== undefined) return { id, kind: 'server' as const, name, owner, servers: [id] }
  return { id, kind: id.startsWith('all:') ? ('all' as const) : ('group' as const), name }
}
