/**
 * Every route of the hub, with its effect on programs that run. rights.test.ts carries out the rows that act, for each kind
 * of thing and each caller; the other routes only read or are tested elsewhere. A new route must be entered here.
 */
import type { Answer } from '../support/client.ts'

/** The kinds of servers; each shows in its own way that it had an administrator's rights. */
export const KINDS = ['stdio', 'url', 'openapi'] as const
export type Kind = (typeof KINDS)[number]

/** The senders of the requests: an ordinary user against an administrator's servers, and an administrator from two addresses. */
export const CALLERS = ['user', 'outside', 'inside'] as const
export type Caller = (typeof CALLERS)[number]

/** The parts that a row works with. */
export interface Attempt {
  ask(method: string, path: string, body?: unknown): Promise<Answer>
  /** A configuration whose program shows by itself which rights it has. */
  readonly thing: Readonly<Record<string, unknown>>
  /** A name that is still free. */
  readonly fresh: string
  /** `owner~name` of an existing server of the administrator: see `target` of the row. */
  readonly target: string
}

/** A route that can make something run, or run with other rights. */
export interface ActingRow {
  readonly route: string
  /**
   * The server of the administrator that exists before: a remote one, one of `thing` that is off, or an installed bundle.
   * Default none.
   */
  readonly target?: 'remote' | 'off' | 'bundle'
  /** True for callers whose requests make it run with an administrator's rights. Default `isInside`. */
  readonly runs?: (caller: Caller, kind: Kind) => boolean
  readonly act: (attempt: Attempt) => Promise<unknown>
}

/** For a route that starts nothing for any caller. */
export const never = (): boolean => false
/** For a route by which an administrator at a listed address starts something. */
export const isInside = (caller: Caller): boolean => caller === 'inside'
/** For a server that a listed administrator saved: the same person may start it from elsewhere, unless it is a command. */
const notCommands = (caller: Caller, kind: Kind): boolean =>
  caller === 'inside' || (caller === 'outside' && kind !== 'stdio')

const control = (verb: string, runs?: ActingRow['runs']): ActingRow => ({
  ...{ route: `POST /api/servers/{ref}/${verb}`, target: 'off' },
  ...(runs ? { runs } : {}),
  act: ({ ask, target }) => ask('POST', `/api/servers/${target}/${verb}`, {}),
})

/** Fields that a change removes from a server that runs a bundle. */
const NOTHING_OF_A_PROCESS = { bundle: null, command: null, args: null, transport: null, sandbox: null }

