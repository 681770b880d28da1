import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { isCommonPassword } from '../../../auth/common-passwords.ts'
import type { Auth } from '../../../auth/create.ts'
import { passwordProblem } from '../../../auth/passwords.ts'
import { HubError } from '../../../contract/errors.ts'
import type { Actor, UserActor } from '../../../contract/records.ts'
import { quoteName } from '../../../domain/names.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry, UserRecord } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { clientOf, openSession, refreshSession, requireSession } from './session.ts'
import { beginAttempt, requirePassword } from './sign-in-attempt.ts'
import { exampleSession, exampleUser, session, signedIn, user, userView } from './user-schemas.ts'

/** Dependencies of sign-in, sign-out and password changes. */
export interface AuthRoutesDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly auth: Pick<
    Auth,
    | 'tokens'
    | 'signIns'
    | 'passwords'
    | 'signInThrottle'
    | 'refusedSignIns'
    | 'revocations'
    | 'secondFactors'
    | 'proofs'
  >
}

const tag = 'sign-in'
/**
 * While some user has a hash of another program, refused sign-ins are answered after this long: the times of bcrypt
 * would show which names were imported. Its highest cost takes 1,045 ms on two shared cores.
 */
const REFUSED_MS = 2_000
/** The audit actor for failed sign-ins, when no user is known. */
const SIGN_IN: Actor = { kind: 'system', purpose: 'sign-in' }

/** Sign-in, sign-out, refresh, and a user's own account. */
export function authRoutes(deps: AuthRoutesDeps): Route[] {
  return [loginRoute(deps), logoutRoute(deps), refreshRoute(deps), meRoute(deps), passwordRoute(deps)]
}

function loginRoute(deps: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/login',
    access: 'public',
    summary: 'Sign in with user name and password; slowed down after failures',
    tag,
    body: z
      .strictObject({ username: z.string(), password: z.string() })
      .meta({ examples: [{ username: 'ada', password: 'a long sentence of mine' }] }),
    responses: {
      200: {
        description:
          'Signed in; or what a user with a second factor must prove, which POST /api/auth/second-factor takes',
        schema: signedIn,
        example: exampleSession,
      },
    },
    async handle({ body, info, request }) {
      const found = await authenticate(deps, body.username, body.password, info)
      deps.auth.secondFactors.requirePassword(found)
      const asked = await deps.auth.secondFactors.ask(found, 'sign-in')
      if (asked) return { body: { secondFactor: asked } }
      const { actor, body: answer } = await openSession(deps.auth, found, clientOf(request, info))
      note(deps, actor, 'auth.login', found, info)
      return { body: answer }
    },
  })
}

/** Authenticates a user. Response and duration are the same whether the name or the password is wrong. */
async function authenticate(
  deps: AuthRoutesDeps,
  name: string,
  password: string,
  info: RequestInfo,
): Promise<UserRecord> {
  const { registry, auth } = deps
  const attempt = beginAttempt(deps, { actor: SIGN_IN, account: name, target: quoteName(name), ownerId: null, info })
  const begunAtMs = performance.now()
  try {
    const found = await registry.users.credentials(name)
    const { ok, outdated } = await auth.passwords.verify(password, found?.passwordHash)
    if (ok && found && !found.user.disabled) {
      attempt.succeeded()
      return outdated ? await rehashed(deps, found.user, password) : found.user
    }
    registry.audit.record(SIGN_IN, {
      action: 'auth.login_failed',
      target: quoteName(name),
      ownerId: found?.user.id ?? null,
      request: info,
    })
    if (await registry.users.hasImportedHashes()) await sleep(REFUSED_MS - (performance.now() - begunAtMs))
  } catch (error) {
    // The hub was too busy to check the password: the attempt does not count.
    attempt.withdrawn()
    throw error
  }
  throw new HubError('login_failed', 'User name or password is wrong')
}

