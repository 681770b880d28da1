import {
  type GrantScope,
  type GrantTarget,
  HubError,
  type PluginContext,
  type RouteAnswer,
  type UserActor,
} from 'patchbay/contract'
import { z } from 'zod'
import type { Client, Clients } from './clients.ts'
import { type Fail, SESSION_REQUIRED } from './errors.ts'
import type { Grants } from './grants.ts'
import { answered, hostOf, isListed, isOnDevice } from './redirects.ts'
import type { AuthorizationRequest, SealedRequests } from './requests.ts'
import { resourcePath } from './site.ts'

const LONGEST_REQUEST = 16_384
const text = z.string().min(1).max(LONGEST_REQUEST)
const scope = z.enum(['mcp:tools', 'mcp:read'])
const target = z.strictObject({ kind: z.enum(['all', 'group', 'server']), id: z.string().max(64).optional() })
const offered = target.extend({ name: z.string() })
/** A request as it is shown to the person who decides. */
const requestView = z.object({
  client: z.object({
    id: z.string(),
    name: z.string(),
    host: z.string().optional(),
    kind: z.enum(['document', 'registered', 'listed']),
  }),
  redirectHost: z.string(),
  anyProgram: z.boolean(),
  resource: z.string(),
  scopes: z.array(scope),
  targets: z.array(offered),
  expiresAt: z.string(),
})
const EXAMPLE = {
  client: { id: 'https://claude.ai/oauth/client', name: 'Claude', host: 'claude.ai', kind: 'document' },
  ...{ redirectHost: 'claude.ai', anyProgram: false, resource: 'https://hub.example/mcp', scopes: ['mcp:tools'] },
  ...{ targets: [{ kind: 'all', name: 'all' }], expiresAt: '2026-11-29T12:00:00.000Z' },
}

interface ConsentDeps {
  readonly requests: SealedRequests
  readonly clients: Clients
  readonly grants: Grants
  readonly fail: Fail
}

/** A target with the name by which a person knows it. */
type Offered = z.infer<typeof offered>

/** Throws `session_required` for an access key: what it would agree to would outlive it. */
export function requireSession({ credential }: UserActor): void {
  if (credential.kind === 'session') return
  throw new HubError('session_required', 'This needs a session token, and another credential was sent', {
    own: SESSION_REQUIRED,
  })
}

/** Adds the routes of the page at which a signed-in person decides on a request. */
export function addConsent(context: PluginContext<unknown>, deps: ConsentDeps): void {
  const { routes, people } = context
  const { requests, grants, fail } = deps
  const common = { method: 'POST', whole: true, access: 'user', tag: 'OAuth' } as const
  const refused = {
    400: { description: 'flow_unknown, client_refused, redirect_mismatch' },
    403: { description: 'client_blocked; session_required for an access key' },
  }

  routes.add({
    ...common,
    path: '/api/oauth/requests',
    summary: 'A request of a client, with what is known of the client',
    body: z.strictObject({ request: text }),
    answers: { 200: { description: 'What to decide', schema: requestView, example: EXAMPLE }, ...refused },
    async handle({ body, actor, baseUrl }) {
      requireSession(actor)
      const request = requests.open(body.request, baseUrl)
      const client = await checkedClient(deps, request, actor)
      const { id, name, host, kind } = client
      return {
        body: {
          client: { id, name, ...(host === undefined ? {} : { host }), kind },
          redirectHost: hostOf(request.redirectUri),
          anyProgram: isAnyProgram(client, request),
          ...{ resource: request.resource, scopes: request.scopes },
          targets: await targetsOf(context, request, actor),
          expiresAt: new Date(request.expiresAtMs).toISOString(),
        },
      }
    },
  })

  routes.add({
    ...common,
    path: '/api/oauth/decisions',
    summary: 'Decide on a request, once',
    body: z.strictObject({
      request: text,
      allow: z.boolean(),
      scopes: z.array(scope).min(1).max(2).optional(),
      target: target.optional(),
    }),
    answers: {
      200: {
        description: 'The address of the client, with its answer',
        schema: z.object({ redirect: z.string() }),
        example: { redirect: 'https://claude.ai/api/mcp/auth_callback?code=…&state=…&iss=…' },
      },
      ...refused,
      409: { description: 'request_decided' },
    },
    async handle({ body, actor, baseUrl }): Promise<RouteAnswer> {
      requireSession(actor)
      const request = requests.open(body.request, baseUrl)
      const client = await checkedClient(deps, request, actor)
      const { redirectUri, state, base } = request
      const answer = (parameters: Readonly<Record<string, string>>) => ({
        body: { redirect: answered(redirectUri, { ...parameters, state, iss: base }) },
      })
      const person = await people.byId(actor.userId)
      if (!body.allow || !person) {
        if (!(await grants.decide(request.id, undefined))) throw decided(fail)
        return answer({ error: 'access_denied', error_description: 'The user refused' })
      }
      const made = await grants.decide(request.id, {
        ...{ userId: actor.userId, epoch: person.epoch, client, redirectUri, redirectHost: hostOf(redirectUri) },
        ...{ base, resource: request.resource, challenge: request.challenge, request: request.id },
        target: chosenTarget(await targetsOf(context, request, actor), body.target),
        scopes: chosenScopes(request.scopes, body.scopes),
      })
      if (!made) throw decided(fail)
      context.audit(actor, 'grant', `${client.name} (${hostOf(redirectUri)})`, actor.userId)
      return answer({ code: made.code })
    },
  })
}

