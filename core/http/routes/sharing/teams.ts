import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Registry, TeamRecord } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { exampleList, listOf, pageFields, timestamp } from '../schemas.ts'
import { page } from '../views.ts'

/** Dependencies of the routes of teams. */
export interface TeamRoutesDeps {
  readonly registry: Pick<Registry, 'teams' | 'audit'>
}

const name = z.string().min(1).max(256)
const nameParams = z.object({ name })
const members = z.array(name).max(LIMITS.teamMembers).meta({ description: 'Names of users' })
const team = z.object({
  id: z.string(),
  name: z.string(),
  size: z.number().int().meta({ description: 'Number of its members' }),
  members: z.array(z.string()).optional().meta({ description: 'Only for administrators and members' }),
  createdAt: timestamp,
})
const example = {
  ...{ id: '01JD7C9Q3F', name: 'crew', size: 1, members: ['bob'] },
  createdAt: '2026-11-21T09:30:00.000Z',
}
const one = { description: 'The team', schema: team, example }

/** Routes of teams, with which things can be shared. Only administrators write them. */
export function teamRoutes({ registry: { teams, audit } }: TeamRoutesDeps): Route[] {
  const tag = 'sharing'
  const note = (actor: UserActor, info: RequestInfo, verb: string, { name: target, size }: TeamRecord): void =>
    audit.record(actor, { action: `team.${verb}`, target, ownerId: null, request: info, detail: { size } })
  return [
    route({
      access: 'user',
      ...{ method: 'GET', path: '/api/teams', tag },
      summary: 'List teams',
      query: z.strictObject(pageFields),
      responses: { 200: { description: 'A page of teams', schema: listOf(team), example: exampleList(example) } },
      async handle({ actor, query }) {
        return { body: page(await teams.list(actor), query) }
      },
    }),
    route({
      access: 'user',
      ...{ method: 'GET', path: '/api/teams/{name}', tag, params: nameParams },
      summary: 'One of the teams',
      responses: { 200: one },
      async handle({ actor, params }) {
        return { body: await teams.get(actor, params.name) }
      },
    }),
    route({
      access: 'admin',
      ...{ method: 'POST', path: '/api/admin/teams', tag },
      summary: 'Create a team',
      body: z.strictObject({ name, members: members.optional() }),
      responses: { 201: one },
      async handle({ actor, body, info }) {
        const made = await teams.create(actor, body.name, body.members ?? [])
        note(actor, info, 'create', made)
        return { status: 201, body: made }
      },
    }),
    route({
      access: 'admin',
      ...{ method: 'PATCH', path: '/api/admin/teams/{name}', tag, params: nameParams },
      summary: 'Rename a team, or replace its members',
      body: z.strictObject({ name: name.optional(), members: members.optional() }),
      responses: { 200: one },
      async handle({ actor, params, body, info }) {
        const change = {
          ...(body.name === undefined ? {} : { name: body.name }),
          ...(body.members === undefined ? {} : { members: body.members }),
        }
        const saved = await teams.update(actor, params.name, change)
        note(actor, info, 'update', saved)
        return { body: saved }
      },
    }),
    route({
      access: 'admin',
      ...{ method: 'DELETE', path: '/api/admin/teams/{name}', tag, params: nameParams },
      summary: 'Delete a team; what was shared with it is no longer',
      responses: { 204: { description: 'It is gone' } },
      async handle({ actor, params, info }) {
        const gone = await teams.get(actor, params.name)
        await teams.remove(actor, params.name)
        note(actor, info, 'delete', gone)
        return { status: 204 }
      },
    }),
  ]
}
