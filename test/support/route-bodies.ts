import { LIMITS } from '../../core/config/limits.ts'
import { type Growth, importGrowths, json, many, map, serverGrowths } from './work-bodies.ts'

const command = { command: 'true', enabled: false }
const growth = (name: string, sizes: readonly number[], make: (n: number) => unknown, sliced?: true): Growth => ({
  ...{ name, sizes, make: n => json(make(n)) },
  ...(sliced ? { sliced } : {}),
})

/** Conditions of a search of logs: `or` of many, nested, and long texts. */
const searchGrowths = [
  growth('alternatives', [8, 64], n => ({ query: { or: many(n, at => ({ field: 'message', eq: `x${at}` })) } })),
  growth('more alternatives than are taken', [9_000], n => ({
    query: { or: many(n / 2, at => ({ message: `x${at}` })) },
  })),
  growth('values', [9_000], n => ({ query: { field: 'message', in: many(n, at => `x${at}`) } })),
  growth('a long text', [8_000, 900_000], n => ({ query: { field: 'message', contains: 'ab'.repeat(n / 2) } })),
]

const widget = (query: string) => ({ type: 'chart', title: 't', query })
const dashboardGrowths = (name: string) => [
  growth('widgets', [5, 40], n => ({ name, widgets: many(n, at => widget(`request_count{server="s${at}"}`)) })),
  growth('widgets with long queries', [40], n => ({ name, widgets: many(n, () => widget('x'.repeat(1_400))) })),
  growth('more widgets than are taken', [2_000], n => ({ name, widgets: many(n, () => 1) })),
]

const rule = (condition: string, more: object = {}) => ({ severity: 'warning', condition, ...more })
const ruleGrowths = (name: string) => [
  growth('negations', [30, 240], n => rule(`${'not '.repeat(n)}servers_offline > 1`, { name })),
  growth('brackets', [50, 480], n => rule(`${'('.repeat(n)}servers_offline > 1${')'.repeat(n)}`, { name })),
  growth('channels', [5_000], n => rule('servers_offline > 1', { name, channels: many(n, at => `c${at}`) })),
]

const channelGrowths = (name: string) => [
  growth('headers of a webhook', [30, 3_000], n => ({
    ...{ name, type: 'webhook' },
    config: { url: 'https://a.example/', headers: map(n, at => [`h${at}`, 'v']) },
  })),
  growth('a long address', [60_000], n => ({
    ...{ name, type: 'chat' },
    config: { webhook: `https://a.example/${'%'.repeat(n)}` },
  })),
  growth('recipients', [50, 2_000], n => ({
    ...{ name, type: 'email' },
    config: { smtp: { host: 'a.example' }, recipients: many(n, at => `a${at}@example.com`) },
  })),
]

const endpointGrowths = (name: string) => [
  growth('a long address', [60_000], n => ({
    ...{ name, direction: 'outbound', group: 's' },
    url: `wss://a.example/${'x'.repeat(n)}`,
  })),
  growth('limits', [4_000], n => ({
    ...{ name, direction: 'inbound', group: 's' },
    limits: map(n, at => [`l${at}`, 1]),
  })),
]

const imported = (document: unknown, more: object = {}) => ({ document, ...more })
const movingGrowths = [
  growth(
    'a whole hub',
    [100, 3_000],
    n =>
      imported({
        mcpServers: map(n, at => [`s${at}`, command]),
        users: many(n, at => ({ username: `u${at}` })),
        groups: many(n, at => ({ name: `g${at}` })),
      }),
    true,
  ),
  growth(
    'groups with members',
    [100],
    n => imported({ users: [], groups: many(n, at => ({ name: `g${at}`, servers: many(90, of => `s${of}`) })) }),
    true,
  ),
  growth('answers', [500, 9_000], n =>
    imported({ mcpServers: { a: command } }, { answers: map(n, at => [`V${at}`, 'v']) }),
  ),
  growth('choices', [500, 9_000], n =>
    imported({ mcpServers: { a: command } }, { choices: map(n, at => [`#/mcpServers/s${at}`, 'skip']) }),
  ),
  growth(
    'a file with its servers switched off',
    [100, 480],
    n => imported(JSON.stringify({ mcpServers: map(n, at => [`s${at}`, command]) }), { switchOff: true }),
    true,
  ),
  growth(
    'pointers of servers to switch off',
    [100, 480],
    n =>
      imported(`mcpServers:\n${many(n, at => `  s${at}: {command: "true"}\n`).join('')}`, {
        switchOff: many(n, at => `#/mcpServers/s${at}`),
      }),
    true,
  ),
  growth(
    'TOML',
    [1_000, 30_000],
    n => imported(`${'[mcp_servers.a]\n'.repeat(n / 100)}x = [${'1,'.repeat(n)}1]`),
    true,
  ),
  growth(
    'YAML',
    [1_000, 30_000],
    n => imported(`mcpServers:\n${many(n / 20, at => `  s${at}: {command: "true"}\n`).join('')}`),
    true,
  ),
]

