/** Bodies for every route that stores something for its user, each as large as permitted. */
import { randomBytes } from 'node:crypto'
import { MANIFEST, sendBundle } from './bundle.ts'
import type { Client } from './hub.ts'
import { zipOf } from './zip.ts'

/** The most of one text, and of all of `env`. */
const TEXT = 8_192
const ENV = 120_000
/** Size of the bundles that these send, packed and unpacked. */
export const UNPACKED_BYTES = 300_000
/** Number of small servers, for the members of groups. */
const MEMBERS = 40
/** Below the longest address that is taken. */
const ADDRESS = 8_000
const LATER = 24 * 60 * 60_000

/** Sends data to store to one route. `round` differs in each call, for new names. */
type Send = (client: Client, round: number) => Promise<unknown>

const text = (bytes: number) => 'x'.repeat(bytes)
const many = <T>(n: number, make: (at: number) => T): T[] => Array.from({ length: n }, (_, at) => make(at))
const each = async (n: number, work: (at: number) => Promise<unknown>): Promise<void> => {
  for (let at = 0; at < n; at += 1) await work(at)
}

const command = (bytes: number) => ({ command: 'true', enabled: false, env: { A: text(bytes) } })
const openapi = (bytes: number) => ({
  enabled: false,
  openapi: {
    schema: {
      ...{ openapi: '3.1.0', info: { title: 'Pets', version: '1' }, servers: [{ url: 'https://pets.example' }] },
      paths: { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'All' } } } } },
      'x-padding': text(bytes),
    },
  },
})
const tools = (n: number) => many(n, at => ({ name: `t${at}`, description: text(TEXT - 192) }))
const rule = (name: string, bytes: number) => ({
  ...{ name, severity: 'warning', condition: many(bytes / 32, at => `servers_offline > ${at + 10}`).join(' or ') },
})
const channel = (name: string, bytes: number) => ({
  ...{ name, type: 'webhook', enabled: false },
  config: { url: 'https://a.example/', headers: { 'x-long': text(bytes) } },
})
const dashboard = (name: string, bytes: number) => ({
  ...{ name, widgets: many(40, () => ({ type: 'chart', query: `request_count{server="${text(bytes)}"}` })) },
})
const endpoint = (name: string, bytes: number) => ({
  ...{ name, direction: 'outbound', group: 's', url: `wss://a.example/${text(Math.min(bytes, ADDRESS))}` },
})

/** Makes things of one kind, or replaces and changes the one called `t`. */
function records(
  path: string,
  most: number,
  body: (name: string, bytes: number) => object,
  bytes: number,
): Readonly<Record<string, Send>> {
  return {
    [`POST ${path}`]: (client, round) =>
      each(most, at => client.ok('POST', path, body(`${round}-${at}`, bytes - round))),
    [`PUT ${path}/{ref}`]: (client, round) => client.ok('PUT', `${path}/t`, body('t', bytes / 2 + round)),
    [`PATCH ${path}/{ref}`]: (client, round) => client.ok('PATCH', `${path}/t`, body('t', bytes - round)),
  }
}

async function planned(client: Client, path: string, body: object): Promise<unknown> {
  const { planHash } = await client.ok('POST', `${path}?dryRun=true`, body)
  return client.ok('POST', path, { ...body, planHash })
}

async function sentBundle(client: Client): Promise<string> {
  const content = randomBytes(UNPACKED_BYTES)
  const answer = await sendBundle(
    client,
    zipOf([
      { name: 'manifest.json', content: JSON.stringify(MANIFEST) },
      { name: 'server/index.js', content: 'process.stdin.resume()' },
      { name: 'padding', content, method: 0 },
    ]),
  )
  if (answer.status !== 201) throw new Error(`The bundle was answered ${answer.status}: ${answer.text}`)
  return answer.json.bundleId
}

const imported = (name: string, bytes: number) => ({ mcpServers: { [name]: command(bytes) } })

/**
 * Creates the records that exist before: `t` is changed, other records refer to the server `s`, `old` is a template's earlier
 * version.
 */
export async function prepareStored(client: Client): Promise<void> {
  await client.ok('POST', '/api/servers/batch', {
    servers: many(MEMBERS, at => ({ name: `m${at}`, command: 'true', enabled: false })),
  })
  await client.ok('POST', '/api/servers', { name: 's', command: 'true', enabled: false })
  await client.ok('POST', '/api/servers', { name: 't', command: 'true', enabled: false })
  await client.ok('POST', '/api/groups', { name: 't', members: ['s'] })
  await client.ok('POST', '/api/monitoring/rules', rule('t', 32))
  await client.ok('POST', '/api/monitoring/channels', channel('t', 1))
  await client.ok('POST', '/api/monitoring/dashboards', dashboard('t', 1))
  await client.ok('POST', '/api/assistant/endpoints', endpoint('t', 1))
}

