/**
 * Every route of the hub with the answers to each kind of caller. This file holds data only: access-matrix.test.ts sends the
 * requests, and compares this table with the hub's own document, so that a new route must be entered here.
 */

import type { ThingRole } from '../../core/domain/ownership.ts'

/** The view of the ordinary user (`alice`). `foreign` and `public` belong to somebody else. */
export type Kind = 'own' | 'foreign' | 'public' | 'missing'
export type Caller = 'user' | 'admin' | 'anonymous'

/** One status, or several where the state of the hub decides. */
export type Expected = number | readonly number[]

/** Parts for the bodies. `name` is the name of the thing, `ref` its qualified form. */
export interface Filled {
  readonly name: string
  readonly visibility: 'private' | 'public'
  /** A name that is still free. */
  readonly fresh: string
  /** Address of a fixture that speaks MCP. */
  readonly upstream: string
  /** A public server that everybody may use, as `owner~name`. */
  readonly shared: string
}

interface RowBase {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** As in the API document. `{server}` is filled with a public server, `{tool}` with a tool that each server has. */
  readonly path: string
  readonly query?: string
  readonly body?: (filled: Filled) => object
}

/** A route about one server or group: its `{ref}` is filled with one of each kind. */
export interface ThingRow extends RowBase {
  readonly thing: 'server' | 'group'
  readonly user: Readonly<Record<Kind, Expected>>
  readonly admin: Readonly<Record<Kind, Expected>>
  /** The least role that the call needs: with a smaller one it is 403, with others what the owner gets. */
  readonly least: ThingRole
  /** The answer to users that it is shared with, where it differs from the owner's. */
  readonly toShared?: Expected
  /** The call uses the thing up: each caller gets a thing of its own. */
  readonly consumes?: true
}

/** A route about no particular thing, or about a thing that is only a part of its path. */
export interface PlainRow extends RowBase {
  readonly thing?: undefined
  /** Absent: not asked (the answer never ends, or would end the caller's own credential for the rows below). */
  readonly user?: Expected
  readonly admin?: Expected
  readonly anonymous: Expected
}

export type Row = ThingRow | PlainRow

/** Expected statuses by who may see the thing. */
const seen = (status: Expected) => ({
  least: 'use' as const,
  user: { own: status, foreign: 404, public: status, missing: 404 },
  admin: { own: status, foreign: status, public: status, missing: 404 },
})

/** Expected statuses by who may use it under /mcp. */
const used = (status: Expected) => {
  const admin = { own: 404 as const, foreign: 404 as const, public: status, missing: 404 as const }
  return { least: 'use' as const, user: { ...admin, own: status }, admin }
}

/** Owner, administrators and users with this role; that a public thing is there is no secret. */
const edited = (status: Expected, least: ThingRole = 'change') => ({
  least,
  user: { own: status, foreign: 404, public: 403, missing: 404 },
  admin: { own: status, foreign: status, public: status, missing: 404 },
})

const signedIn = (status: Expected) => ({ user: status, admin: status, anonymous: 401 })
const administrators = (status: Expected) => ({ user: 403, admin: status, anonymous: 401 })
const everybody = (status: Expected) => ({ user: status, admin: status, anonymous: status })

const ALERT_BODY = {
  rules: { name: 'x', condition: 'server_status == offline', severity: 'warning' },
  channels: { name: 'x', type: 'webhook', config: { url: 'https://hooks.example.com/' } },
  dashboards: { name: 'x', widgets: [] },
}

const newServer = ({ fresh, upstream }: Filled) => ({ name: fresh, url: upstream })
const sameServer = ({ name, upstream, visibility }: Filled) => ({ name, url: upstream, visibility })
const sameGroup = ({ name, shared, visibility }: Filled) => ({ name, visibility, members: [shared] })

