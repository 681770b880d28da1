import { z } from 'zod'
import type { Auth } from '../../../auth/create.ts'
import { HubError } from '../../../contract/errors.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { timestamp } from '../schemas.ts'
import { requireSession } from './session.ts'

/** Dependencies of the routes of a user's own sign-ins. */
export interface SignInRoutesDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Pick<Auth, 'signIns' | 'revocations'>
}

const tag = 'sign-in'

const signIn = z.object({
  id: z.string(),
  current: z.boolean().meta({ description: 'The one that this request belongs to' }),
  createdAt: timestamp,
  lastUsedAt: timestamp,
  expiresAt: timestamp,
  clientAddress: z.string(),
  client: z.string().nullable().meta({ description: 'The User-Agent that the client sent, cut at 200 characters' }),
})

const example = {
  id: '6f0d1f0e-9d0b-4d6f-8f6a-0c7c8f7e1a11',
  current: true,
  createdAt: '2026-11-21T09:30:00.000Z',
  lastUsedAt: '2026-11-21T11:02:00.000Z',
  expiresAt: '2026-11-21T21:30:00.000Z',
  clientAddress: '192.0.2.7',
  client: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
}

/** Routes of the caller's open sign-ins: list them, end one, end all others. */
export function signInRoutes(deps: SignInRoutesDeps): Route[] {
  return [listRoute(deps), endRoute(deps), endOthersRoute(deps)]
}

function listRoute(deps: SignInRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/auth/sign-ins',
    access: 'user',
    summary: 'Your open sign-ins, the newest first',
    tag,
    responses: {
      200: { description: 'They', schema: z.object({ items: z.array(signIn) }), example: { items: [example] } },
    },
    async handle({ actor }) {
      const { credential } = actor
      const current = credential.kind === 'session' ? credential.familyId : undefined
      return { body: { items: (await listOf(deps, actor)).map(each => ({ ...each, current: each.id === current })) } }
    },
  })
}

function endRoute(deps: SignInRoutesDeps): Route {
  return route({
    method: 'DELETE',
    path: '/api/auth/sign-ins/{id}',
    access: 'user',
    summary: 'End one of your sign-ins: its tokens are refused from now on',
    tag,
    params: z.object({ id: z.string().min(1).max(64) }),
    responses: { 204: { description: 'It is ended' } },
    async handle({ actor, params, info }) {
      requireSession(actor)
      const found = (await listOf(deps, actor)).find(({ id }) => id === params.id)
      if (!found) throw new HubError('sign_in_not_found', 'You have no such sign-in, or it has ended already')
      await end(deps, actor, [found.id])
      deps.registry.audit.record(actor, {
        ...{ action: 'auth.sign_in_ended', target: actor.name, ownerId: actor.userId, request: info },
        detail: { clientAddress: found.clientAddress },
      })
      return { status: 204 }
    },
  })
}

function endOthersRoute(deps: SignInRoutesDeps): Route {
  return route({
    method: 'DELETE',
    path: '/api/auth/sign-ins',
    access: 'user',
    summary: 'End all your sign-ins but the one of this request; access keys go on',
    tag,
    responses: {
      200: { description: 'How many', schema: z.object({ ended: z.number().int() }), example: { ended: 2 } },
    },
    async handle({ actor, info }) {
      const { familyId } = requireSession(actor)
      const others = (await listOf(deps, actor)).map(({ id }) => id).filter(id => id !== familyId)
      await end(deps, actor, others)
      deps.registry.audit.record(actor, {
        ...{ action: 'auth.sign_ins_ended', target: actor.name, ownerId: actor.userId, request: info },
        detail: { ended: others.length },
      })
      return { body: { ended: others.length } }
    },
  })
}

async function listOf({ registry, auth }: SignInRoutesDeps, actor: UserActor) {
  const user = await registry.users.byId(actor.userId)
  return user ? auth.signIns.list(user) : []
}

async function end({ auth }: SignInRoutesDeps, { userId }: UserActor, ids: readonly string[]): Promise<void> {
  for (const familyId of ids) await auth.revocations.revoke({ familyId, userId })
}