/** By method and path as in the API document. Routes that change `t` come after those that create records. */
export const STORING: Readonly<Record<string, Send>> = {
  'POST /api/servers': async (client, round) => {
    await client.ok('POST', '/api/servers', { name: `c${round}`, ...command(ENV) })
    await client.ok('POST', '/api/servers', { name: `d${round}`, ...openapi(1_000_000) })
  },
  'POST /api/servers/batch': (client, round) =>
    client.ok('POST', '/api/servers/batch', { servers: many(3, at => ({ name: `b${round}-${at}`, ...command(ENV) })) }),
  'POST /api/servers/import': (client, round) =>
    client.ok('POST', '/api/servers/import', { ...imported(`i${round}`, ENV), dryRun: false }),
  'PUT /api/servers/{ref}': (client, round) =>
    client.ok('PUT', '/api/servers/t', { name: 't', ...command(ENV / 2 + round) }),
  'PATCH /api/servers/{ref}': (client, round) =>
    client.ok('PATCH', '/api/servers/t', { ...command(ENV - round), variables: { V: text(TEXT) } }),
  'PATCH /api/servers/{ref}/tools/{tool}': (client, round) =>
    each(8, at => client.ok('PATCH', `/api/servers/t/tools/t${round}-${at}`, { description: text(TEXT) })),
  'POST /api/groups': (client, round) =>
    each(12, at =>
      client.ok('POST', '/api/groups', {
        ...{ name: `g${round}-${at}`, members: many(MEMBERS, of => `m${of}`) },
      }),
    ),
  'PUT /api/groups/{ref}': (client, round) =>
    client.ok('PUT', '/api/groups/t', {
      name: 't',
      description: text(TEXT - round),
      members: many(MEMBERS, of => `m${of}`),
    }),
  'PATCH /api/groups/{ref}': (client, round) =>
    client.ok('PATCH', '/api/groups/t', { members: [{ server: 's', tools: tools(20 + (round % 2)) }] }),
  'PUT /api/groups/{ref}/members/{server}': (client, round) =>
    client.ok('PUT', `/api/groups/t/members/m${round % MEMBERS}`, { tools: tools(20) }),
  'PATCH /api/settings': (client, round) =>
    client.ok('PATCH', '/api/settings', {
      hostedKeys: Object.fromEntries(many(10, at => [`p${(10 * round + at) % 60}`, text(TEXT - round)])),
    }),
  'POST /api/keys': (client, round) =>
    each(4, at =>
      client.ok('POST', '/api/keys', {
        ...{ label: `${round}-${at}${text(50)}`, scopes: many(MEMBERS, of => ({ server: `m${of}` })) },
      }),
    ),
  'POST /api/import': (client, round) =>
    planned(client, '/api/import', { document: JSON.stringify(imported(`j${round}`, ENV)), switchOff: true }),
  'POST /api/market/templates/{id}/install': (client, round) =>
    each(3, at => planned(client, '/api/market/templates/bundled:memory/install', { name: `k${round}-${at}` })),
  'POST /api/bundles': client => sentBundle(client),
  'POST /api/bundles/{id}/install': async (client, round) => {
    const id = await sentBundle(client)
    await planned(client, `/api/bundles/${id}/install`, { name: `u${round}` })
  },
  ...records('/api/monitoring/rules', 20, rule, 1_000),
  ...records('/api/monitoring/channels', 2, channel, 60_000),
  ...records('/api/monitoring/dashboards', 5, dashboard, 480),
  ...records('/api/assistant/endpoints', 2, endpoint, 4_000),
  'POST /api/monitoring/silences': (client, round) =>
    each(5, at =>
      client.ok('POST', '/api/monitoring/silences', {
        ...{ rule: text(60), comment: `${round}-${at}${text(TEXT - 10)}` },
        endsAt: new Date(Date.now() + LATER).toISOString(),
      }),
    ),
}

