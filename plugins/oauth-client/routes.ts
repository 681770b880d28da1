import { HubError, type JsonObject, type PluginContext, type UserActor } from 'patchbay/contract'
import { z } from 'zod'
import type { Broker } from './broker.ts'
import { broughtFields, MOST_VALUE } from './credentials/brought-values.ts'
import type { Credential } from './credentials/store.ts'
import { MOST_SCOPES, SCOPE } from './discovery/scopes.ts'
import { ERRORS } from './errors.ts'
import { CALLBACK, type Connect, DOCUMENT } from './flows/connect.ts'
import type { DeviceFlow } from './flows/flows.ts'
import { isByPerson, serverOauth, serverUrl } from './server-config.ts'
import { clientMetadata } from './tokens/clients.ts'

const TAG = 'connections'

const connection = z.object({
  id: z.string(),
  server: z.string().meta({ description: 'Its owner and name; empty for one that you may not see any more.' }),
  serverId: z.string(),
  issuer: z.string(),
  resource: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()),
  for: z.enum(['self', 'all']).meta({ description: '`all`: everybody who uses the server acts as this user.' }),
  state: z.enum(['active', 'sign_in_needed', 'refused']),
  expiresAt: z.string().optional().meta({ description: 'Of the present token, which is renewed by itself.' }),
  lastUsedAt: z.string().optional(),
  createdAt: z.string(),
})
const begun = { flow: z.string(), issuer: z.string(), scopes: z.array(z.string()), expiresAt: z.string() }
const page = z.string().meta({ description: 'The page of the issuer at which the code is entered.' })
const whole = z.string().meta({ description: 'That page with the code in its address.' })
const interval = z.number().meta({ description: 'Seconds between two questions of the hub to the issuer.' })
const flow = z.union([
  z.object({
    ...begun,
    authorizeUrl: z.string().meta({ description: 'Where the browser goes now.' }),
    redirectUri: z.string(),
  }),
  z.object({
    ...begun,
    verificationUri: page,
    verificationUriComplete: whole.optional(),
    userCode: z.string(),
    interval,
  }),
])
const exampleConnection = {
  ...{ id: '5f0c…', server: 'ada~notes', serverId: '0d1e…', issuer: 'https://auth.example.com' },
  ...{ resource: 'https://mcp.example.com/mcp', clientId: 'c1', scopes: ['read'], for: 'self', state: 'active' },
  ...{ expiresAt: '2026-11-24T10:30:00.000Z', createdAt: '2026-11-24T09:30:00.000Z' },
}
const scope = z.string().regex(SCOPE)

