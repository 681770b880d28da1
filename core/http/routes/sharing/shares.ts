import { z } from 'zod'
import type { Auth } from '../../../auth/create.ts'
import { LIMITS } from '../../../config/limits.ts'
import type { UserActor } from '../../../contract/records.ts'
import { SHARE_ROLES } from '../../../domain/ownership.ts'
import type { Registry, SharedKind, SharesChange } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { refParams, timestamp } from '../schemas.ts'

/** Dependencies of the routes of shares. */
export interface ShareRoutesDeps {
  readonly registry: Pick<Registry, 'shares' | 'audit'>
  readonly proofs: Pick<Auth['proofs'], 'requireOfSession'>
}

const role = z.enum(SHARE_ROLES).meta({
  description: '`use`: list and call; `see`: also the masked configuration; `change`: also start, stop and edit',
})
const subject = z.string().min(6).max(512).meta({ description: '`user:name` or `team:name`' })
const subjectParams = refParams.extend({ subject: z.string().min(1).max(512) })

const share = z.object({
  subject,
  role,
  origin: z.enum(['file', 'store']).meta({ description: '`file`: stated in the settings file' }),
  grantedBy: z.string().optional().meta({ description: 'Who shared it, unless that account was deleted' }),
  createdAt: timestamp,
})
const example = {
  ...{ subject: 'user:bob', role: 'use', origin: 'store', grantedBy: 'ada' },
  createdAt: '2026-11-21T09:30:00.000Z',
}
const all = {
  description: 'All shares',
  schema: z.object({ items: z.array(share) }),
  example: { items: [example] },
}

/** Routes with which owners share servers and groups. */
export function shareRoutes(deps: ShareRoutesDeps): Route[] {
  return [...routesOf(deps, 'server'), ...routesOf(deps, 'group')]
}

function routesOf({ registry, proofs }: ShareRoutesDeps, kind: SharedKind): Route[] {
  const path = `/api/${kind}s/{ref}/shares`
  const { shares, audit } = registry
  const note = (actor: UserActor, info: RequestInfo, { target, changed }: SharesChange): void => {
    if (changed.length === 0) return
    audit.record(actor, {
      action: `${kind}.share`,
      target: `${target.ownerName}~${target.name}`,
      ownerId: target.ownerId,
      request: info,
      detail: { changed: changed.map(one => ({ ...one })) },
    })
  }
  const tag = 'sharing'
  return [
    route({
      access: 'user',
      ...{ method: 'GET', path, tag, params: refParams },
      summary: `List the shares of a ${kind}; for its owner and administrators`,
      responses: { 200: all },
      async handle({ actor, params }) {
        return { body: { items: await shares.list(actor, kind, params.ref) } }
      },
    }),
    route({
      access: 'user',
      ...{ method: 'PUT', path, tag, params: refParams },
      summary: `Share a ${kind} with exactly these`,
      body: z.strictObject({ shares: z.array(z.strictObject({ subject, role })).max(LIMITS.sharesPerThing) }),
      responses: { 200: all },
      async handle({ actor, params, body, info }) {
        proofs.requireOfSession(actor)
        const change = await shares.replace(actor, kind, params.ref, body.shares)
        note(actor, info, change)
        return { body: { items: change.shares } }
      },
    }),
    route({
      access: 'user',
      ...{ method: 'PUT', path: `${path}/{subject}`, tag, params: subjectParams },
      summary: `Share a ${kind} with a user or a team, or change the role`,
      body: z.strictObject({ role }),
      responses: { 200: { description: 'The share', schema: share, example } },
      async handle({ actor, params, body, info }) {
        proofs.requireOfSession(actor)
        const change = await shares.put(actor, kind, params.ref, { subject: params.subject, role: body.role })
        note(actor, info, change)
        return { body: change.concerned ?? {} }
      },
    }),
    route({
      access: 'user',
      ...{ method: 'DELETE', path: `${path}/{subject}`, tag, params: subjectParams },
      summary: 'End a share: the owner any, everybody the own one',
      responses: { 204: { description: 'It is no longer shared' } },
      async handle({ actor, params, info }) {
        note(actor, info, await shares.remove(actor, kind, params.ref, params.subject))
        return { status: 204 }
      },
    }),
  ]
}