/** Values for the inputs of a template or a bundle. */
const inputGrowths = [
  growth('inputs', [200, 9_000], n => ({ name: 'm', inputs: map(n, at => [`i${at}`, 'v']) })),
  growth('references in inputs', [8_000], n => ({ name: 'm', inputs: { a: '{a}'.repeat(n / 3) } })),
]

const groupGrowths = (name: string) => [
  growth('members', [50, 500], n => ({ name, members: many(n, at => `admin~s${at}`) })),
  growth('more members than are taken', [9_000], n => ({ name, members: many(n, at => `s${at}`) })),
  growth('tools of a member', [500, 4_900], n => ({
    name,
    members: [{ server: 's', tools: many(n, at => `t${at}`) }],
  })),
  growth('arguments of a tool', [200, 2_000], n => ({
    name,
    members: [{ server: 's', tools: [{ name: 'echo', arguments: map(n, at => [`a${at}`, { hidden: true }]) }] }],
  })),
]

/** Bodies of routes that make and change one kind of record; the one that is changed is called `t`. */
function records(path: string, of: (name: string) => readonly Growth[]): Readonly<Record<string, readonly Growth[]>> {
  return { [`POST ${path}`]: of('made'), [`PUT ${path}/{ref}`]: of('t'), [`PATCH ${path}/{ref}`]: of('t') }
}

/** Passkeys whose bytes, or free members, grow. */
function passkeyGrowths(bytes: string): readonly Growth[] {
  const passkey = (response: object, clientExtensionResults = {}) => ({
    passkey: { id: 'a', clientExtensionResults, response: { clientDataJSON: 'e30', signature: 'a', ...response } },
  })
  return [
    growth('long bytes', [4_000, 900_000], n => passkey({ [bytes]: 'A'.repeat(n) })),
    growth('extensions', [50, 9_000], n =>
      passkey(
        { [bytes]: 'A' },
        map(n, at => [`e${at}`, true]),
      ),
    ),
  ]
}

/** Rules about content. */
const guardGrowths = [
  growth('rules', [50, 5_000], n => ({ rules: many(n, at => ({ id: `r${at}`, match: { secrets: true } })) })),
  growth('patterns', [20, 9_000], n => ({ rules: [{ id: 'r', match: { pattern: many(n, at => `a*b${at}?`) } }] })),
  growth('wildcards', [199, 900_000], n => ({ rules: [{ id: 'r', match: { pattern: `${'*a'.repeat(n / 2)}b` } }] })),
  growth('domains', [200, 20_000], n => ({ rules: [{ id: 'r', match: { domains: many(n, at => `a${at}.b`) } }] })),
  growth('a long domain', [253, 900_000], n => ({ rules: [{ id: 'r', match: { domains: ['a.'.repeat(n / 2)] } }] })),
]

