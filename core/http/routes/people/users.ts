import { z } from 'zod'
import type { Auth } from '../../../auth/create.ts'
import { type Passwords, passwordProblem } from '../../../auth/passwords.ts'
import { type FieldError, HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { UserGrants } from '../../../domain/server/spawn-policy.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry, UserChange, UserRecord } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { exampleList, flag, listOf, pageFields, sortKey } from '../schemas.ts'
import { page, recordReply, writeOptions } from '../views.ts'
import { newUserProblems } from './new-user.ts'
import { requireSession } from './session.ts'
import {
  exampleUser,
  exampleUserWithPossessions,
  user,
  userGrants,
  userView,
  userWithPossessions,
  userWithPossessionsView,
} from './user-schemas.ts'

/** Dependencies of the routes of `/api/users`. */
export interface UserRoutesDeps {
  readonly registry: Pick<Registry, 'users' | 'audit'>
  readonly passwords: Pick<Passwords, 'hash'>
  readonly proofs: Auth['proofs']
}

const tag = 'users'
const nameParams = z.object({ name: z.string().min(1).max(256) })
const role = z.enum(['admin', 'user'])
const mustChangePassword = z.boolean().optional().meta({
  description: 'The next thing to do after signing in. Default false for a new user, true for a reset by another',
})

/** User management for administrators. */
export function userRoutes(deps: UserRoutesDeps): Route[] {
  return [listRoute(deps), createRoute(deps), readRoute(deps), changeRoute(deps), removeRoute(deps)]
}

function listRoute({ registry }: UserRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/admin/users',
    access: 'admin',
    summary: 'All users',
    tag,
    query: z.strictObject({
      q: z.string().max(256).optional().meta({ description: 'Part of the name, letter case ignored' }),
      sort: sortKey.default('name'),
      ...pageFields,
    }),
    responses: {
      200: {
        description: 'A page of users',
        schema: listOf(userWithPossessions),
        example: exampleList(exampleUserWithPossessions),
      },
    },
    async handle({ actor, query }) {
      const { q, sort } = query
      const users = await registry.users.list(actor, { scope: 'all', sort, ...(q === undefined ? {} : { q }) })
      const shown = page(users, query)
      const has = await registry.users.possessions(
        actor,
        shown.items.map(({ id }) => id),
      )
      return { body: { ...shown, items: shown.items.map(each => userWithPossessionsView(each, has.get(each.id))) } }
    },
  })
}

function createRoute(deps: UserRoutesDeps): Route {
  const { registry, passwords } = deps
  return route({
    method: 'POST',
    path: '/api/admin/users',
    access: 'admin',
    summary: 'Make a user',
    tag,
    body: z
      .strictObject({
        username: z.string().optional(),
        name: z.string().optional().meta({ description: 'The same as `username`' }),
        password: z.string(),
        role: role.default('user'),
        mustChangePassword,
      })
      .refine(({ username, name }) => (username ?? name) !== undefined, {
        ...onUsername('required'),
        message: '"username" is required',
      })
      .refine(({ username, name }) => username === undefined || name === undefined || username === name, {
        ...onUsername('ambiguous'),
        message: 'username and name are two words for the same and differ',
      })
      .meta({ examples: [{ username: 'bob', password: 'a long sentence of his', role: 'user' }] }),
    responses: { 201: { description: 'The user', schema: user, example: exampleUser } },
    async handle({ actor, body, info }) {
      requireSession(actor)
      const name = body.username ?? body.name ?? ''
      const pointer = body.username === undefined ? '#/name' : '#/username'
      const problems = newUserProblems(name, body.password, pointer)
      if (problems.length > 0) throw validationError(problems)
      const input = {
        name,
        passwordHash: await passwords.hash(body.password),
        role: body.role,
        ...(body.mustChangePassword === undefined ? {} : { mustChangePassword: body.mustChangePassword }),
      }
      const made = await registry.users.create(actor, input).catch(error => {
        throw nameTakenAt(pointer, error)
      })
      note(deps, actor, info, 'user.create', made, { role: made.role })
      return recordReply(userView(made), 201, `${info.baseUrl}/api/admin/users/${encodeURIComponent(made.name)}`)
    },
  })
}

/** A problem of the name that is reported together with those of other fields. */
function onUsername(code: FieldError['code']) {
  return {
    path: ['username'],
    params: { code },
    when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null,
  }
}

/** Points the registry's error to the field that the body used for the name. */
function nameTakenAt(pointer: string, error: unknown): unknown {
  if (!(error instanceof HubError) || error.code !== 'username_taken') return error
  return new HubError(error.code, error.message, {
    errors: [{ pointer, code: 'duplicate', detail: error.message }],
  })
}

