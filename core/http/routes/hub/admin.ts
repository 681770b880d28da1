import { z } from 'zod'
import type { ProcessInfo, Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { ServerRecord } from '../../../contract/records.ts'
import { quoteName } from '../../../domain/names.ts'
import type { ServerStatus } from '../../../domain/server/status.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { SessionInfo } from '../../../mcp/legacy/session.ts'
import type { Registry } from '../../../registry/api.ts'
import { pauses } from '../../../store/pauses.ts'
import { type Route, route } from '../../route.ts'
import { anyObject, exampleList, listOf, pageFields, pageQuery, timestamp } from '../schemas.ts'
import { page, qualified } from '../views.ts'

/** Dependencies of the routes for administrators. */
export interface AdminRoutesDeps {
  readonly registry: Pick<Registry, 'servers' | 'audit'>
  readonly upstreams: Pick<Upstreams, 'processes' | 'status'>
  readonly mcp: Pick<McpEndpoint, 'sessions' | 'endSession'>
}

const tag = 'administration'

/** Routes for child processes, live connections, sessions and the audit log. */
export function adminRoutes(deps: AdminRoutesDeps): Route[] {
  return [processRoute(deps), ...sessionRoutes(deps), auditRoute(deps)]
}

const connection = z.object({
  kind: z.enum(['process', 'connection']),
  server: z.string(),
  serverId: z.string(),
  owner: z.string(),
  transport: z.string(),
  since: timestamp,
  pid: z.number().int().optional(),
  command: z.string().optional(),
  sandbox: z.enum(['full', 'off']).optional(),
  sessionId: z.string().optional(),
  protocolVersion: z.string().optional(),
})

const exampleProcess = {
  kind: 'process',
  server: 'ada~time',
  serverId: '01JD7C2M8K',
  owner: 'ada',
  transport: 'stdio',
  since: '2026-11-21T09:30:00.000Z',
  pid: 4711,
  command: 'uvx',
  sandbox: 'off',
}

function processRoute({ registry, upstreams }: AdminRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/admin/processes',
    access: 'admin',
    summary: 'Every child process and every live connection, with its owner',
    tag,
    query: pageQuery,
    responses: {
      200: { description: 'A page of them', schema: listOf(connection), example: exampleList(exampleProcess) },
    },
    async handle({ actor, query }) {
      const records = await registry.servers.list(actor, { scope: 'all' })
      return {
        body: page(await liveConnections(records, upstreams.processes(), id => upstreams.status(id)), query),
      }
    },
  })
}

/** Child processes first, then online servers without one. A child of a just deleted server is listed without a name. */
export async function liveConnections(
  records: readonly ServerRecord[],
  processes: readonly ProcessInfo[],
  statusOf: (serverId: string) => ServerStatus,
): Promise<readonly object[]> {
  const byId = new Map(records.map(record => [record.id, record]))
  const children = processes.map(({ startedAt, ...child }) => {
    const record = byId.get(child.serverId)
    const server = record ? qualified(record) : ''
    return { kind: 'process', server, owner: record?.ownerName ?? '', transport: 'stdio', since: startedAt, ...child }
  })
  const withChild = new Set(processes.map(child => child.serverId))
  const others: object[] = []
  const pause = pauses()
  for (const record of records) {
    await pause()
    const { state, since, protocolVersion } = statusOf(record.id)
    if (state !== 'online' || withChild.has(record.id)) continue
    const version = protocolVersion === undefined ? {} : { protocolVersion }
    const { id: serverId, ownerName: owner, transport } = record
    others.push({ kind: 'connection', server: qualified(record), serverId, owner, transport, since, ...version })
  }
  return [...children, ...others]
}

const session = z.object({
  id: z.string(),
  userId: z.string(),
  userName: z.string(),
  keyId: z.string().optional(),
  scope: z.string(),
  groupId: z.string(),
  group: z.string(),
  protocolVersion: z.string(),
  clientInfo: anyObject,
  openedAt: timestamp,
  lastUsedAt: timestamp,
  streams: z.number().int(),
  callsInFlight: z.number().int(),
})

const exampleSession: SessionInfo = {
  id: '5b1c9f0e2d7a',
  userId: '01JD7C0A11',
  userName: 'ada',
  keyId: '01JD7C0B22',
  scope: '/mcp/daily',
  groupId: '01JD7C2M8K',
  group: 'daily',
  protocolVersion: '2025-11-25',
  clientInfo: { name: 'claude-code', version: '2.1.0' },
  openedAt: '2026-11-21T09:30:00.000Z',
  lastUsedAt: '2026-11-21T09:31:12.000Z',
  streams: 1,
  callsInFlight: 0,
}

function sessionRoutes({ registry, mcp }: AdminRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/admin/sessions',
      access: 'admin',
      summary: 'Every open MCP session',
      tag,
      query: z.strictObject({ user: z.string().max(256).optional(), ...pageFields }),
      responses: {
        200: { description: 'A page of sessions', schema: listOf(session), example: exampleList(exampleSession) },
      },
      handle({ query }) {
        const sessions = mcp.sessions().filter(each => query.user === undefined || each.userName === query.user)
        return { body: page(sessions, query) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/admin/sessions/{id}',
      access: 'admin',
      summary: 'End an MCP session; its client may open another',
      tag,
      params: z.object({ id: z.string().min(1).max(256) }),
      responses: { 204: { description: 'It is ended' } },
      handle({ actor, params, info }) {
        const owner = mcp.sessions().find(each => each.id === params.id)?.userId ?? null
        if (!mcp.endSession(params.id, `ended by ${actor.name}`)) {
          throw new HubError('session_not_found', `There is no open session ${quoteName(params.id)}`)
        }
        registry.audit.record(actor, { action: 'session.end', target: params.id, ownerId: owner, request: info })
        return { status: 204 }
      },
    }),
  ]
}

const exampleAudit: JsonObject = {
  id: 118,
  at: '2026-11-21T09:30:00.000Z',
  user: 'ada',
  action: 'server.create',
  target: 'ada~time',
  requestId: '01JD7C2M8K',
  address: '203.0.113.7',
}

function auditRoute({ registry }: AdminRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/admin/audit',
    access: 'admin',
    summary: 'Who did what, newest first',
    tag,
    query: z.strictObject({
      action: z
        .string()
        .max(64)
        .optional()
        .meta({ examples: ['server.delete'] }),
      user: z.string().max(256).optional(),
      ...pageFields,
    }),
    responses: {
      200: { description: 'A page of entries', schema: listOf(z.looseObject({})), example: exampleList(exampleAudit) },
    },
    async handle({ actor, query }) {
      const { limit, offset, action, user } = query
      const filter = { ...(action === undefined ? {} : { action }), ...(user === undefined ? {} : { user }) }
      await registry.audit.flush()
      return { body: { ...(await registry.audit.list(actor, { limit, offset, ...filter })), limit, offset } }
    },
  })
}
