import { z } from 'zod'
import type { Upstreams } from '../../../connections/api.ts'
import type { GroupRecord, UserActor } from '../../../contract/records.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import type { ClientConfig } from '../../../features/clients.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { GroupHead, Registry, UsableMember } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import {
  exampleList,
  flag,
  listOf,
  ownershipFilters,
  pageFields,
  pageQuery,
  refParams,
  refServerParams,
} from '../schemas.ts'
import { listQuery, noteChange, pageOfViews, qualified, recordReply, writeOptions } from '../views.ts'
import { clientConfig } from './group-client-config.ts'
import {
  exampleClientConfig,
  exampleGroup,
  exampleGroupTools,
  group,
  groupBody,
  groupClientConfig,
  groupPatch,
  groupTools,
  memberBody,
} from './group-schemas.ts'
import { type GroupToolsDeps, groupToolRoutes } from './group-tools.ts'
import { endpointOf, groupView, readView, serversOf } from './group-view.ts'

/** Dependencies of the routes of `/api/groups`. */
export interface GroupRoutesDeps extends GroupToolsDeps {
  readonly registry: Pick<Registry, 'groups' | 'shares' | 'audit'>
  readonly mcp: Pick<McpEndpoint, 'groupView' | 'openPath'>
  readonly upstreams: Pick<Upstreams, 'status'>
  /** By the client's name. */
  readonly clientConfigs: () => ReadonlyMap<string, ClientConfig>
}

const tag = 'groups'
const path = '/api/groups/{ref}'
const one = { description: 'The group', schema: group, example: exampleGroup }

/** Routes to list, create and edit groups and their members, and to show the tools that clients of a group see. */
export function groupRoutes(deps: GroupRoutesDeps): Route[] {
  return [
    listGroups(deps),
    createGroup(deps),
    previewGroup(deps),
    ...oneGroup(deps),
    ...members(deps),
    ...clientSide(deps),
    ...groupToolRoutes(deps),
  ]
}

function listGroups(deps: GroupRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/groups',
    access: 'user',
    summary: 'List groups',
    tag,
    query: z.strictObject({ ...ownershipFilters, ...pageFields }),
    responses: { 200: { description: 'A page of groups', schema: listOf(group), example: exampleList(exampleGroup) } },
    async handle({ actor, query, info }) {
      const { groups } = deps.registry
      const shown = async ({ id }: GroupHead) => {
        const record = await groups.byId(actor, id)
        return record && readView(deps, actor, info, record)
      }
      return { body: await pageOfViews(await groups.list(actor, listQuery(query)), query, shown) }
    },
  })
}

function createGroup(deps: GroupRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/groups',
    access: 'user',
    summary: 'Create a group',
    tag,
    body: groupBody,
    responses: { 201: one },
    async handle({ actor, body, info }) {
      const record = await deps.registry.groups.create(actor, body)
      noteChange(deps.registry.audit, actor, info, 'group.create', record)
      const location = `${info.baseUrl}/api/groups/${encodeURIComponent(qualified(record))}`
      return recordReply(await groupView(deps, actor, info, record), 201, location)
    },
  })
}

function previewGroup({ registry, mcp }: GroupRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/groups/preview',
    access: 'user',
    reads: true,
    summary: 'The tools that a client would see, if a group were saved so; saves nothing',
    tag,
    body: groupBody,
    query: pageQuery,
    responses: { 200: { description: 'A page of tools', schema: groupTools, example: exampleGroupTools } },
    async handle({ actor, body, query: { limit, offset } }) {
      const { usable, lost: _, ...record } = await registry.groups.draft(actor, body)
      // A turn of its own, as when a group is written: merging takes a while.
      await nextTurn()
      const { tools, counts, tokens, warnings } = await mcp.groupView(actor, record, serversOf(usable))
      return { body: { items: tools(offset, limit), total: counts.tools, limit, offset, counts, tokens, warnings } }
    },
  })
}