export const ACTING: readonly ActingRow[] = [
  {
    route: 'POST /api/servers',
    act: ({ ask, thing, fresh }) => ask('POST', '/api/servers', { name: fresh, ...thing }),
  },
  {
    route: 'POST /api/servers/batch',
    act: ({ ask, thing, fresh }) => ask('POST', '/api/servers/batch', { servers: [{ name: fresh, ...thing }] }),
  },
  {
    route: 'POST /api/servers/test',
    act: ({ ask, thing, fresh }) => ask('POST', '/api/servers/test', { name: fresh, ...thing }),
  },
  {
    route: 'POST /api/servers/import',
    act: ({ ask, thing, fresh }) =>
      ask('POST', '/api/servers/import', { document: { mcpServers: { [fresh]: thing } } }),
  },
  {
    route: 'POST /api/import',
    async act({ ask, thing, fresh }) {
      const document = { mcpServers: { [fresh]: thing } }
      // One import of a user at a time.
      const waiting = async (path: string, body: object): Promise<Answer> => {
        const answer = await ask('POST', path, body)
        return answer.status === 503 ? waiting(path, body) : answer
      }
      const { json } = await waiting('/api/import?dryRun=true', { document })
      await waiting('/api/import', { document, planHash: json.planHash })
    },
  },
  {
    route: 'PUT /api/servers/{ref}',
    target: 'remote',
    act: ({ ask, thing, target }) => ask('PUT', `/api/servers/${target}`, { name: target.split('~')[1], ...thing }),
  },
  {
    route: 'PATCH /api/servers/{ref}',
    target: 'remote',
    act: ({ ask, thing, target }) => ask('PATCH', `/api/servers/${target}`, { url: null, ...thing, enabled: true }),
  },
  // The bundle of a server is removed, or replaced by something else.
  ...(['PUT', 'PATCH'] as const).map(
    (method): ActingRow => ({
      ...{ route: `${method} /api/servers/{ref}`, target: 'bundle' },
      act: ({ ask, thing, target }) =>
        ask(method, `/api/servers/${target}`, {
          ...(method === 'PUT' ? { name: target.split('~')[1] } : NOTHING_OF_A_PROCESS),
          ...{ ...thing, enabled: true },
        }),
    }),
  ),
  control('start', notCommands),
  control('restart', notCommands),
  control('refresh', never),
  control('stop', never),
  control('upgrade', never),
  control('downgrade', never),
  {
    route: 'POST /api/servers/{ref}/tools/{tool}/call',
    target: 'off',
    runs: never,
    act: ({ ask, target }) => ask('POST', `/api/servers/${target}/tools/x/call`, { arguments: {} }),
  },
  {
    route: 'PATCH /api/servers/{ref}/tools/{tool}',
    target: 'off',
    runs: never,
    act: ({ ask, target }) => ask('PATCH', `/api/servers/${target}/tools/x`, { enabled: true }),
  },
  {
    route: 'POST /api/servers/{ref}/tools/{tool}/approve',
    target: 'off',
    runs: never,
    act: ({ ask, target }) => ask('POST', `/api/servers/${target}/tools/x/approve`, { hash: 'x' }),
  },
  {
    route: 'POST /api/groups',
    target: 'off',
    runs: never,
    async act({ ask, target, fresh }) {
      await ask('POST', '/api/groups', { name: fresh, members: [target] })
      await ask('GET', `/api/groups/${fresh}/tools`)
    },
  },
  {
    route: 'POST /api/groups/preview',
    target: 'off',
    runs: never,
    act: ({ ask, target }) => ask('POST', '/api/groups/preview', { members: [target] }),
  },
  ...(['PUT', 'PATCH'] as const).map(
    (method): ActingRow => ({
      ...{ route: `${method} /api/groups/{ref}`, target: 'off', runs: never },
      async act({ ask, target, fresh }) {
        await ask('POST', '/api/groups', { name: fresh, members: [] })
        await ask(method, `/api/groups/${fresh}`, { name: fresh, members: [target] })
        await ask('POST', `/api/groups/${fresh}/tools/x`, {})
      },
    }),
  ),
  {
    route: 'PUT /api/groups/{ref}/members/{server}',
    target: 'off',
    runs: never,
    async act({ ask, target, fresh }) {
      await ask('POST', '/api/groups', { name: fresh, members: [] })
      await ask('PUT', `/api/groups/${fresh}/members/${target}`, {})
      await ask('POST', `/api/groups/${fresh}/tools/x`, {})
    },
  },
  {
    route: 'POST /api/groups/{ref}/tools/{tool}',
    target: 'off',
    runs: never,
    act: ({ ask, target }) => ask('POST', `/api/groups/${target}/tools/x`, {}),
  },
]

/** Acting routes that need more than a row: rights.test.ts has a test for each. */
export const OWN_TESTS: readonly string[] = [
  'POST /api/import/{id}/rollback',
  'POST /api/bundles',
  'POST /api/bundles/{id}/install',
  'PATCH /api/admin/users/{name}',
  'DELETE /api/admin/users/{name}',
]

/** rights-of-templates.test.ts tests these. */
export const TEMPLATES: readonly string[] = ['POST /api/market/templates/{id}/install']

/**
 * Routes about things besides servers that act for their owner; limited-settings.test.ts and ended-meanwhile.test.ts test
 * them.
 */