function decided(fail: Fail): HubError {
  return fail('request_decided', 'Somebody has decided on this request already')
}

/** The client of a request, to whose address the answer may go. Throws `redirect_mismatch` and what `resolve` throws. */
async function checkedClient(
  { clients, fail }: ConsentDeps,
  request: AuthorizationRequest,
  actor: UserActor,
): Promise<Client> {
  const client = await clients.resolve(request.clientId, actor.userId)
  if (isListed(request.redirectUri, client.redirectUris)) return client
  const shown = JSON.stringify(request.redirectUri.slice(0, 200))
  throw fail(
    'redirect_mismatch',
    `The client "${client.name}" asks for an answer at ${shown}, which is not one of its addresses`,
  )
}

/** True when nothing shows that the program which asks is the one of that name. */
function isAnyProgram({ kind }: Client, { redirectUri }: AuthorizationRequest): boolean {
  return kind === 'registered' || isOnDevice(redirectUri)
}

/** The things that a request can open: at the address of all servers any of the user's own, elsewhere the one at that address. */
async function targetsOf(
  { registry, groups, servers }: PluginContext<unknown>,
  { resource, base }: AuthorizationRequest,
  actor: UserActor,
): Promise<readonly Offered[]> {
  const { owner, name } = resourcePath(resource.slice(base.length)) ?? {}
  if (name !== undefined) {
    const group = await registry.group(actor, owner, name)
    if (group && registry.mayUse(actor.userId, group)) return [{ kind: 'group', id: group.id, name: group.name }]
    const server = await registry.serverByName(actor, owner, name)
    if (server && registry.mayUse(actor.userId, server)) return [{ kind: 'server', id: server.id, name: server.name }]
    throw new HubError('group_not_found', `There is no group or server "${name.slice(0, 130)}" that you may use`)
  }
  const [ownGroups, ownServers] = await Promise.all([groups.list(actor), servers.list(actor)])
  return [
    { kind: 'all', name: 'all' },
    ...ownGroups.map(({ id, name: own }) => ({ kind: 'group' as const, id, name: own })),
    ...ownServers.map(({ id, name: own }) => ({ kind: 'server' as const, id, name: own })),
  ]
}

function chosenTarget(targets: readonly Offered[], wanted: z.infer<typeof target> | undefined): GrantTarget {
  const found = wanted ? targets.find(({ kind, id }) => kind === wanted.kind && id === wanted.id) : targets[0]
  if (!found) throw refusedField('#/target', 'The request does not offer this')
  return found.kind === 'all' ? { kind: 'all' } : { kind: found.kind, id: found.id as string }
}

function chosenScopes(asked: readonly GrantScope[], wanted: readonly GrantScope[] = asked): readonly GrantScope[] {
  const isMore = wanted.some(one => !asked.includes(one) && !(one === 'mcp:read' && asked.includes('mcp:tools')))
  if (isMore) throw refusedField('#/scopes', 'The client has not asked for this')
  return [...new Set(wanted)]
}

function refusedField(pointer: string, detail: string): HubError {
  return new HubError('validation_failed', 'The decision does not fit the request', {
    errors: [{ pointer, code: 'enum', detail }],
  })
}