const SERVERS: readonly Row[] = [
  { method: 'GET', path: '/api/servers', ...signedIn(200) },
  { method: 'POST', path: '/api/servers', body: newServer, ...signedIn(201) },
  { method: 'POST', path: '/api/servers/batch', body: filled => ({ servers: [newServer(filled)] }), ...signedIn(201) },
  { method: 'POST', path: '/api/servers/test', body: newServer, ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/servers/import',
    query: 'dryRun=true',
    body: ({ upstream }) => ({ document: upstream }),
    ...signedIn(200),
  },
  { method: 'GET', path: '/api/servers/{ref}', thing: 'server', ...seen(200) },
  { method: 'PUT', path: '/api/servers/{ref}', thing: 'server', body: sameServer, ...edited(200) },
  { method: 'PATCH', path: '/api/servers/{ref}', thing: 'server', body: () => ({ description: 'x' }), ...edited(200) },
  { method: 'DELETE', path: '/api/servers/{ref}', thing: 'server', consumes: true, ...edited(204, 'owner') },
  { method: 'GET', path: '/api/servers/{ref}/document', thing: 'server', ...edited(204) },
  { method: 'POST', path: '/api/servers/{ref}/stop', thing: 'server', ...edited(202) },
  { method: 'POST', path: '/api/servers/{ref}/start', query: 'wait=5s', thing: 'server', ...edited(202) },
  { method: 'POST', path: '/api/servers/{ref}/restart', query: 'wait=5s', thing: 'server', ...edited(202) },
  {
    // None of them wants a sign-in; the owner is the first who may try.
    ...{ method: 'POST', path: '/api/servers/{ref}/connect', thing: 'server', body: () => ({}) },
    ...({ least: 'use', toShared: 403 } as const),
    user: { own: 400, foreign: 404, public: 403, missing: 404 },
    admin: { own: 403, foreign: 403, public: 403, missing: 404 },
  },
  {
    // None of them asks for values.
    ...{ method: 'PUT', path: '/api/servers/{ref}/connections/me', thing: 'server', body: () => ({ values: {} }) },
    ...({ least: 'use' } as const),
    user: { own: 400, foreign: 404, public: 400, missing: 404 },
    admin: { own: 400, foreign: 400, public: 400, missing: 404 },
  },
  ...(['server', 'group'] as const).flatMap(thing => [
    { method: 'GET' as const, path: `/api/${thing}s/{ref}/approvals`, thing, ...edited(200, 'owner') },
    {
      ...{ method: 'PUT' as const, path: `/api/${thing}s/{ref}/approvals`, thing, body: () => ({ rules: [] }) },
      ...edited(200, 'owner'),
    },
  ]),
  { method: 'GET', path: '/api/servers/{ref}/quota', thing: 'server', ...edited(200, 'owner') },
  {
    method: 'PUT',
    path: '/api/servers/{ref}/quota',
    thing: 'server',
    body: () => ({ quota: null }),
    ...edited(200, 'owner'),
  },
  { method: 'GET', path: '/api/groups/{ref}/quota', thing: 'group', ...edited(200, 'owner') },
  {
    method: 'PUT',
    path: '/api/groups/{ref}/quota',
    thing: 'group',
    body: () => ({ quota: null }),
    ...edited(200, 'owner'),
  },
  { method: 'GET', path: '/api/servers/{ref}/guards', thing: 'server', ...edited(200, 'owner') },
  {
    method: 'PUT',
    path: '/api/servers/{ref}/guards',
    thing: 'server',
    body: () => ({ rules: [] }),
    ...edited(200, 'owner'),
  },
  { method: 'GET', path: '/api/servers/{ref}/guards/{id}/samples', thing: 'server', ...edited(404, 'owner') },
  { method: 'POST', path: '/api/servers/{ref}/refresh', query: 'wait=5s', thing: 'server', ...edited(202) },
  { method: 'GET', path: '/api/servers/{ref}/logs', thing: 'server', ...edited(200, 'see') },
  { method: 'GET', path: '/api/servers/{ref}/tools', thing: 'server', ...seen(200) },
  { method: 'GET', path: '/api/servers/{ref}/prompts', thing: 'server', ...seen(200) },
  { method: 'GET', path: '/api/servers/{ref}/resources', thing: 'server', ...seen(200) },
  {
    method: 'POST',
    path: '/api/servers/{ref}/tools/{tool}/call',
    thing: 'server',
    body: () => ({ arguments: { text: 'x' } }),
    ...seen(200),
  },
  {
    method: 'PATCH',
    path: '/api/servers/{ref}/tools/{tool}',
    thing: 'server',
    body: () => ({ description: 'x' }),
    ...edited(200),
  },
  {
    method: 'POST',
    path: '/api/servers/{ref}/tools/{tool}/approve',
    thing: 'server',
    body: () => ({ hash: 'of another definition' }),
    ...edited(412),
  },
]