export const HELD_ELSEWHERE: readonly string[] = [
  ...['rules', 'channels'].flatMap(kind => [
    `POST /api/monitoring/${kind}`,
    ...['PUT', 'PATCH'].map(method => `${method} /api/monitoring/${kind}/{ref}`),
  ]),
  'POST /api/monitoring/test-alert',
  'POST /api/monitoring/rule-preview',
  'POST /api/monitoring/channels/{ref}/deliveries/{id}/retry',
  'POST /api/assistant/endpoints',
  ...['PUT', 'PATCH'].map(method => `${method} /api/assistant/endpoints/{ref}`),
  ...['test', 'token', 'reconnect'].map(verb => `POST /api/assistant/endpoints/{ref}/${verb}`),
  'POST /api/keys',
  // test/plugins/oauth-server and test/plugins/oauth-client test these.
  'POST /api/servers/{ref}/connect',
  'PUT /api/servers/{ref}/connections/me',
  'POST /api/connections/finish',
  ...['/api/oauth/requests', '/api/oauth/decisions', '/token', '/register'].map(path => `POST ${path}`),
  'POST /api/keys/{id}/rotate',
]

/** Routes that write, and start, change or enable nothing that runs. */
export const HARMLESS: readonly string[] = [
  'DELETE /api/oauth/grants/{id}',
  'DELETE /api/connections/{id}',
  ...['servers', 'groups'].map(kind => `PUT /api/${kind}/{ref}/approvals`),
  'POST /api/approvals/{id}',
  'POST /api/invitations',
  'DELETE /api/invitations/{id}',
  'POST /api/invitations/accept',
  'POST /api/invitations/preview',
  ...['servers/{ref}', 'groups/{ref}', 'keys/{id}', 'grants/{id}'].map(path => `PUT /api/${path}/quota`),
  'PUT /api/servers/{ref}/guards',
  'PUT /api/groups/{ref}/guards',
  ...[
    'second-factor',
    'reauth',
    'factors/totp',
    'factors/totp/confirm',
    'factors/recovery-codes',
    'factors/passkeys/options',
    'factors/passkeys',
    'passkeys/options',
    'passkeys/sign-in',
    'forwarded',
    'providers/{id}/start',
    'providers/{id}/finish',
  ].map(path => `POST /api/auth/${path}`),
  'DELETE /api/auth/factors/{id}',
  'PATCH /api/auth/factors/{id}',
  'DELETE /api/auth/identities/{id}',
  'POST /revoke',
  ...['setup', 'auth/login', 'auth/logout', 'auth/refresh', 'auth/password', 'auth/reset'].map(
    path => `POST /api/${path}`,
  ),
  'DELETE /api/auth/sign-ins',
  'DELETE /api/auth/sign-ins/{id}',
  // Within the rights of the channel, as each of its messages.
  'POST /api/monitoring/channels/{ref}/test',
  'DELETE /api/keys/{id}',
  'DELETE /api/servers/{ref}',
  // sharing.test.ts tries what a share gives.
  ...['servers', 'groups'].flatMap(things => {
    const path = `/api/${things}/{ref}/shares`
    return [`PUT ${path}`, `PUT ${path}/{subject}`, `DELETE ${path}/{subject}`]
  }),
  'DELETE /api/groups/{ref}',
  'DELETE /api/groups/{ref}/members/{server}',
  'DELETE /api/bundles/{id}',
  'PATCH /api/settings',
  'POST /api/export',
  ...['rules', 'channels', 'dashboards'].map(kind => `DELETE /api/monitoring/${kind}/{ref}`),
  'DELETE /api/assistant/endpoints/{ref}',
  'POST /api/monitoring/silences',
  'DELETE /api/monitoring/silences/{id}',
  'POST /api/monitoring/alerts/{id}/ack',
  'POST /api/logs/search',
  'POST /api/monitoring/custom-metrics',
  'POST /api/monitoring/dashboards',
  ...['PUT', 'PATCH'].map(method => `${method} /api/monitoring/dashboards/{ref}`),
  'POST /api/monitoring/query',
]