/** Only here the hub has the password, to hash it as it hashes its own. */
async function rehashed({ registry, auth }: AuthRoutesDeps, user: UserRecord, password: string): Promise<UserRecord> {
  const mustChange = isCommonPassword(password)
  await registry.users.rehash(user.id, await auth.passwords.hash(password), { mustChange })
  return mustChange ? { ...user, mustChangePassword: true } : user
}

function logoutRoute(deps: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/logout',
    access: 'user',
    summary: 'Sign out: this session token and all that were refreshed from the same sign-in end',
    tag,
    beforePasswordChange: true,
    responses: { 204: { description: 'They are ended' } },
    async handle({ actor, info }) {
      const { familyId } = requireSession(actor)
      await deps.auth.revocations.revoke({ userId: actor.userId, familyId })
      note(deps, actor, 'auth.logout', { id: actor.userId, name: actor.name }, info)
      return { status: 204 }
    },
  })
}

function refreshRoute({ registry, auth }: AuthRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/refresh',
    access: 'user',
    summary: 'A new session token of the same sign-in, of full life but no longer than 30 days after it',
    tag,
    responses: { 200: { description: 'The new one', schema: session, example: exampleSession } },
    async handle({ actor }) {
      const family = requireSession(actor)
      return { body: (await refreshSession(auth, await ownRecord(registry, actor), family)).body }
    },
  })
}

function meRoute({ registry }: AuthRoutesDeps): Route {
  const me = user.extend({ credential: z.enum(['session', 'key', 'local']) })
  return route({
    method: 'GET',
    path: '/api/auth/me',
    access: 'user',
    summary: 'The caller as the hub knows it',
    tag,
    beforePasswordChange: true,
    responses: { 200: { description: 'You', schema: me, example: { ...exampleUser, credential: 'session' } } },
    async handle({ actor }) {
      // The role in this request: an administrator outside ADMIN_ADDRESSES is an ordinary user.
      const { role } = actor
      return { body: { ...userView(await ownRecord(registry, actor)), role, credential: actor.credential.kind } }
    },
  })
}

function passwordRoute(deps: AuthRoutesDeps): Route {
  const { registry, auth } = deps
  return route({
    method: 'POST',
    path: '/api/auth/password',
    access: 'user',
    summary: 'Change your password; every session ends, and the answer holds a new one',
    tag,
    beforePasswordChange: true,
    body: z
      .strictObject({ currentPassword: z.string(), newPassword: z.string() })
      .meta({ examples: [{ currentPassword: 'the one so far', newPassword: 'a long sentence of mine' }] }),
    responses: { 200: { description: 'Changed', schema: session, example: exampleSession } },
    async handle({ actor, body, info, request }) {
      requireSession(actor)
      const own = await ownRecord(registry, actor)
      auth.secondFactors.requirePassword(own)
      if (own.secondFactor !== null) auth.proofs.require(actor)
      await requirePassword(deps, actor, body.currentPassword, info)
      const problem = newPasswordProblem(body.currentPassword, body.newPassword, actor.name)
      if (problem) throw validationError([problem])
      const changed = await registry.users.setPassword(actor.userId, await auth.passwords.hash(body.newPassword))
      note(deps, actor, 'auth.password', changed, info)
      return { body: (await openSession(auth, changed, clientOf(request, info))).body }
    },
  })
}

function newPasswordProblem(current: string, next: string, userName: string) {
  const pointer = '#/newPassword'
  if (current !== next) return passwordProblem(next, userName, pointer)
  return { pointer, code: 'password_weak' as const, detail: 'The new password is the one that you have' }
}

async function ownRecord(registry: Pick<Registry, 'users'>, actor: UserActor): Promise<UserRecord> {
  const record = await registry.users.byId(actor.userId)
  if (record) return record
  throw new HubError('token_revoked', 'The account is gone')
}

function note(
  { registry }: AuthRoutesDeps,
  actor: Actor,
  action: string,
  { id, name }: { readonly id: string; readonly name: string },
  request: RequestInfo,
): void {
  registry.audit.record(actor, { action, target: name, ownerId: id, request })
}