const GROUPS: readonly Row[] = [
  { method: 'GET', path: '/api/groups', ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/groups',
    body: ({ fresh, shared }) => ({ name: fresh, members: [shared] }),
    ...signedIn(201),
  },
  {
    method: 'POST',
    path: '/api/groups/preview',
    body: ({ fresh, shared }) => ({ name: fresh, members: [shared] }),
    ...signedIn(200),
  },
  { method: 'GET', path: '/api/groups/{ref}', thing: 'group', ...seen(200) },
  { method: 'PUT', path: '/api/groups/{ref}', thing: 'group', body: sameGroup, ...edited(200) },
  { method: 'PATCH', path: '/api/groups/{ref}', thing: 'group', body: () => ({ description: 'x' }), ...edited(200) },
  { method: 'DELETE', path: '/api/groups/{ref}', thing: 'group', consumes: true, ...edited(204, 'owner') },
  {
    method: 'PUT',
    path: '/api/groups/{ref}/members/{server}',
    thing: 'group',
    body: () => ({ tools: 'all' }),
    ...edited(200),
  },
  { method: 'DELETE', path: '/api/groups/{ref}/members/{server}', thing: 'group', consumes: true, ...edited(204) },
  { method: 'GET', path: '/api/groups/{ref}/guards', thing: 'group', ...edited(200, 'owner') },
  {
    method: 'PUT',
    path: '/api/groups/{ref}/guards',
    thing: 'group',
    body: () => ({ rules: [] }),
    ...edited(200, 'owner'),
  },
  { method: 'GET', path: '/api/groups/{ref}/guards/{id}/samples', thing: 'group', ...edited(404, 'owner') },
  { method: 'GET', path: '/api/groups/{ref}/tools', thing: 'group', ...seen(200) },
  { method: 'GET', path: '/api/groups/{ref}/openapi.json', thing: 'group', ...used(200) },
  {
    method: 'POST',
    path: '/api/groups/{ref}/tools/{tool}',
    thing: 'group',
    body: () => ({ text: 'x' }),
    ...used(200),
  },
  { method: 'GET', path: '/api/groups/{ref}/client-config', query: 'client=cursor', thing: 'group', ...seen(200) },
]

const SHARES: readonly Row[] = (['server', 'group'] as const).flatMap((thing): readonly Row[] => {
  const path = `/api/${thing}s/{ref}/shares`
  return [
    { method: 'GET', path, thing, ...edited(200, 'owner') },
    { method: 'PUT', path, thing, body: () => ({ shares: [] }), ...edited(200, 'owner') },
    { method: 'PUT', path: `${path}/{subject}`, thing, body: () => ({ role: 'use' }), ...edited(200, 'owner') },
    { method: 'DELETE', path: `${path}/{subject}`, thing, ...edited([204, 404], 'owner') },
  ]
})

const TEAMS: readonly Row[] = [
  { method: 'GET', path: '/api/teams', ...signedIn(200) },
  { method: 'GET', path: '/api/teams/{name}', ...signedIn(404) },
  { method: 'POST', path: '/api/admin/teams', body: ({ fresh }) => ({ name: fresh }), ...administrators(201) },
  { method: 'PATCH', path: '/api/admin/teams/{name}', body: () => ({ members: [] }), ...administrators(404) },
  { method: 'DELETE', path: '/api/admin/teams/{name}', ...administrators(404) },
]

const PEOPLE: readonly Row[] = [
  { method: 'GET', path: '/api/setup', ...everybody(404) },
  {
    method: 'POST',
    path: '/api/setup',
    body: ({ fresh }) => ({ token: 'x', username: fresh, password: 'long enough to be one' }),
    ...everybody(404),
  },
  // More than five sign-ins at once from one address are refused for a while, the suite's own among them.
  {
    method: 'POST',
    path: '/api/auth/login',
    body: () => ({ username: 'nobody', password: 'not a password' }),
    ...everybody([401, 429]),
  },
  { method: 'GET', path: '/api/auth/me', ...signedIn(200) },
  { method: 'GET', path: '/api/auth/sign-ins', ...signedIn(200) },
  { method: 'DELETE', path: '/api/auth/sign-ins', ...signedIn(200) },
  { method: 'DELETE', path: '/api/auth/sign-ins/{id}', ...signedIn(404) },
  {
    method: 'POST',
    path: '/api/auth/reset',
    body: () => ({ token: 'x', newPassword: 'long enough to be one' }),
    ...everybody([403, 429]),
  },
  { method: 'POST', path: '/api/admin/users/{name}/reset-link', ...administrators(404) },
  { method: 'GET', path: '/api/admin/users', ...administrators(200) },
  {
    method: 'POST',
    path: '/api/admin/users',
    body: ({ fresh }) => ({ username: fresh, password: 'long enough to be one' }),
    ...administrators(201),
  },
  { method: 'GET', path: '/api/admin/users/{name}', ...administrators(404) },
  { method: 'PATCH', path: '/api/admin/users/{name}', body: () => ({ disabled: true }), ...administrators(404) },
  { method: 'DELETE', path: '/api/admin/users/{name}', ...administrators(404) },
  { method: 'GET', path: '/api/keys', ...signedIn(200) },
  { method: 'POST', path: '/api/keys', body: () => ({ label: 'x', scopes: ['mcp'] }), ...signedIn(201) },
  { method: 'POST', path: '/api/keys/{id}/rotate', ...signedIn(404) },
  { method: 'DELETE', path: '/api/keys/{id}', ...signedIn(404) },
]

