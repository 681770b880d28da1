import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { Upstreams } from '../../../connections/api.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../../contract/records.ts'
import { LongText } from '../../../domain/json/long-text.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import type { Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import {
  connectionState,
  exampleList,
  listOf,
  ownershipFilters,
  pageFields,
  problemPart as problemSchema,
  refParams,
} from '../schemas.ts'
import {
  type LiveView,
  listQuery,
  matchesFilter,
  noteChange,
  pageOfViews,
  qualified,
  recordReply,
  seesWhole,
  serverView,
  writeOptions,
} from '../views.ts'
import { withMine } from './mine.ts'
import { type ProblemPart, problemPart } from './problem-part.ts'
import {
  exampleServer,
  exampleSignInServer,
  exampleViewedServer,
  largeBody,
  server,
  serverBody,
  serverPatch,
  transport,
} from './server-schemas.ts'

/** Dependencies of the routes of `/api/servers`. */
export interface ServerRoutesDeps {
  readonly registry: Pick<Registry, 'servers' | 'groups' | 'shares' | 'audit'>
  readonly upstreams: LiveView & Pick<Upstreams, 'credentials' | 'callerLists'>
}

const tag = 'servers'
const one = { description: 'The server', schema: server, example: exampleServer }

/** Routes to list, create and edit servers. */
export function serverRoutes(deps: ServerRoutesDeps): Route[] {
  return [listServers(deps), createServer(deps), createBatch(deps), ...oneServer(deps), documentRoute(deps)]
}

function listServers(deps: ServerRoutesDeps): Route {
  const { registry, upstreams } = deps
  return route({
    method: 'GET',
    path: '/api/servers',
    access: 'user',
    summary: 'List servers with their live state',
    tag,
    query: z.strictObject({
      ...ownershipFilters,
      state: connectionState.optional(),
      transport: transport.optional(),
      group: z.string().max(256).optional().meta({ description: 'Members of this group, public ones of others too' }),
      ...pageFields,
    }),
    responses: {
      200: {
        description: 'A page of servers',
        schema: listOf(server),
        example: exampleList(exampleServer, exampleViewedServer, exampleSignInServer),
      },
    },
    async handle({ actor, query }) {
      const group = query.group === undefined ? undefined : await registry.groups.resolve(actor, query.group, 'use')
      const scope = query.scope ?? (group ? 'visible' : 'mine')
      const records = await registry.servers.list(actor, listQuery({ ...query, scope }))
      const members = group && new Set(group.members.map(member => member.serverId))
      const filter = { state: query.state, transport: query.transport, members }
      const statusOf = (record: ServerRecord) =>
        upstreams.status(record.id, record, seesWhole(registry.shares, actor, record) ? undefined : actor.userId)
      const found = records.filter(record => matchesFilter(record, () => statusOf(record), filter))
      return {
        body: await pageOfViews(found, query, record =>
          withMine(upstreams.credentials, actor, record, serverView(deps, actor, record)),
        ),
      }
    },
  })
}

function createServer(deps: ServerRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/servers',
    access: 'user',
    summary: 'Create a server',
    tag,
    body: serverBody,
    ...largeBody,
    responses: { 201: one },
    async handle({ actor, body, info }) {
      const record = await deps.registry.servers.create(actor, body)
      noteChange(deps.registry.audit, actor, info, 'server.create', record)
      return recordReply(serverView(deps, actor, record), 201, locationOf(info, qualified(record)))
    },
  })
}

function createBatch(deps: ServerRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/servers/batch',
    access: 'user',
    summary: 'Create many servers, each on its own',
    tag,
    body: z.strictObject({
      servers: z.array(serverBody).min(1).max(LIMITS.serversPerUser),
    }),
    ...largeBody,
    responses: {
      201: { description: 'All were created', schema: batchAnswer, example: { results: exampleBatch.slice(0, 1) } },
      207: { description: 'Some were not', schema: batchAnswer, example: { results: exampleBatch } },
    },
    async handle({ actor, body, info }) {
      const results = await createEach(deps, actor, info, body.servers)
      return { status: results.every(result => result.status === 201) ? 201 : 207, body: { results } }
    },
  })
}

const batchAnswer = z.object({
  results: z.array(
    z.object({
      index: z.number().int(),
      status: z.number().int(),
      name: z.string().optional(),
      server: server.optional(),
      error: problemSchema.optional(),
    }),
  ),
})

const exampleBatch = [
  { index: 0, status: 201, name: 'time', server: exampleServer },
  {
    index: 1,
    status: 409,
    name: 'time',
    error: {
      code: 'server_name_taken',
      title: 'Server name already used',
      status: 409,
      detail: 'You already own a server named "time".',
    },
  },
]