/** Routes that store nothing in the account of stored bytes, each with its limit, or the reason why it stores nothing. */
export const STORING_NOTHING: Readonly<Record<string, string>> = {
  'POST /api/setup': 'one time, by the first administrator',
  'POST /api/auth/login': 'signInsPerUser',
  'POST /api/auth/refresh': 'changes the row of the sign-in',
  'POST /api/auth/logout': 'one row for each sign-in, until its tokens have expired',
  'POST /api/auth/password': 'changes the row of the user',
  'POST /api/auth/reset': 'changes the row of the user',
  'POST /api/keys/{id}/rotate': 'replaces a key by one with the same label and scopes',
  'POST /api/servers/test': 'a trial, which is not saved',
  'POST /api/servers/{ref}/start': 'changes a flag',
  'POST /api/servers/{ref}/stop': 'changes a flag',
  'POST /api/servers/{ref}/restart': 'changes the state alone',
  'POST /api/servers/{ref}/refresh': 'lists: catalogBytesPerUser',
  'POST /api/servers/{ref}/tools/{tool}/approve': 'changes a hash of a definition',
  'POST /api/servers/{ref}/tools/{tool}/call': 'a call: records of logs',
  'POST /api/servers/{ref}/upgrade': 'changes the version in the arguments of a server',
  'POST /api/servers/{ref}/downgrade': 'changes the version in the arguments of a server',
  'PUT /api/servers/{ref}/shares': 'sharesPerThing',
  'PUT /api/servers/{ref}/shares/{subject}': 'sharesPerThing',
  'PUT /api/groups/{ref}/shares': 'sharesPerThing',
  'PUT /api/groups/{ref}/shares/{subject}': 'sharesPerThing',
  'POST /api/groups/preview': 'reads',
  'POST /api/groups/{ref}/tools/{tool}': 'a call: records of logs',
  'POST /api/import/{id}/rollback': 'removes what an import made, and puts back what was on the account before',
  'POST /api/export': 'reads',
  'POST /api/monitoring/channels/{ref}/deliveries/{id}/retry': 'changes the state of a message',
  'POST /api/monitoring/channels/{ref}/test': 'alertDeliveriesWaiting',
  'POST /api/monitoring/alerts/{id}/ack': 'changes the state of an alert',
  'POST /api/monitoring/test-alert': 'alertDeliveriesWaiting',
  'POST /api/monitoring/rule-preview': 'reads',
  'POST /api/monitoring/query': 'reads',
  'POST /api/monitoring/custom-metrics': 'memory: customMetricSeriesPerUser',
  'POST /api/assistant/endpoints/{ref}/test': 'a trial, which is not saved',
  'POST /api/assistant/endpoints/{ref}/token': 'replaces a token of fixed length',
  'POST /api/assistant/endpoints/{ref}/reconnect': 'changes the state alone',
  'POST /api/logs/search': 'reads',
  'POST /api/plugins/hosted-keys/test': 'a trial, which is not saved',
  'POST /api/oauth/requests': 'reads',
  'POST /api/servers/{ref}/connect':
    'memory: one sign-in under way for each server, 50 for a user (10 by code), ten minutes or the life of a code, 30 at most',
  'POST /api/connections/finish': 'credentialsPerUser',
  'PUT /api/servers/{ref}/connections/me': 'credentialsPerUser',
  'PUT /api/servers/{ref}/approvals': 'one row of the server, at most 50 rules',
  'PUT /api/groups/{ref}/approvals': 'one row of the group, at most 50 rules',
  'POST /api/approvals/{id}': 'changes a row',
  'POST /api/invitations': 'invitationsPerUser, 100 acceptances each',
  'POST /api/invitations/preview': 'reads',
  'POST /api/invitations/accept': 'one row of each invitation that a user accepts, within sharesPerThing',
  'PUT /api/servers/{ref}/quota': 'toolQuotasPerServer',
  'PUT /api/groups/{ref}/quota': 'one row of the group',
  'PUT /api/keys/{id}/quota': 'quotasPerUser',
  'PUT /api/grants/{id}/quota': 'quotasPerUser',
  'PUT /api/servers/{ref}/guards': 'one row for each server, of at most 16,384 characters',
  'PUT /api/groups/{ref}/guards': 'one row for each group, of at most 16,384 characters',
  'POST /api/oauth/decisions': 'grantsPerUser; a row of each decision is kept for ten minutes',
  'POST /api/auth/second-factor': 'sign-ins as with a password',
  'POST /api/auth/providers/{id}/start': 'nothing: the address has what has begun',
  'POST /api/auth/providers/{id}/finish': 'an account at a provider, as many as its user has there',
  'POST /api/auth/reauth': 'a ticket, of which a user has 20',
  'POST /api/auth/factors/totp': 'factorsPerUser',
  'POST /api/auth/factors/totp/confirm': 'changes a row',
  'POST /api/auth/factors/passkeys/options': 'nothing: the challenge is sealed',
  'POST /api/auth/factors/passkeys': 'factorsPerUser',
  'POST /api/auth/passkeys/options': 'nothing: the challenge is sealed',
  'POST /api/auth/forwarded':
    'sign-ins as with a password; the account that a proxy names, one for each user whom it made',
  'POST /api/auth/passkeys/sign-in': 'sign-ins as with a password',
  'PATCH /api/auth/factors/{id}': 'changes a row',
  'POST /api/auth/factors/recovery-codes': 'ten rows, which it replaces',
  'POST /register': 'nothing: the id of the client holds what it has registered',
  'POST /token': 'changes the row of a grant',
  'POST /revoke': 'removes the row of a grant',
}