const ENDPOINT = '/api/assistant/endpoints/{ref}'
/** Ownership is tested in assistant-bridge.test.ts. */
const ASSISTANTS: readonly Row[] = [
  { method: 'GET', path: '/api/assistant/endpoints', ...signedIn(200) },
  { method: 'POST', path: '/api/assistant/endpoints', body: () => ({ name: 'x' }), ...signedIn(400) },
  { method: 'GET', path: ENDPOINT, ...signedIn(404) },
  { method: 'PUT', path: ENDPOINT, body: () => ({ name: 'x', direction: 'inbound', group: 'x' }), ...signedIn(404) },
  { method: 'PATCH', path: ENDPOINT, body: () => ({ name: 'y' }), ...signedIn(404) },
  { method: 'DELETE', path: ENDPOINT, ...signedIn(404) },
  { method: 'POST', path: `${ENDPOINT}/token`, ...signedIn(404) },
  { method: 'POST', path: `${ENDPOINT}/reconnect`, ...signedIn(404) },
  { method: 'GET', path: `${ENDPOINT}/messages`, ...signedIn(404) },
  { method: 'GET', path: `${ENDPOINT}/tools`, ...signedIn(404) },
  { method: 'POST', path: `${ENDPOINT}/test`, ...signedIn(404) },
  { method: 'GET', path: '/api/assistant', ...signedIn(200) },
  { method: 'GET', path: '/api/assistant/ws', ...everybody(426) },
]

const TEMPLATE = '/api/market/templates/{id}'
const MARKET: readonly Row[] = [
  { method: 'GET', path: '/api/market/templates', ...signedIn(200) },
  { method: 'GET', path: TEMPLATE, ...signedIn(404) },
  { method: 'POST', path: `${TEMPLATE}/install`, body: () => ({ planHash: '0'.repeat(64) }), ...signedIn(404) },
  { method: 'GET', path: '/api/market/categories', ...signedIn(200) },
  { method: 'GET', path: '/api/market/sources', ...signedIn(200) },
  { method: 'POST', path: '/api/market/sources/{id}/refresh', ...administrators(404) },
  { method: 'GET', path: '/api/market/updates', ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/servers/{ref}/upgrade',
    thing: 'server',
    body: () => ({ planHash: '0'.repeat(64) }),
    ...edited(409),
  },
  {
    method: 'POST',
    path: '/api/servers/{ref}/downgrade',
    thing: 'server',
    body: () => ({ planHash: '0'.repeat(64) }),
    ...edited(409),
  },
]

