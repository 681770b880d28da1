/** Invalid credentials, and the number that an address may try before it is slowed down. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSecretKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import { LIMITS } from '../../core/config/limits.ts'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { expectProblem, expectWell, patient } from './rows.ts'

const JWT_SECRET = 'a secret of the suite, long enough for HS256 to take'
/** An address that no test has used before: the hub believes its proxy, which is the test. */
let addresses = 0
const newAddress = () => {
  addresses += 1
  return { 'x-forwarded-for': `198.51.100.${addresses}` }
}
const AT_ONCE = LIMITS.failedCredentialBurstPerAddress

const METRICS_TOKEN = 'a-token-of-the-metrics'
let hub: Hub
let admin: Client
let alice: Client
let claims: JWTPayload
let routes: readonly DocumentedRoute[]

beforeAll(async () => {
  hub = await startHub({
    env: { JWT_SECRET, METRICS_TOKEN, TRUSTED_PROXIES: '127.0.0.1', ALLOWED_HOSTS: '127.0.0.1' },
  })
  admin = await hub.setup()
  alice = await hub.user('alice')
  claims = decodeJwt(alice.token)
  routes = await documentedRoutes(admin)
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const as = (headers: Record<string, string>, path = '/api/servers', method = 'GET'): Promise<Answer> =>
  patient(() => send(hub.url, method, path, undefined, headers))

async function expectRefusal(answer: Answer, status: number, code: string, method = 'GET', path = '/api/servers') {
  expect([answer.status, answer.json.code]).toEqual([status, code])
  expectProblem(answer, { method, path })
  await expectWell(hub)
}

describe('a credential', () => {
  const signed = (change: JWTPayload, header: { alg: string } = { alg: 'HS256' }, secret = JWT_SECRET) =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader(header).sign(createSecretKey(Buffer.from(secret)))
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  test.each([
    ['none', {}],
    ['Bearer with nothing', { authorization: 'Bearer' }],
    ['Bearer and a space', { authorization: 'Bearer ' }],
    ['Basic', { authorization: 'Basic TOKEN' }],
    ['the token alone', { authorization: 'TOKEN' }],
    ['Token', { authorization: 'Token TOKEN' }],
    ['an empty x-auth-token', { 'x-auth-token': '' }],
  ])('%s → 401 unauthenticated', async (_what, headers) => {
    const filled = Object.entries(headers).map(([name, value]) => [name, value.replace('TOKEN', alice.token)])
    await expectRefusal(await as(Object.fromEntries(filled)), 401, 'unauthenticated')
  })

  test('made with the hub’s own secret is taken, which the forged ones below rely on', async () => {
    expect((await as({ authorization: `bEARER ${await signed({})}` })).status).toBe(200)
    expect((await as({ 'x-auth-token': await signed({}) })).status).toBe(200)
  })

  test('of no algorithm, of another one, or by another key → 401 token_invalid [CVE-2026-22817 CVE-2026-39407 CVE-2026-29087]', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const forged = [
      `${part({ alg: 'none' })}.${part(claims)}.`,
      `${part({ alg: 'HS256' })}.${part(claims)}.`,
      await signed({}, { alg: 'HS512' }),
      await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      await signed({}, { alg: 'HS256' }, 'another secret, which is just as long as it'),
      `${alice.token}x`,
      alice.token.slice(0, -3),
      'a.b.c',
      'x'.repeat(9_000),
      `pb_${'x'.repeat(5)}`,
      'pb_',
      `${part({ alg: 'HS256', crit: ['b64'], b64: false })}.${part(claims)}.AAAA`,
    ]
    for (const token of forged)
      await expectRefusal(await as({ authorization: `Bearer ${token}` }), 401, 'token_invalid')
  })

  test.each([
    ['expired', { exp: 1_700_000_000 }, 'token_expired'],
    ['issued by another hub', { iss: 'patchbay:other' }, 'token_invalid'],
    ['for a group’s resource', { aud: 'http://127.0.0.1/mcp/g' }, 'token_wrong_audience'],
    ['of an unknown user', { sub: 'nobody' }, 'token_revoked'],
    ['of an earlier epoch', { epoch: -1 }, 'token_revoked'],
    ['of a later epoch', { epoch: 99 }, 'token_revoked'],
    ['without an id', { jti: undefined }, 'token_invalid'],
    ['without an end', { exp: undefined }, 'token_invalid'],
    ['from the future', { iat: 4_000_000_000, exp: 4_000_000_100 }, 'token_invalid'],
    ['not yet valid', { nbf: 4_000_000_000 }, 'token_invalid'],
  ] as const)('%s → 401 %s', async (_what, change, code) => {
    await expectRefusal(await as({ authorization: `Bearer ${await signed(change as JWTPayload)}` }), 401, code)
  })

  test('says of a role that its user does not have, and gives no more than the user’s', async () => {
    const answer = await as({ authorization: `Bearer ${await signed({ role: 'admin' })}` }, '/api/admin/users')
    await expectRefusal(answer, 403, 'admin_only', 'GET', '/api/admin/users')
  })

  test('in the URL → 400 token_in_url, also beside one in a header', async () => {
    for (const query of [`token=${alice.token}`, 'access_token=x', 'TOKEN=x', '%74oken=x']) {
      const answer = await as({ authorization: `Bearer ${alice.token}` }, `/api/servers?${query}`)
      await expectRefusal(answer, 400, 'token_in_url')
      expect(answer.text).not.toContain(alice.token)
    }
  })

  test('twice alike is one; two different ones → 400 credentials_conflict', async () => {
    const authorization = `Bearer ${alice.token}`
    expect((await as({ authorization, 'x-auth-token': alice.token })).status).toBe(200)
    await expectRefusal(await as({ authorization, 'x-auth-token': admin.token }), 400, 'credentials_conflict')
    await expectRefusal(await as({ authorization: `${authorization}, Bearer x` }), 400, 'header_duplicate')
  })

  test('of a user who is disabled → 401 token_revoked at the next request', async () => {
    const carol = await hub.user('carol')
    await admin.ok('PATCH', '/api/admin/users/carol', { disabled: true })
    await expectRefusal(await carol.request('GET', '/api/servers'), 401, 'token_revoked')
    const again = await send(hub.url, 'POST', '/api/auth/login', { username: 'carol', password: PASSWORD })
    expect([again.status, again.json.code]).toEqual([401, 'login_failed'])
  })

  test('is wanted by every route that is not public, whatever else is wrong with the request', async () => {
    for (const { method, path, open } of routes) {
      // With a token of its own: see below.
      if (path === '/metrics') continue
      const answer = await patient(() => send(hub.url, method, path, method === 'GET' ? undefined : '{'))
      if (open) expect(answer.status).not.toBe(401)
      else expect([path, answer.status, answer.json.code]).toEqual([path, 401, 'unauthenticated'])
    }
    await expectRefusal(await as({}, '/api/none'), 401, 'unauthenticated', 'GET', '/api/none')
  }, 120_000)
})

describe('more than 100 requests at once', () => {
  test('of one user → 429 with Retry-After, and others are served', async () => {
    const dora = await hub.user('dora')
    const answers: Answer[] = []
    const refused = await until(async () => {
      // Repeated, since the bucket may fill meanwhile on a slow machine.
      answers.push(...(await Promise.all(Array.from({ length: 160 }, () => dora.request('GET', '/api/auth/me')))))
      const found = answers.filter(answer => answer.status === 429)
      return found.length > 0 && found
    })
    expect(answers.filter(answer => answer.status === 200).length).toBeGreaterThanOrEqual(100)
    for (const answer of refused) await expectRefusal(answer, 429, 'rate_limited', 'GET', '/api/auth/me')
    expect((await alice.request('GET', '/api/auth/me')).status).toBe(200)
  })
})

const randomKey = () => `pb_${randomBytes(32).toString('base64url')}`
/** A token with everything but the right signature. */
const forged = () => {
  const [head, body] = admin.token.split('.')
  return `${head}.${body}.${randomBytes(32).toString('base64url')}`
}
const bearer = (token: string, more = {}) => ({ authorization: `Bearer ${token}`, ...more })
const told = ({ status, json }: Answer) => `${status} ${json.code ?? json.error?.data?.code ?? ''}`.trim()

/** Sends wrong credentials until the address has no attempts left: twice the number that may be wrong at once. */
async function useUp(token: () => string, path: string, from: Record<string, string>): Promise<Answer[]> {
  const one = () => send(hub.url, 'GET', path, undefined, bearer(token(), from))
  return Promise.all(Array.from({ length: 2 * AT_ONCE }, one))
}

test.each([
  ['random keys', '/api/servers', randomKey, 'token_revoked'],
  ['random keys', '/mcp/x', randomKey, 'token_revoked'],
  ['random keys', '/sse/x', randomKey, 'token_revoked'],
  ['forged session tokens', '/api/servers', forged, 'token_invalid'],
  ['forged session tokens', '/mcp/x', forged, 'token_invalid'],
] as const)('%s at %s: past the budget the answer is 429 with Retry-After', async (_what, path, token, code) => {
  const from = newAddress()
  const startedMs = performance.now()
  const all = await useUp(token, path, from)
  const filled = (LIMITS.failedCredentialsPerSecondPerAddress * (performance.now() - startedMs)) / 1_000
  const answers = all.map(told)
  const refused = answers.filter(answer => answer === `401 ${code}`).length
  expect(answers.filter(answer => answer === '429 rate_limited').length).toBe(answers.length - refused)
  expect(refused).toBeGreaterThanOrEqual(AT_ONCE)
  expect(refused).toBeLessThanOrEqual(AT_ONCE + filled)
  const isLate = ({ status }: Answer): boolean => status === 429
  // Repeated, since the budget may come back meanwhile on a slow machine.
  const late = all.find(isLate) ?? (await until(async () => (await useUp(token, path, from)).find(isLate)))
  expect(late.headers.get('retry-after')).toBe('1')
  // Another address has a budget of its own.
  expect(told(await send(hub.url, 'GET', path, undefined, bearer(token(), newAddress())))).toBe(`401 ${code}`)
})

test('a user who was accepted before, or signs in now, can still work behind the same address', async () => {
  const from = newAddress()
  const key = await admin.mcpKey()
  const headers = bearer(key, { accept: 'application/json, text/event-stream', ...from })
  const mcp = () => send(hub.url, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)
  const before = told(await mcp())
  await useUp(randomKey, '/api/servers', from)
  expect(told(await admin.request('GET', '/api/servers', undefined, from))).toBe('200')
  expect(told(await mcp())).toBe(before)
  const again = await hub.signIn('admin')
  expect(told(await again.request('GET', '/api/servers', undefined, from))).toBe('200')
  expect((await send(hub.url, 'GET', '/health', undefined, bearer(randomKey(), from))).status).toBe(200)
})

test('the budget of an address comes back with time', async () => {
  const from = newAddress()
  await useUp(randomKey, '/api/servers', from)
  const checked = async () => told(await send(hub.url, 'GET', '/api/servers', undefined, bearer(randomKey(), from)))
  await until(async () => (await checked()) === '401 token_revoked', { what: 'a wrong key to be checked again' })
})

test('first messages of live streams count as well', async () => {
  const headers = newAddress()
  await useUp(randomKey, '/api/servers', headers)
  const code = async (): Promise<string> => {
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, { headers } as never)
    const closed = new Promise<CloseEvent>(resolve => socket.addEventListener('close', resolve, { once: true }))
    socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', token: randomKey() }))
    return JSON.parse((await closed).reason).code
  }
  // The budget fills meanwhile, but not as quickly as sockets open.
  await until(async () => (await Promise.all(Array.from({ length: 20 }, code))).includes('rate_limited'))
})

test('METRICS_TOKEN is then the only way to the metrics besides administrators, also from loopback', async () => {
  const answer = (authorization?: string) =>
    fetch(`${hub.url}/metrics`, authorization === undefined ? {} : { headers: { authorization } })
  const answers = await Promise.all(
    [undefined, 'Bearer x', `Bearer ${METRICS_TOKEN}`, `Basic ${METRICS_TOKEN}`].map(answer),
  )
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 200, 401])
  expect(await answers[2]?.text()).not.toContain(METRICS_TOKEN)
  expect((await admin.request('GET', '/metrics')).status).toBe(200)
})
