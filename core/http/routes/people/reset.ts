import { z } from 'zod'
import type { Auth } from '../../../auth/create.ts'
import { passwordProblem } from '../../../auth/passwords.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Actor } from '../../../contract/records.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry, UserRecord } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { timestamp } from '../schemas.ts'
import { clientOf, openSession, requireSession } from './session.ts'
import { beginAttempt, noteRefusal } from './sign-in-attempt.ts'
import { exampleSession, signedIn } from './user-schemas.ts'

/** Dependencies of creating and using reset links. */
export interface ResetRoutesDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Pick<
    Auth,
    'tokens' | 'signIns' | 'passwords' | 'signInThrottle' | 'refusedSignIns' | 'resetLinks' | 'secondFactors'
  >
}

/** The audit actor for links that are refused, when no user is known. */
const RESET: Actor = { kind: 'system', purpose: 'reset' }

/** Routes of links for users who cannot sign in: administrators create them, and each works once. */
export function resetRoutes(deps: ResetRoutesDeps): Route[] {
  return [linkRoute(deps), useRoute(deps)]
}

function linkRoute({ registry, auth }: ResetRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/admin/users/{name}/reset-link',
    access: 'admin',
    summary: 'A link with which a user sets a new password, once, within 24 hours; an earlier link ends',
    tag: 'users',
    params: z.object({ name: z.string().min(1).max(256) }),
    responses: {
      201: {
        description: 'The link, shown this once; until it is used the present password holds',
        schema: z.object({ url: z.string(), expiresAt: timestamp }),
        example: {
          url: 'https://hub.example.com/reset-password#Zm9yIGV4YW1wbGUgb25seQ',
          expiresAt: '2026-11-22T09:30:00.000Z',
        },
      },
    },
    async handle({ actor, params, info }) {
      requireSession(actor)
      const user = await registry.users.byName(actor, params.name)
      if (user.disabled) throw new HubError('account_disabled', 'A disabled account cannot get a reset link')
      auth.secondFactors.requirePassword(user)
      const { token, expiresAt } = await auth.resetLinks.create(user)
      registry.audit.record(actor, {
        ...{ action: 'user.reset_link', target: user.name, ownerId: user.id, request: info },
        detail: { expiresAt },
      })
      // In the fragment, which no browser sends: it reaches no log of a proxy.
      return { status: 201, body: { url: `${info.baseUrl}/reset-password#${token}`, expiresAt } }
    },
  })
}

function useRoute({ registry, auth }: ResetRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/reset',
    access: 'public',
    summary: 'Set a new password by a reset link; every session of the user ends, and the answer holds a new one',
    tag: 'sign-in',
    body: z
      .strictObject({
        token: z.string().min(1).max(256),
        newPassword: z.string(),
        secondFactor: z
          .strictObject({ ticket: z.string().min(1).max(1_024), code: z.string().min(1).max(64) })
          .optional()
          .meta({ description: 'For a user with a second factor: the answer to what a request without it was asked' }),
      })
      .meta({ examples: [{ token: 'Zm9yIGV4YW1wbGUgb25seQ', newPassword: 'a long sentence of mine' }] }),
    responses: {
      200: {
        description:
          'Changed, and signed in; or what a user with a second factor must prove first, and nothing is changed',
        schema: signedIn,
        example: exampleSession,
      },
    },
    async handle({ body, info, request }) {
      const attempted = { actor: RESET, account: '', target: 'reset link', ownerId: null, info }
      const attempt = beginAttempt({ registry, auth }, attempted)
      const user = await userOf({ registry, auth }, body.token)
      if (!user) {
        noteRefusal({ registry, auth }, 'auth.reset_failed', attempted)
        throw invalidLink()
      }
      if (!auth.secondFactors.takesPassword(user.role)) attempt.withdrawn()
      auth.secondFactors.requirePassword(user)
      const problem = passwordProblem(body.newPassword, user.name, '#/newPassword')
      if (problem) {
        attempt.withdrawn()
        throw validationError([problem])
      }
      if (user.secondFactor !== null) {
        // The link is right; codes have a limit of their own.
        attempt.succeeded()
        if (!body.secondFactor) return { body: { secondFactor: await auth.secondFactors.ask(user, 'reset') } }
        await auth.secondFactors.check(user, 'reset', body.secondFactor)
      }
      const passwordHash = await auth.passwords.hash(body.newPassword)
      if (!(await auth.resetLinks.take(body.token))) throw invalidLink()
      if (user.secondFactor === null) attempt.succeeded()
      const changed = await registry.users.setPassword(user.id, passwordHash)
      const opened = await openSession(auth, changed, clientOf(request, info))
      registry.audit.record(opened.actor, {
        ...{ action: 'auth.reset', target: user.name, ownerId: user.id, request: info },
      })
      return { body: opened.body }
    },
  })
}

/**
 * Returns the user of a link; undefined if it is unknown or the user is disabled, or if the user's sign-ins were ended after it
 * was created.
 */
async function userOf({ registry, auth }: ResetRoutesDeps, token: string): Promise<UserRecord | undefined> {
  const link = await auth.resetLinks.find(token)
  const user = link && (await registry.users.byId(link.userId))
  return user && !user.disabled && user.tokenEpoch === link.tokenEpoch ? user : undefined
}

function invalidLink(): HubError {
  return new HubError('reset_link_invalid', 'This link was used, has ended, or was never made')
}