function readRoute({ registry }: UserRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/admin/users/{name}',
    access: 'admin',
    summary: 'One user',
    tag,
    params: nameParams,
    responses: {
      200: { description: 'The user', schema: userWithPossessions, example: exampleUserWithPossessions },
    },
    async handle({ actor, params }) {
      const found = await registry.users.byName(actor, params.name)
      const has = await registry.users.possessions(actor, [found.id])
      return recordReply(userWithPossessionsView(found, has.get(found.id)))
    },
  })
}

function changeRoute(deps: UserRoutesDeps): Route {
  const { registry } = deps
  return route({
    method: 'PATCH',
    path: '/api/admin/users/{name}',
    access: 'admin',
    summary:
      'Change name, role, password or grants of a user, or shut the account; what narrows rights ends all sessions',
    tag,
    params: nameParams,
    body: z
      .strictObject({
        name: z.string().optional(),
        role: role.optional(),
        disabled: z.boolean().optional(),
        password: z.string().optional(),
        mustChangePassword,
        grants: userGrants.optional(),
      })
      .meta({ examples: [{ role: 'admin' }] }),
    responses: { 200: { description: 'The user', schema: user, example: exampleUser } },
    async handle({ actor, params, body, info, request }) {
      requireSession(actor)
      const before = await registry.users.byName(actor, params.name)
      // Else a stolen session could replace the password, which is a part of what it would have to prove.
      const own = body.password === undefined ? undefined : await registry.users.byId(actor.userId)
      if (own && own.secondFactor !== null) deps.proofs.require(actor)
      const change = await changeOf(deps, actor, before, body)
      const changed = await registry.users.update(actor, params.name, change, writeOptions(request.headers))
      note(deps, actor, info, 'user.update', changed, auditable(change))
      return recordReply(userView(changed))
    },
  })
}

interface ChangeBody {
  readonly name?: string | undefined
  readonly role?: 'admin' | 'user' | undefined
  readonly disabled?: boolean | undefined
  readonly password?: string | undefined
  readonly mustChangePassword?: boolean | undefined
  readonly grants?: UserGrants | undefined
}

async function changeOf(
  { passwords }: UserRoutesDeps,
  actor: UserActor,
  before: UserRecord,
  body: ChangeBody,
): Promise<UserChange> {
  const { name, role: newRole, disabled, password, grants } = body
  const problem = password === undefined ? undefined : passwordProblem(password, name ?? before.name)
  if (problem) throw validationError([problem])
  // An administrator who sets a password knows it, so the user must change it at the next sign-in.
  const reset = password !== undefined && before.id !== actor.userId
  const mustChange = body.mustChangePassword ?? (reset ? true : undefined)
  return {
    ...(name === undefined ? {} : { name }),
    ...(newRole === undefined ? {} : { role: newRole }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(password === undefined ? {} : { passwordHash: await passwords.hash(password) }),
    ...(mustChange === undefined ? {} : { mustChangePassword: mustChange }),
    ...(grants === undefined ? {} : { grants }),
  }
}

/** The change without secrets, for the audit log. */
function auditable({
  name,
  role: newRole,
  disabled,
  passwordHash,
  mustChangePassword: mustChange,
  grants,
}: UserChange): JsonObject {
  const password = passwordHash && 'changed'
  const change = { name, role: newRole, disabled, mustChangePassword: mustChange, password, grants }
  return JSON.parse(JSON.stringify(change)) as JsonObject
}

function removeRoute(deps: UserRoutesDeps): Route {
  const { registry } = deps
  return route({
    method: 'DELETE',
    path: '/api/admin/users/{name}',
    access: 'admin',
    summary: 'Delete a user; an owner of servers or groups only with `transferTo` or `cascade`',
    tag,
    params: nameParams,
    query: z.strictObject({
      transferTo: z.string().min(1).max(256).optional().meta({ description: 'Who gets the servers and groups' }),
      cascade: flag,
    }),
    responses: { 204: { description: 'Gone' } },
    async handle({ actor, params, query, info }) {
      requireSession(actor)
      const { transferTo } = query
      const cascade = query.cascade === 'true'
      if (cascade && transferTo !== undefined) {
        const detail = '"transferTo" keeps what "cascade" removes; give one of the two'
        throw validationError([{ pointer: '?transferTo', code: 'ambiguous', detail }])
      }
      const before = await registry.users.byName(actor, params.name)
      await registry.users.remove(actor, params.name, { cascade, ...(transferTo === undefined ? {} : { transferTo }) })
      note(deps, actor, info, 'user.delete', before, transferTo === undefined ? { cascade } : { transferTo })
      return { status: 204 }
    },
  })
}

function note(
  { registry }: UserRoutesDeps,
  actor: UserActor,
  request: RequestInfo,
  action: string,
  target: UserRecord,
  detail: JsonObject,
): void {
  registry.audit.record(actor, { action, target: target.name, ownerId: target.id, request, detail })
}