type BatchResult = { readonly index: number; readonly status: number; readonly name?: string } & (
  | { readonly server: object }
  | { readonly error: ProblemPart }
)

/** In the order of the request: of two with the same name the first is created. */
async function createEach(
  deps: ServerRoutesDeps,
  actor: UserActor,
  info: RequestInfo,
  bodies: readonly JsonObject[],
): Promise<readonly BatchResult[]> {
  const results: BatchResult[] = []
  for (const [index, body] of bodies.entries()) {
    try {
      const record = await deps.registry.servers.create(actor, body)
      noteChange(deps.registry.audit, actor, info, 'server.create', record)
      results.push({ index, status: 201, name: record.name, server: serverView(deps, actor, record) })
    } catch (error) {
      const problem = problemPart(error, pointer => pointer.replace('#', `#/servers/${index}`))
      const name = typeof body.name === 'string' ? { name: body.name.slice(0, 64) } : {}
      results.push({ index, status: problem.status, ...name, error: problem })
    }
    await nextTurn()
  }
  return results
}

function oneServer(deps: ServerRoutesDeps): Route[] {
  const { servers, audit } = deps.registry
  const path = '/api/servers/{ref}'
  return [
    route({
      method: 'GET',
      path,
      access: 'user',
      summary: 'One server',
      tag,
      params: refParams,
      responses: { 200: one },
      async handle({ actor, params }) {
        const record = await servers.resolve(actor, params.ref, 'use')
        await deps.upstreams.callerLists(record.id, actor.userId)
        return recordReply(await withMine(deps.upstreams.credentials, actor, record, serverView(deps, actor, record)))
      },
    }),
    route({
      method: 'PUT',
      path,
      access: 'user',
      summary: 'Replace a server',
      tag,
      params: refParams,
      body: serverBody,
      ...largeBody,
      responses: { 200: one },
      async handle({ actor, params, body, info, request }) {
        const record = await servers.replace(actor, params.ref, body, writeOptions(request.headers))
        noteChange(audit, actor, info, 'server.update', record, { fields: Object.keys(body) })
        return recordReply(serverView(deps, actor, record))
      },
    }),
    route({
      method: 'PATCH',
      path,
      access: 'user',
      summary: 'Change parts of a server (RFC 7396)',
      tag,
      params: refParams,
      body: serverPatch,
      ...largeBody,
      responses: { 200: one },
      async handle({ actor, params, body, info, request }) {
        const record = await servers.patch(actor, params.ref, body, writeOptions(request.headers))
        noteChange(audit, actor, info, 'server.update', record, { fields: Object.keys(body) })
        return recordReply(serverView(deps, actor, record))
      },
    }),
    route({
      method: 'DELETE',
      path,
      access: 'user',
      summary: 'Delete a server',
      tag,
      params: refParams,
      responses: { 204: { description: 'It is gone' } },
      async handle({ actor, params, info, request }) {
        const record = await servers.resolve(actor, params.ref, 'owner')
        await servers.remove(actor, qualified(record), writeOptions(request.headers))
        noteChange(audit, actor, info, 'server.delete', record)
        return { status: 204 }
      },
    }),
  ]
}

function documentRoute({ registry }: ServerRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/servers/{ref}/document',
    access: 'user',
    summary: 'The inline OpenAPI document of a server',
    tag,
    params: refParams,
    responses: {
      200: {
        description: 'The document as it was saved; `application/yaml` where it was given as a text in YAML',
        schema: z.looseObject({}),
        example: { openapi: '3.1.0', info: { title: 'Pets', version: '1' }, paths: {} },
      },
      204: { description: 'The server has no inline document' },
    },
    async handle({ actor, params, take }) {
      const document = await registry.servers.document(actor, params.ref)
      if (!document) return { status: 204 }
      const { partBytes } = document
      take(partBytes)
      const first = await document.next()
      // The type is detected without parsing: a JSON document begins with a brace.
      const type = first?.[0] === 0x7b ? 'application/json' : 'application/yaml'
      if (document.bytes <= partBytes) return { text: new LongText(first ? [first] : []), type }
      let isFirst = true
      const next = async () => {
        if (!isFirst) return document.next()
        isFirst = false
        return first
      }
      return { parts: { partBytes, next }, type }
    },
  })
}

function locationOf(info: RequestInfo, ref: string): string {
  return `${info.baseUrl}/api/servers/${encodeURIComponent(ref)}`
}