/** Adds the routes of sign-ins at servers. */
export function addRoutes(context: PluginContext<unknown>, broker: Broker, connect: Connect): void {
  const { routes, registry, servers, states } = context

  routes.add({
    ...{ method: 'POST', path: '/api/servers/{ref}/connect', whole: true, access: 'user', tag: TAG },
    summary: 'Begin to sign in at a server',
    params: z.object({ ref: z.string().max(512) }),
    body: z.object({
      for: z.enum(['self', 'all']).default('self').meta({ description: '`all`: for everybody, by the owner alone.' }),
      scopes: z
        .array(scope)
        .max(MOST_SCOPES)
        .default([])
        .meta({ description: 'Permissions to ask for besides the usual ones.' }),
    }),
    answers: {
      201: {
        description:
          'The address for the browser, or with `oauth.grant` `device` a code to enter at the issuer, on any device; the hub then finishes the sign-in by itself. It ends after ten minutes or at `expiresAt` of the code, or with another start.',
        schema: flow,
        example: {
          ...{
            flow: '1f2e…',
            authorizeUrl: 'https://auth.example.com/authorize?…',
            issuer: 'https://auth.example.com',
          },
          ...{ redirectUri: 'https://hub.example.com/oauth/callback', scopes: ['read'] },
          expiresAt: '2026-11-24T09:40:00.000Z',
        },
      },
    },
    audit: 'begin',
    async handle({ actor, params: { ref }, body, baseUrl }) {
      const wanted = { forAll: body.for === 'all', scopes: body.scopes, baseUrl }
      const { flow, authorizeUrl } = await connect.begin(actor, ref, wanted)
      const { id, issuer, scopes, expiresAtMs } = flow
      const shown = { flow: id, issuer: issuer.issuer, scopes, expiresAt: new Date(expiresAtMs).toISOString() }
      const next = flow.kind === 'device' ? codeOf(flow) : { authorizeUrl, redirectUri: flow.redirectUri }
      return { status: 201, body: { ...shown, ...next }, headers: { 'cache-control': 'no-store' } }
    },
  })

  routes.add({
    ...{ method: 'PUT', path: '/api/servers/{ref}/connections/me', whole: true, access: 'user', tag: TAG },
    summary: 'Enter the values that a server asks each of its users for; they cannot be read again',
    params: z.object({ ref: z.string().max(512) }),
    body: z.object({
      values: z
        .record(z.string().max(64), z.string().max(MOST_VALUE))
        .meta({ description: 'By their names in `bring`.' }),
    }),
    answers: { 200: { description: 'The connection', schema: connection, example: exampleConnection } },
    audit: 'enter',
    async handle({ actor, params: { ref }, body: { values } }) {
      const found = await servers.find(actor, ref)
      const isForAll = found.config.credentials === 'owner'
      if (isForAll && found.ownerId !== actor.userId)
        throw new HubError('not_owner', `The owner of "${found.name}" enters the values for all its users`)
      const target = await states.target(found.id)
      return { body: await shown(await broker.values.enter(target, actor.userId, values), actor) }
    },
  })

  routes.add({
    ...{ method: 'POST', path: '/api/connections/finish', whole: true, access: 'user', tag: TAG },
    summary: 'Finish a sign-in with the address at which the browser came back',
    body: z.object({ url: z.string().max(8_192).meta({ description: 'The whole address, with its query.' }) }),
    answers: { 200: { description: 'The connection', schema: connection, example: exampleConnection } },
    audit: 'finish',
    async handle({ actor, body: { url } }) {
      return { body: await shown(await connect.finish(actor, url), actor) }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/connections/flows/{id}', whole: true, access: 'user', tag: TAG },
    summary: 'State of a sign-in that you began',
    params: z.object({ id: z.string().max(64) }),
    answers: {
      200: {
        description: 'The state; of a failure its code; of one that waits for a code to be entered that code',
        schema: z.object({
          ...{
            flow: z.string(),
            server: z.string(),
            state: z.enum(['waiting', 'done', 'failed']),
            expiresAt: z.string(),
          },
          code: z.string().optional(),
          ...{ message: z.string().optional(), title: z.string().optional(), hint: z.string().optional() },
          ...{ verificationUri: page.optional(), verificationUriComplete: whole.optional() },
          ...{ issuer: z.string().optional(), userCode: z.string().optional(), interval: interval.optional() },
        }),
        example: { flow: '1f2e…', server: 'ada~notes', state: 'waiting', expiresAt: '2026-11-24T09:40:00.000Z' },
      },
    },
    async handle({ actor, params: { id } }) {
      const found = connect.flows.byId(id)
      if (!found || found.userId !== actor.userId) throw context.error('flow_unknown', 'You have no such sign-in')
      const { id: flow, server, outcome, expiresAtMs } = found
      const isAsked = found.kind === 'device' && outcome.state === 'waiting'
      const { title, remedy: hint } = ERRORS[outcome.code ?? ''] ?? {}
      const words = title === undefined ? {} : { title, hint }
      const body = { flow, server, ...outcome, ...words, expiresAt: new Date(expiresAtMs).toISOString() }
      return { body: isAsked ? { ...body, ...codeOf(found) } : body, headers: { 'cache-control': 'no-store' } }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/connections', whole: true, access: 'user', tag: TAG },
    summary: 'The servers at which you signed in',
    answers: {
      200: {
        description: 'Your connections, and your servers that want you to sign in',
        schema: z.object({
          items: z.array(connection),
          wanting: z.array(z.object({ server: z.string(), serverId: z.string(), connectUrl: z.string() })),
        }),
        example: { items: [exampleConnection], wanting: [] },
      },
    },
    async handle({ actor }) {
      const items = await Promise.all((await broker.store.of(actor.userId)).map(one => shown(one, actor)))
      return { body: { items, wanting: await wantingOf(actor, items) } }
    },
  })

  routes.add({
    ...{ method: 'GET', path: '/api/connections/servers/{id}', whole: true, access: 'user', tag: TAG },
    summary: 'A server by its id, as the page at which you sign in there shows it',
    params: z.object({ id: z.string().max(64) }),
    answers: {
      200: {
        description: 'The server, and your connection to it, if you have one',
        schema: z.object({
          ...{ server: z.string(), name: z.string(), owner: z.string() },
          own: z.boolean().meta({ description: 'True when the server is yours.' }),
          for: z.enum(['self', 'all']),
          host: z.string().optional().meta({
            description:
              'Where the sign-in or the values are used; absent for a program, and where you cannot begin one.',
          }),
          bring: z
            .array(z.object({ name: z.string(), label: z.string(), help: z.string().optional() }))
            .optional()
            .meta({ description: 'Values that the server asks you for, in place of a sign-in.' }),
          connection: connection.optional(),
        }),
        example: { server: 'ada~notes', name: 'notes', owner: 'ada', own: true, for: 'self', host: 'mcp.example.com' },
      },
      404: { description: 'server_not_found' },
    },
    async handle({ actor, params: { id } }) {
      const server = await registry.server(actor, id)
      if (!server) throw new HubError('server_not_found', `You see no server with the id ${JSON.stringify(id)}`)
      const own = await broker.store.find(actor.userId, id)
      const { name, ownerName: owner, ownerId, config } = server
      const body = {
        ...{ server: `${owner}~${name}`, name, owner, own: ownerId === actor.userId },
        for: config.credentials === 'owner' ? ('all' as const) : ('self' as const),
      }
      const asked = askedOf(config, body)
      const target = asked.mayBegin ? await states.target(id).catch(() => undefined) : undefined
      const host = target && serverUrl(target.config)?.host
      return {
        body: {
          ...body,
          ...(host === undefined ? {} : { host }),
          ...(asked.bring ? { bring: asked.bring } : {}),
          ...(own ? { connection: await shown(own, actor) } : {}),
        },
      }
    },
  })

  routes.add({
    ...{ method: 'DELETE', path: '/api/connections/{id}', whole: true, access: 'user', tag: TAG },
    summary: 'Sign out at a server; the issuer is told where it takes that',
    params: z.object({ id: z.string().max(64) }),
    answers: { 204: { description: 'Signed out' } },
    audit: 'disconnect',
    async handle({ actor, params: { id } }) {
      await connect.disconnect(actor, id)
      return { status: 204 }
    },
  })

  routes.add({
    ...{ method: 'GET', path: DOCUMENT, whole: true, access: 'public', tag: TAG },
    summary: 'The hub as a client of issuers (Client ID Metadata Document)',
    answers: {
      200: {
        description: 'The document, whose address is the client id',
        schema: z.looseObject({ client_id: z.string(), redirect_uris: z.array(z.string()) }),
        example: {
          client_id: `https://hub.example.com${DOCUMENT}`,
          redirect_uris: [`https://hub.example.com${CALLBACK}`],
        },
      },
    },
    handle({ baseUrl }) {
      const document = {
        client_id: `${baseUrl}${DOCUMENT}`,
        ...clientMetadata(`${baseUrl}${CALLBACK}`),
        token_endpoint_auth_method: 'none',
      }
      return { body: document, headers: { 'cache-control': 'public, max-age=3600' } }
    },
  })

  async function shown(credential: Credential, actor: UserActor) {
    const server = await registry.server(actor, credential.server_id)
    return {
      id: credential.id,
      server: server ? `${server.ownerName}~${server.name}` : '',
      serverId: credential.server_id,
      issuer: credential.issuer,
      resource: credential.resource,
      clientId: credential.client_id,
      scopes: credential.scopes.split(' ').filter(one => one !== ''),
      for: server?.config.credentials === 'owner' ? ('all' as const) : ('self' as const),
      state: credential.state === 'issuer_changed' ? ('sign_in_needed' as const) : credential.state,
      ...(credential.expires_at === null ? {} : { expiresAt: credential.expires_at }),
      ...(credential.last_used_at === null ? {} : { lastUsedAt: credential.last_used_at }),
      createdAt: credential.created_at,
    }
  }

  async function wantingOf(actor: UserActor, items: readonly { readonly serverId: string; readonly state: string }[]) {
    const active = new Set(items.filter(({ state }) => state === 'active').map(({ serverId }) => serverId))
    const own = await registry.ownServers(actor)
    return own
      .filter(({ id, config }) => isWanting(config) && !active.has(id))
      .map(({ id, name, ownerName }) => ({
        ...{ server: `${ownerName}~${name}`, serverId: id },
        connectUrl: broker.pageOf(id),
      }))
  }
}

function codeOf({ issuer: { issuer }, verificationUri, verificationUriComplete, userCode, intervalMs }: DeviceFlow) {
  return {
    ...{ issuer, verificationUri, userCode, interval: intervalMs / 1_000 },
    ...(verificationUriComplete === undefined ? {} : { verificationUriComplete }),
  }
}

function isWanting(config: JsonObject): boolean {
  const oauth = serverOauth(config)
  return (oauth && isByPerson(oauth)) || broughtFields(config) !== undefined
}

/** Actions of a user at the page of a server: to begin a sign-in, or to enter values. */
function askedOf(config: JsonObject, { own, for: who }: { readonly own: boolean; readonly for: 'self' | 'all' }) {
  if (!own && who === 'all') return { mayBegin: false, bring: undefined }
  const bring = broughtFields(config)?.map(({ name, label, help }) => ({ name, label, ...(help ? { help } : {}) }))
  return { mayBegin: own || bring !== undefined || serverOauth(config) !== undefined, bring }
}
