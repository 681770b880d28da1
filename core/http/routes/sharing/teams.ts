import { z } from 'zod'
import { LIMITS } from '../../../config/limits.ts'
import type { UserActor } from '../../../contract/records.ts'
import { quoteName } from '../../../domain/names.ts'
import type { TeamSource } from '../../../features/sign-ins.ts'
import type { NewTeam, Registry, TeamRecord } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { exampleList, listOf, pageFields, timestamp } from '../schemas.ts'
import { page } from '../views.ts'

/** Dependencies of the routes of teams. */
export interface TeamRoutesDeps {
  readonly registry: Pick<Registry, 'teams' | 'audit'>
  /** The knowledge of running plugins about providers, by plugin. */
  readonly teamSources: () => ReadonlyMap<string, TeamSource>
}

const name = z.string().min(1).max(256)
const nameParams = z.object({ name })
const members = z.array(name).max(LIMITS.teamMembers).meta({ description: 'Names of users' })
const source = z
  .strictObject({
    provider: z.string().min(1).max(2_048).meta({
      description:
        'Id of a provider of sign-ins, `proxy` for the header of a proxy, or the address of an external issuer',
    }),
    group: z
      .string()
      .max(256)
      .regex(/^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$/u)
      .meta({ description: 'Name or id of the group there, compared exactly' }),
  })
  .meta({ description: 'The members are set by sign-ins' })
const team = z.object({
  id: z.string(),
  name: z.string(),
  size: z.number().int().meta({ description: 'Number of its members' }),
  members: z.array(z.string()).optional().meta({ description: 'Only for administrators and members' }),
  source: source.optional().meta({ description: 'Absent: by administrators. Only for administrators and members' }),
  createdAt: timestamp,
  warnings: z
    .array(z.object({ code: z.enum(['source_unknown']), message: z.string() }))
    .optional()
    .meta({ description: 'Why the source sets no members now. Only where `source` is' }),
})
const example = {
  ...{ id: '01JD7C9Q3F', name: 'crew', size: 1, members: ['bob'] },
  createdAt: '2026-11-21T09:30:00.000Z',
}
const one = { description: 'The team', schema: team, example }

/** Routes of teams, with which things can be shared. Only administrators write them. */
export function teamRoutes({ registry: { teams, audit }, teamSources }: TeamRoutesDeps): Route[] {
  const shown = (record: TeamRecord) => {
    const { provider } = record.source ?? {}
    if (provider === undefined || [...teamSources().values()].some(one => one.sets(provider))) return record
    const message = `No provider ${quoteName(provider)} that says the groups of its users is set up here: nobody joins the team until there is one`
    return { ...record, warnings: [{ code: 'source_unknown' as const, message }] }
  }
  const tag = 'sharing'
  const note = (actor: UserActor, info: RequestInfo, verb: string, { name: target, size, source }: TeamRecord): void =>
    audit.record(actor, {
      action: `team.${verb}`,
      target,
      ownerId: null,
      request: info,
      detail: { size, ...(source ? { source: { ...source } } : {}) },
    })
  return [
    route({
      access: 'user',
      ...{ method: 'GET', path: '/api/teams', tag },
      summary: 'List teams',
      query: z.strictObject(pageFields),
      responses: { 200: { description: 'A page of teams', schema: listOf(team), example: exampleList(example) } },
      async handle({ actor, query }) {
        return { body: page((await teams.list(actor)).map(shown), query) }
      },
    }),
    route({
      access: 'user',
      ...{ method: 'GET', path: '/api/teams/{name}', tag, params: nameParams },
      summary: 'One of the teams',
      responses: { 200: one },
      async handle({ actor, params }) {
        return { body: shown(await teams.get(actor, params.name)) }
      },
    }),
    route({
      access: 'admin',
      ...{ method: 'POST', path: '/api/admin/teams', tag },
      summary: 'Create a team',
      body: z.strictObject({ name, members: members.optional(), source: source.nullish() }),
      responses: { 201: one },
      async handle({ actor, body, info }) {
        const made = await teams.create(actor, body.name, given(body))
        note(actor, info, 'create', made)
        return { status: 201, body: shown(made) }
      },
    }),
    route({
      access: 'admin',
      ...{ method: 'PATCH', path: '/api/admin/teams/{name}', tag, params: nameParams },
      summary: 'Rename a team, replace its members, or have them set by sign-ins',
      body: z.strictObject({ name: name.optional(), members: members.optional(), source: source.nullish() }),
      responses: { 200: one },
      async handle({ actor, params, body, info }) {
        const change = { ...(body.name === undefined ? {} : { name: body.name }), ...given(body) }
        const saved = await teams.update(actor, params.name, change)
        note(actor, info, 'update', saved)
        return { body: shown(saved) }
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

function given({
  members,
  source,
}: {
  readonly members?: readonly string[] | undefined
  readonly source?: NewTeam['source'] | undefined
}): NewTeam {
  return { ...(members === undefined ? {} : { members }), ...(source === undefined ? {} : { source }) }
}