/** Requests about alerts that do not exist; ownership is tested in alerts.test.ts. */
const ALERTS: readonly Row[] = [
  ...(['rules', 'channels', 'dashboards'] as const).flatMap((what): Row[] => [
    { method: 'GET', path: `/api/monitoring/${what}`, ...signedIn(200) },
    { method: 'POST', path: `/api/monitoring/${what}`, body: () => ({ name: 'x' }), ...signedIn(400) },
    { method: 'GET', path: `/api/monitoring/${what}/{ref}`, ...signedIn(404) },
    { method: 'PUT', path: `/api/monitoring/${what}/{ref}`, body: () => ALERT_BODY[what], ...signedIn(404) },
    { method: 'PATCH', path: `/api/monitoring/${what}/{ref}`, body: () => ({ name: 'y' }), ...signedIn(404) },
    { method: 'DELETE', path: `/api/monitoring/${what}/{ref}`, ...signedIn(404) },
  ]),
  { method: 'GET', path: '/api/monitoring/channel-types', ...signedIn(200) },
  { method: 'POST', path: '/api/monitoring/channels/{ref}/test', ...signedIn(404) },
  { method: 'GET', path: '/api/monitoring/channels/{ref}/deliveries', ...signedIn(404) },
  { method: 'POST', path: '/api/monitoring/channels/{ref}/deliveries/{id}/retry', ...signedIn(404) },
  { method: 'GET', path: '/api/monitoring/dashboards/{ref}/data', ...signedIn(404) },
  { method: 'GET', path: '/api/monitoring/silences', ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/monitoring/silences',
    body: () => ({ endsAt: new Date(Date.now() + 60_000).toISOString() }),
    ...signedIn(201),
  },
  { method: 'DELETE', path: '/api/monitoring/silences/{id}', ...signedIn(404) },
  { method: 'GET', path: '/api/monitoring/alerts', ...signedIn(200) },
  { method: 'POST', path: '/api/monitoring/alerts/{id}/ack', ...signedIn(404) },
  { method: 'POST', path: '/api/monitoring/test-alert', body: () => ({ rule: 'none' }), ...signedIn(404) },
  {
    method: 'POST',
    path: '/api/monitoring/rule-preview',
    body: () => ({ condition: 'error_rate > 5%' }),
    ...signedIn(200),
  },
]

