import { z } from 'zod'
import type { Auth } from '../../../auth/create.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Actor } from '../../../contract/records.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import { equalSecrets } from '../../../secrets/equal-secrets.ts'
import { type Route, route } from '../../route.ts'
import { newUserProblems } from './new-user.ts'
import { clientOf, openSession } from './session.ts'
import { beginAttempt, noteRefusal } from './sign-in-attempt.ts'
import { exampleSession, session } from './user-schemas.ts'

/** Dependencies of `POST /api/setup`. */
export interface SetupRoutesDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Pick<Auth, 'tokens' | 'signIns' | 'passwords' | 'signInThrottle' | 'refusedSignIns' | 'secondFactors'>
  readonly setupToken: string | undefined
}

/** The audit actor for attempts to set up, when there is no user yet. */
const SET_UP: Actor = { kind: 'system', purpose: 'set-up' }

const setupBody = z
  .strictObject({ token: z.string(), username: z.string(), password: z.string() })
  .meta({ examples: [{ token: 'k3j9-x2m4-p7q8', username: 'ada', password: 'a long sentence of mine' }] })

/** Set-up of the first administrator by a person who can read the hub's log. The routes answer 404 afterwards. */
export function setupRoutes(deps: SetupRoutesDeps): Route[] {
  const { registry, auth, setupToken } = deps
  const requireOpen = async (): Promise<string> => {
    if (setupToken !== undefined && (await registry.users.needsSetup())) return setupToken
    throw new HubError('route_not_found', 'There is nothing at this path')
  }
  return [
    route({
      method: 'GET',
      path: '/api/setup',
      access: 'public',
      summary: 'Whether the first administrator is still to be made; 404 afterwards',
      tag: 'sign-in',
      responses: {
        200: { description: 'It is', schema: z.object({ open: z.literal(true) }), example: { open: true } },
      },
      async handle() {
        await requireOpen()
        return { body: { open: true } }
      },
    }),
    route({
      method: 'POST',
      path: '/api/setup',
      access: 'public',
      summary: 'Make the first administrator, with the token that the hub printed in its log',
      tag: 'sign-in',
      body: setupBody,
      responses: { 201: { description: 'Signed in', schema: session, example: exampleSession } },
      async handle({ body, info, request }) {
        const expected = await requireOpen()
        const attempted = { actor: SET_UP, account: '', target: 'set-up token', ownerId: null, info }
        const attempt = beginAttempt(deps, attempted)
        if (!equalSecrets(body.token, expected)) {
          noteRefusal(deps, 'setup.failed', attempted)
          throw new HubError('token_invalid', 'This is not the set-up token', { hint: 'It is in the hub’s log.' })
        }
        attempt.succeeded()
        const problems = newUserProblems(body.username, body.password, '#/username')
        if (problems.length > 0) throw validationError(problems)
        const user = await registry.users.completeSetup(body.username, await auth.passwords.hash(body.password))
        const opened = await openSession(auth, user, clientOf(request, info))
        registry.audit.record(opened.actor, {
          action: 'setup.complete',
          target: user.name,
          ownerId: user.id,
          request: info,
        })
        return { status: 201, body: opened.body }
      },
    }),
  ]
}