function oneGroup(deps: GroupRoutesDeps): Route[] {
  const { groups, audit } = deps.registry
  const common = { path, tag, params: refParams } as const
  return [
    route({
      ...common,
      access: 'user',
      method: 'GET',
      summary: 'One group',
      responses: { 200: one },
      async handle({ actor, params, info }) {
        const record = await groups.resolve(actor, params.ref, 'use')
        return recordReply(await readView(deps, actor, info, record))
      },
    }),
    route({
      ...common,
      access: 'user',
      method: 'PUT',
      summary: 'Replace a group',
      body: groupBody,
      responses: { 200: one },
      async handle({ actor, params, body, info, request }) {
        const record = await groups.replace(actor, params.ref, body, writeOptions(request.headers))
        noteChange(audit, actor, info, 'group.update', record, { fields: Object.keys(body) })
        return recordReply(await groupView(deps, actor, info, record))
      },
    }),
    route({
      ...common,
      access: 'user',
      method: 'PATCH',
      summary: 'Change parts of a group (RFC 7396)',
      body: groupPatch,
      responses: { 200: one },
      async handle({ actor, params, body, info, request }) {
        const record = await groups.patch(actor, params.ref, body, writeOptions(request.headers))
        noteChange(audit, actor, info, 'group.update', record, { fields: Object.keys(body) })
        return recordReply(await groupView(deps, actor, info, record))
      },
    }),
    route({
      ...common,
      access: 'user',
      method: 'DELETE',
      summary: 'Delete a group',
      query: z.strictObject({ force: flag }),
      responses: { 204: { description: 'It is gone' } },
      async handle({ actor, params, query, info, request }) {
        const record = await groups.resolve(actor, params.ref, 'owner')
        await groups.remove(actor, qualified(record), {
          ...writeOptions(request.headers),
          force: query.force === 'true',
        })
        noteChange(audit, actor, info, 'group.delete', record)
        return { status: 204 }
      },
    }),
  ]
}

function members(deps: GroupRoutesDeps): Route[] {
  const { groups, audit } = deps.registry
  const common = { path: `${path}/members/{server}`, tag, params: refServerParams } as const
  return [
    route({
      ...common,
      access: 'user',
      method: 'PUT',
      summary: 'Add a server to a group, or change how it is in it',
      body: memberBody,
      responses: { 200: one },
      async handle({ actor, params, body, info }) {
        const record = await groups.putMember(actor, params.ref, params.server, body)
        noteChange(audit, actor, info, 'group.update', record, { member: params.server })
        return recordReply(await groupView(deps, actor, info, record))
      },
    }),
    route({
      ...common,
      access: 'user',
      method: 'DELETE',
      summary: 'Take a server out of a group',
      responses: { 204: { description: 'It is no member any more' } },
      async handle({ actor, params, info }) {
        const record = await groups.removeMember(actor, params.ref, params.server)
        noteChange(audit, actor, info, 'group.update', record, { memberRemoved: params.server })
        return { status: 204 }
      },
    }),
  ]
}

function clientSide(deps: GroupRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: `${path}/tools`,
      access: 'user',
      summary: 'The tools that a client of the group sees, under the names that it sees',
      tag,
      params: refParams,
      query: pageQuery.extend({
        as: z.string().min(1).max(256).optional().meta({
          description: 'A user’s name: what that user gets, or would get by a share; for the owner and administrators',
        }),
      }),
      responses: { 200: { description: 'A page of tools', schema: groupTools, example: exampleGroupTools } },
      async handle({ actor, params, query }) {
        const record = await deps.registry.groups.resolve(actor, params.ref, 'use')
        const usable = await membersFor(deps, actor, record, query.as)
        const { tools, counts, tokens, warnings } = await deps.mcp.groupView(actor, record, serversOf(usable))
        const { limit, offset } = query
        const items = tools(offset, limit)
        return { body: { items, total: counts.tools, limit, offset, counts, tokens, warnings } }
      },
    }),
    route({
      method: 'GET',
      path: `${path}/client-config`,
      access: 'user',
      summary: 'What to paste into a client so that it uses the group',
      tag,
      params: refParams,
      query: z.strictObject({ client: z.string().meta({ description: 'Such as `cursor`; plugins may add more' }) }),
      responses: {
        200: { description: 'The text and its place', schema: groupClientConfig, example: exampleClientConfig },
      },
      async handle({ actor, params, query, info }) {
        const record = await deps.registry.groups.resolve(actor, params.ref, 'use')
        const url = endpointOf(info, actor, record)
        return { body: await clientConfig(deps.clientConfigs(), query.client, record.name, url) }
      },
    }),
  ]
}

/** The members that the actor gets, or the user with this name. Their lists are always those that the actor sees. */
async function membersFor(
  { registry: { groups, shares } }: GroupRoutesDeps,
  actor: UserActor,
  record: GroupRecord,
  name: string | undefined,
): Promise<readonly UsableMember[]> {
  if (name === undefined) return groups.usableMembers(actor, record)
  const { userId, name: found, role } = await shares.viewer(actor, qualified(record), name)
  const viewer: UserActor = { kind: 'user', userId, name: found, role: 'user', credential: { kind: 'local' } }
  return groups.usableMembers(viewer, record, { asShared: role === undefined })
}