/** Bodies that get as far into a route as possible, by method and path as in the API document. */
const OWN: Readonly<Record<string, readonly Growth[]>> = {
  ...Object.fromEntries(
    ['servers', 'groups'].map(things => [
      `PUT /api/${things}/{ref}/shares`,
      [growth('subjects', [20, 200], n => ({ shares: many(n, at => ({ subject: `user:u${at}`, role: 'use' })) }))],
    ]),
  ),
  'POST /api/admin/teams': [
    growth('members', [100, 1_000], n => ({ name: 'made', members: many(n, at => `u${at}`) })),
    growth('a group of a source', [10, 256], n => ({ name: 'made', source: { provider: 'p', group: 'g'.repeat(n) } })),
  ],
  'PATCH /api/admin/teams/{name}': [
    growth('members', [100, 1_000], n => ({ members: many(n, at => `u${at}`) })),
    growth('a group of a source', [10, 256], n => ({ source: { provider: 'p', group: 'g'.repeat(n) } })),
  ],
  'POST /api/servers': serverGrowths(LIMITS.serverBodyBytes),
  'POST /api/servers/test': serverGrowths(LIMITS.bodyBytes),
  'PUT /api/servers/{ref}': serverGrowths(LIMITS.bodyBytes),
  'PATCH /api/servers/{ref}': serverGrowths(LIMITS.bodyBytes),
  'POST /api/servers/import': importGrowths(LIMITS.serverBodyBytes),
  'POST /api/import': movingGrowths,
  'POST /api/export': [growth('a passphrase', [12, 256], n => ({ passphrase: 'p'.repeat(n) }))],
  'POST /api/market/templates/{id}/install': inputGrowths,
  'POST /api/bundles/{id}/install': inputGrowths,
  'POST /api/servers/{ref}/upgrade': inputGrowths,
  'POST /api/servers/{ref}/downgrade': inputGrowths,
  'POST /api/logs/search': searchGrowths,
  'POST /api/monitoring/query': [
    growth('matchers', [5, 500], n => ({ type: 'chart', query: `request_count{${'server="a",'.repeat(n)}tool="b"}` })),
  ],
  ...records('/api/monitoring/dashboards', dashboardGrowths),
  ...records('/api/monitoring/rules', ruleGrowths),
  ...records('/api/monitoring/channels', channelGrowths),
  'POST /api/monitoring/custom-metrics': [
    growth('series', [10, 100], n => ({ metrics: many(n, at => ({ name: `m${at}`, kind: 'gauge', value: 1 })) })),
    growth('labels', [5, 9_000], n => ({
      metrics: [{ name: 'm', kind: 'gauge', value: 1, labels: map(n, at => [`l${at}`, 'v']) }],
    })),
    growth('free-form', [100, 9_000], n => map(n, at => [`n${at}`, at])),
  ],
  ...records('/api/assistant/endpoints', endpointGrowths),
  ...records('/api/groups', groupGrowths),
  'POST /api/groups/preview': groupGrowths('made'),
  'PATCH /api/settings': [
    growth('consents', [60, 9_000], n => ({ passthroughHeaders: map(n, at => [`admin~s${at}`, ['x-a']]) })),
    growth('keys of platforms', [16, 9_000], n => ({ hostedKeys: map(n, at => [`p${at}`, 'a-key-of-a-platform']) })),
  ],
  'PUT /api/groups/{ref}/members/{server}': [
    growth('tools', [500, 4_900], n => ({ tools: many(n, at => `t${at}`) })),
    growth('prompts twice', [4_900], n => ({ prompts: many(n, at => `p${at % 10}`) })),
  ],
  'POST /api/servers/batch': [
    growth(
      'servers',
      [20, 200],
      n => ({ servers: many(n, at => ({ name: `b${at}`, ...command, era: 'none' })) }),
      true,
    ),
    growth('more servers than are taken', [3_000], n => ({ servers: many(n, at => ({ name: `b${at}` })) })),
  ],
  'PATCH /api/servers/{ref}/tools/{tool}': [
    growth('arguments', [200, 4_500], n => ({ arguments: map(n, at => [`a${at}`, { hidden: true }]) })),
  ],
  'POST /api/keys': [
    growth('scopes', [50, 4_500], n => ({ label: 'k', scopes: many(n, at => ({ group: `g${at}` })) })),
  ],
  'PATCH /api/admin/users/{name}': [growth('grants', [5_000], n => ({ grants: map(n, at => [`g${at}`, 1]) }))],
  'PATCH /api/admin/settings': [growth('hosts', [5_000], n => ({ allowedHosts: many(n, at => `${at}:`) }))],
  'PATCH /api/admin/logging': [growth('levels', [90, 9_000], n => ({ levels: map(n, at => [`c${at}`, 'loud']) }))],
  'PUT /api/monitoring/config': [
    growth('logging', [5_000], n => ({ logging: map(n, at => [`c${at}`, 'loud']) })),
    growth('dashboards', [50, 1_000], n => ({ dashboards: many(n, at => ({ name: `d${at}`, widgets: [] })) })),
  ],
  'PATCH /api/admin/plugins/{name}': [growth('config', [500, 9_000], n => ({ config: map(n, at => [`c${at}`, 1]) }))],
  'POST /api/admin/plugins': [
    growth('config', [500, 9_000], n => ({ use: './plugins/none.ts', config: map(n, at => [`c${at}`, 1]) })),
    growth('limits', [500, 9_000], n => ({ use: './plugins/none.ts', limits: map(n, at => [`l${at}`, 1]) })),
  ],
  'POST /api/admin/oauth/clients': [
    growth('addresses', [500, 9_000], n => ({ name: 'c', redirectUris: many(n, at => `https://c.example/${at}`) })),
  ],
  'PATCH /api/admin/oauth/clients/{id}': [
    growth('addresses', [500, 9_000], n => ({ redirectUris: many(n, at => `https://c.example/${at}`) })),
  ],
  'POST /api/auth/reset': [
    growth('a long code', [500, 900_000], n => ({
      token: 't',
      newPassword: 'p',
      secondFactor: { code: 'c'.repeat(n) },
    })),
  ],
  'POST /api/auth/factors/passkeys': passkeyGrowths('attestationObject'),
  'POST /api/auth/passkeys/sign-in': passkeyGrowths('authenticatorData'),
  'POST /api/auth/reauth': passkeyGrowths('authenticatorData'),
  'POST /api/servers/{ref}/connect': [
    growth('scopes', [50, 9_000], n => ({ scopes: many(n, at => `s${at}`) })),
    growth('a long scope', [200, 900_000], n => ({ scopes: ['s'.repeat(n)] })),
  ],
  'POST /api/invitations': [
    growth('many things', [10, 9_000], n => ({
      role: 'use',
      things: many(n, at => ({ kind: 'server', ref: `s${at}` })),
    })),
  ],
  'PUT /api/servers/{ref}/connections/me': [
    growth('many values', [50, 9_000], n => ({ values: Object.fromEntries(many(n, at => [`v${at}`, 'x'])) })),
    growth('a long value', [8_000, 900_000], n => ({ values: { key: 'x'.repeat(n) } })),
  ],
  ...Object.fromEntries(
    ['servers', 'groups'].map(kind => [
      `PUT /api/${kind}/{ref}/approvals`,
      [
        growth('many rules', [50, 9_000], n => ({ rules: many(n, () => ({ when: {} })) })),
        growth('many arguments', [20, 9_000], n => ({
          rules: [{ when: { arguments: Object.fromEntries(many(n, at => [`/a${at}`, { exists: true }])) } }],
        })),
      ],
    ]),
  ),
  ...Object.fromEntries(
    ['admin/users/{name}', 'grants/{id}', 'groups/{ref}', 'keys/{id}'].map(path => [
      `PUT /api/${path}/quota`,
      [growth('other members', [50, 9_000], n => ({ quota: Object.fromEntries(many(n, at => [`m${at}`, 1])) }))],
    ]),
  ),
  'PUT /api/servers/{ref}/quota': [
    growth('many tools', [50, 9_000], n => ({
      tools: Object.fromEntries(many(n, at => [`t${at}`, { perDay: 1 }])),
    })),
  ],
  'PUT /api/servers/{ref}/guards': guardGrowths,
  'PUT /api/groups/{ref}/guards': guardGrowths,
  'POST /api/connections/finish': [
    growth('a long address', [8_000, 900_000], n => ({
      url: `https://hub.example/oauth/callback?state=${'s'.repeat(n)}`,
    })),
    growth('many parameters', [900, 90_000], n => ({
      url: `https://hub.example/?${many(n, at => `p${at}=1`).join('&')}`,
    })),
  ],
  'POST /api/oauth/decisions': [
    growth('scopes', [500, 9_000], n => ({ request: 'r', allow: true, scopes: many(n, () => 'mcp:read') })),
    growth('a long request', [16_000, 900_000], n => ({ request: 'r'.repeat(n), allow: true })),
  ],
  'POST /api/groups/{ref}/tools/{tool}': [
    growth('arguments', [500, 9_000], n => map(n, at => [`k${at}`, at])),
    growth('a long argument', [LIMITS.bodyBytes / 16, LIMITS.bodyBytes * 0.9], n => ({ text: 'x'.repeat(n) })),
  ],
}

/** The routes that have bodies of their own here; each must be in the API document. */
export const ROUTES_WITH_BODIES: readonly string[] = Object.keys(OWN)

/** Bodies for a route, in addition to those derived from its schema. */
export function routeGrowths(route: string): readonly Growth[] {
  return OWN[route] ?? []
}

/** Reads instead of changes, so that rounds leave nothing behind. */
export function queryOf(route: string): string {
  return /^POST \/api\/(?:servers\/import|import|(?:market\/templates|bundles)\/\{id\}\/install)$/.test(route)
    ? '?dryRun=true'
    : ''
}

/** Routes of plugins, which are not in the API document. */
export const PLUGIN_ROUTES = ['POST /api/plugins/hosted-keys/test'] as const