const REST: readonly Row[] = [
  { method: 'GET', path: '/api/settings', ...signedIn(200) },
  { method: 'PATCH', path: '/api/settings', body: () => ({ theme: 'dark' }), ...signedIn(200) },
  { method: 'GET', path: '/api/admin/settings', ...administrators(200) },
  { method: 'PATCH', path: '/api/admin/settings', body: () => ({ requestLogs: null }), ...administrators(200) },
  { method: 'GET', path: '/api/admin/settings/sources', ...administrators(200) },
  { method: 'GET', path: '/api/admin/processes', ...administrators(200) },
  { method: 'GET', path: '/api/admin/backup', ...administrators(200) },
  { method: 'POST', path: '/api/export', body: () => ({}), ...signedIn(200) },
  { method: 'POST', path: '/api/bundles', body: () => ({}), ...signedIn(400) },
  { method: 'GET', path: '/api/bundles', ...signedIn(200) },
  { method: 'GET', path: '/api/bundles/{id}', ...signedIn(404) },
  { method: 'DELETE', path: '/api/bundles/{id}', ...signedIn(404) },
  { method: 'POST', path: '/api/bundles/{id}/install', body: () => ({ planHash: '0'.repeat(64) }), ...signedIn(404) },
  { method: 'GET', path: '/api/import', ...signedIn(200) },
  { method: 'GET', path: '/api/import/sources', ...signedIn(200) },
  { method: 'POST', path: '/api/import', body: () => ({ document: 'uvx x' }), ...signedIn(400) },
  { method: 'POST', path: '/api/import/{id}/rollback', ...signedIn(404) },
  { method: 'GET', path: '/api/admin/sessions', ...administrators(200) },
  { method: 'DELETE', path: '/api/admin/sessions/{id}', ...administrators(404) },
  { method: 'GET', path: '/api/admin/audit', ...administrators(200) },
  { method: 'GET', path: '/api/logs/search', ...signedIn(200) },
  { method: 'GET', path: '/api/logs/aggregations/errors', ...signedIn(200) },
  { method: 'GET', path: '/api/logs/aggregations/requests-by-server', ...signedIn(200) },
  { method: 'GET', path: '/api/logs/aggregations/timeline', ...signedIn(200) },
  { method: 'POST', path: '/api/logs/search', body: () => ({ query: {} }), ...signedIn(200) },
  { method: 'GET', path: '/api/admin/logging', ...administrators(200) },
  { method: 'PATCH', path: '/api/admin/logging', body: () => ({ levels: { http: null } }), ...administrators(200) },
  { method: 'GET', path: '/api/admin/plugins', ...administrators(200) },
  { method: 'POST', path: '/api/admin/plugins', body: () => ({}), ...administrators(400) },
  { method: 'DELETE', path: '/api/admin/plugins/{name}', ...administrators(404) },
  { method: 'PATCH', path: '/api/admin/plugins/{name}', body: () => ({ enabled: true }), ...administrators(404) },
  { method: 'GET', path: '/.well-known/oauth-protected-resource', ...everybody(200) },
  { method: 'GET', path: '/.well-known/oauth-protected-resource/{rest}', ...everybody(404) },
  { method: 'GET', path: '/.well-known/oauth-authorization-server', ...everybody(200) },
  { method: 'GET', path: '/.well-known/openid-configuration', ...everybody(200) },
  { method: 'GET', path: '/.well-known/openid-configuration/jwks', ...everybody(200) },
  { method: 'GET', path: '/authorize', ...everybody(400) },
  ...['/token', '/revoke', '/register'].map(path => ({
    ...{ method: 'POST' as const, path, body: () => ({}) },
    ...everybody(400),
  })),
  { method: 'POST', path: '/api/oauth/requests', body: () => ({ request: 'x' }), ...signedIn(400) },
  { method: 'POST', path: '/api/oauth/decisions', body: () => ({ request: 'x', allow: true }), ...signedIn(400) },
  { method: 'GET', path: '/api/oauth/grants', ...signedIn(200) },
  { method: 'DELETE', path: '/api/oauth/grants/{id}', ...signedIn(404) },
  { method: 'GET', path: '/api/admin/oauth/clients', ...administrators(200) },
  { method: 'POST', path: '/api/admin/oauth/clients', body: () => ({}), ...administrators(400) },
  { method: 'PATCH', path: '/api/admin/oauth/clients/{id}', body: () => ({}), ...administrators(404) },
  { method: 'DELETE', path: '/api/admin/oauth/clients/{id}', ...administrators(404) },
  { method: 'GET', path: '/api/keys/{id}/quota', ...signedIn(404) },
  { method: 'PUT', path: '/api/keys/{id}/quota', body: () => ({ quota: null }), ...signedIn(404) },
  { method: 'GET', path: '/api/grants/{id}/quota', ...signedIn(404) },
  { method: 'PUT', path: '/api/grants/{id}/quota', body: () => ({ quota: null }), ...signedIn(404) },
  { method: 'GET', path: '/api/admin/users/{name}/quota', ...administrators(404) },
  { method: 'PUT', path: '/api/admin/users/{name}/quota', body: () => ({ quota: null }), ...administrators(404) },
  { method: 'GET', path: '/api/approvals', ...signedIn(200) },
  { method: 'GET', path: '/api/approvals/{id}', ...signedIn(404) },
  { method: 'POST', path: '/api/approvals/{id}', body: () => ({ decision: 'deny' }), ...signedIn(404) },
  { method: 'GET', path: '/api/invitations', ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/invitations',
    body: () => ({ things: [{ kind: 'server', ref: 'no-such' }], role: 'use' }),
    ...signedIn(404),
  },
  { method: 'DELETE', path: '/api/invitations/{id}', ...signedIn(404) },
  { method: 'POST', path: '/api/invitations/preview', body: () => ({ token: 'none' }), ...signedIn(404) },
  { method: 'POST', path: '/api/invitations/accept', body: () => ({ token: 'none' }), ...signedIn(404) },
  { method: 'GET', path: '/api/usage', ...signedIn(200) },
  { method: 'GET', path: '/api/quotas', ...signedIn(200) },
  { method: 'GET', path: '/api/guards', ...signedIn(200) },
  { method: 'GET', path: '/api/admin/guards', ...administrators(200) },
  { method: 'GET', path: '/api/admin/guards/{id}/samples', ...administrators(404) },
  { method: 'GET', path: '/api/connections', ...signedIn(200) },
  { method: 'GET', path: '/api/connections/flows/{id}', ...signedIn(400) },
  { method: 'GET', path: '/api/connections/servers/{id}', ...signedIn(404) },
  {
    method: 'POST',
    path: '/api/connections/finish',
    body: () => ({ url: 'https://hub.example/?state=x' }),
    ...signedIn(400),
  },
  { method: 'DELETE', path: '/api/connections/{id}', ...signedIn(404) },
  { method: 'GET', path: '/oauth/client-metadata.json', ...everybody(200) },
  { method: 'POST', path: '/api/auth/second-factor', body: () => ({ ticket: 'x', code: 'x' }), ...everybody(401) },
  { method: 'POST', path: '/api/auth/reauth', body: () => ({}), ...signedIn(400) },
  { method: 'GET', path: '/api/auth/providers', ...everybody(200) },
  ...[
    { path: '/api/auth/providers/{id}/start', body: () => ({ keyHash: 'A'.repeat(43) }) },
    { path: '/api/auth/providers/{id}/finish', body: () => ({ url: 'x', key: 'x' }) },
  ].map(row => ({ ...row, method: 'POST' as const, ...everybody(404) })),
  { method: 'GET', path: '/api/auth/identities', ...signedIn(200) },
  { method: 'DELETE', path: '/api/auth/identities/{id}', ...signedIn(404) },
  { method: 'GET', path: '/api/auth/factors', ...signedIn(200) },
  { method: 'POST', path: '/api/auth/factors/totp', body: () => ({}), ...signedIn(201) },
  { method: 'POST', path: '/api/auth/factors/totp/confirm', body: () => ({ id: 'x', code: 'x' }), ...signedIn(404) },
  { method: 'POST', path: '/api/auth/factors/recovery-codes', ...signedIn(404) },
  { method: 'DELETE', path: '/api/auth/factors/{id}', ...signedIn(404) },
  { method: 'PATCH', path: '/api/auth/factors/{id}', body: () => ({ label: 'x' }), ...signedIn(404) },
  // The hub of the matrix has an IP address, where browsers make no passkeys.
  { method: 'POST', path: '/api/auth/factors/passkeys/options', ...signedIn(409) },
  { method: 'POST', path: '/api/auth/factors/passkeys', body: () => ({}), ...signedIn(400) },
  { method: 'POST', path: '/api/auth/passkeys/options', body: () => ({}), ...everybody(409) },
  { method: 'POST', path: '/api/auth/passkeys/sign-in', body: () => ({}), ...everybody(400) },
  { method: 'POST', path: '/api/auth/forwarded', ...everybody(403) },
  { method: 'DELETE', path: '/api/admin/users/{name}/factors', ...administrators(404) },
  { method: 'GET', path: '/api/plugins/pages', ...signedIn(200) },
  { method: 'GET', path: '/plugins/{plugin}/{digest}/{file}', ...everybody(404) },
  { method: 'GET', path: '/api/limits', ...signedIn(200) },
  { method: 'GET', path: '/api/stream', anonymous: 401 },
  { method: 'GET', path: '/health', ...everybody(200) },
  { method: 'GET', path: '/api/monitoring/metrics', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/overview', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/connections', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/health', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/resources', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/export', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/grafana/dashboard', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/config', ...signedIn(200) },
  { method: 'GET', path: '/api/monitoring/activity', ...signedIn(200) },
  { method: 'PUT', path: '/api/monitoring/config', body: () => ({}), ...administrators(200) },
  { method: 'GET', path: '/api/monitoring/custom-metrics', ...signedIn(200) },
  {
    method: 'POST',
    path: '/api/monitoring/query',
    body: () => ({ type: 'metric', query: 'servers_online' }),
    ...signedIn(200),
  },
  {
    method: 'POST',
    path: '/api/monitoring/custom-metrics',
    body: () => ({ metrics: [{ name: 'orders', kind: 'counter', value: 1 }] }),
    ...signedIn(200),
  },
  // The request comes from loopback, and METRICS_TOKEN is not set.
  { method: 'GET', path: '/metrics', user: 403, admin: 200, anonymous: 200 },
  { method: 'GET', path: '/api/public/info', ...everybody(200) },
  { method: 'GET', path: '/api/public/servers', ...everybody(200) },
  { method: 'GET', path: '/api/openapi.json', ...everybody(200) },
  { method: 'GET', path: '/api/docs', ...everybody(200) },
]

/** Rows that change the caller's credential come last. */
const CREDENTIALS: readonly Row[] = [
  {
    method: 'POST',
    path: '/api/auth/password',
    body: () => ({ currentPassword: 'wrong', newPassword: 'long enough to be one' }),
    ...signedIn([403, 429]),
  },
  { method: 'POST', path: '/api/auth/refresh', ...signedIn(200) },
  { method: 'POST', path: '/api/auth/logout', ...signedIn([204, 401]) },
]

export const MATRIX: readonly Row[] = [
  ...SERVERS,
  ...GROUPS,
  ...SHARES,
  ...TEAMS,
  ...PEOPLE,
  ...ALERTS,
  ...ASSISTANTS,
  ...MARKET,
  ...REST,
  ...CREDENTIALS,
]
