import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { expectWell, patient } from './rows.ts'

/** `SEED=… bun test …` repeats a run. */
const SEED = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** Rounds of requests, each by an administrator and a user; `ROUNDS=…` for more. */
const ROUNDS = Number(process.env.ROUNDS ?? 150)

let hub: Hub
let admin: Client
let user: Client
let targets: readonly DocumentedRoute[]

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  user = await hub.user('user')
  for (const who of [admin, user]) {
    await who.ok('POST', '/api/servers', {
      name: 'thing',
      url: 'https://mcp.example/',
      enabled: false,
      headers: { Authorization: 'Bearer abcdefgh' },
    })
    await who.ok('POST', '/api/groups', { name: 'thing', members: ['thing'] })
  }
  // Leaves out requests that would end the run: streams, sign-out and removals.
  targets = (await documentedRoutes(admin)).filter(
    ({ method, path }) =>
      method !== 'DELETE' &&
      !['/api/stream', '/api/auth/logout', '/api/auth/password', '/api/auth/login', '/api/servers/test'].includes(path),
  )
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const FIELDS = [
  ...[
    'name',
    'transport',
    'type',
    'command',
    'args',
    'env',
    'cwd',
    'url',
    'headers',
    'openapi',
    'timeout',
    'maxTimeout',
    'visibility',
  ],
  ...[
    'variables',
    'owner',
    'description',
    'enabled',
    'disabled',
    'session',
    'start',
    'idleTimeout',
    'isolate',
    'healthCheck',
  ],
  ...[
    'passthroughHeaders',
    'tools',
    'secrets',
    'config',
    'members',
    'servers',
    'naming',
    'resultLimit',
    'label',
    'scopes',
  ],
  ...[
    'expiresAt',
    'username',
    'password',
    'role',
    'mustChangePassword',
    'hostedKeys',
    'language',
    'document',
    'arguments',
    'logLevel',
  ],
]
const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '.',
    '..',
    '~',
    'a~b',
    'thing',
    'admin~thing',
    'user~thing',
    '••••',
    '••••efgh',
    `${'$'}{A}`,
    '$',
    '@a',
    '\0',
    'a\nb',
    '\ud800',
    'é',
    '😀',
    '/env/A',
    '/headers/~',
    '0',
    'https://mcp.example/',
    'http://127.1/',
    '__proto__',
    'toString',
    'enc:v1:x:y',
    'null',
  ),
  fc.string({ maxLength: 20, unit: 'grapheme' }),
  fc.constant('x'.repeat(9_000)),
)
const scalar = fc.oneof(
  text,
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1, 0.5, 1e308, -0, 2 ** 53, 65_536),
  fc.integer(),
)
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  {
    weight: 2,
    arbitrary: fc.array(fc.oneof(scalar, fc.dictionary(fc.constantFrom(...FIELDS), scalar, { maxKeys: 3 })), {
      maxLength: 4,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      fc.oneof(fc.constantFrom(...FIELDS), text),
      fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(text, scalar, { maxKeys: 2 })),
      { maxKeys: 4 },
    ),
  },
)
const change = fc.dictionary(
  fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...FIELDS) }, { weight: 1, arbitrary: text }),
  value,
  { maxKeys: 4 },
)

test(`whatever a body or query holds, the answer is no fault of the hub (SEED=${SEED})`, async () => {
  const changes = fc.sample(change, { numRuns: ROUNDS * targets.length, seed: SEED })
  const queries = fc.sample(text, { numRuns: ROUNDS, seed: SEED })
  const faults: string[] = []
  let at = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const target = targets[(round * 7 + SEED) % targets.length]
    if (!target) break
    for (const who of [admin, user]) {
      at += 1
      const body = target.example === undefined ? undefined : { ...(target.example as object), ...changes[at] }
      const query =
        round % 3 === 0
          ? target.query.map(name => `${name}=${encodeURIComponent((queries[round] ?? '').toWellFormed())}`).join('&')
          : ''
      const answer = await patient(() => who.request(target.method, `${target.path}${query && `?${query}`}`, body))
      const refusedWell = answer.status < 500 || ['server_offline', 'overloaded'].includes(answer.json.code)
      if (!refusedWell) faults.push(`${target.method} ${target.path}?${query} ${JSON.stringify(body)} → ${answer.text}`)
    }
  }
  expect(faults).toEqual([])
  expect(hub.unhandled()).toEqual([])
  await expectWell(hub)
}, 120_000)
