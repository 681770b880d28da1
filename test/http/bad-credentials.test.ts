import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { expectProblem, expectWell, patient } from './rows.ts'

const JWT_SECRET = 'a secret of the suite, long enough for HS256 to take'
let hub: Hub
let admin: Client
let alice: Client
let claims: JWTPayload
let routes: readonly DocumentedRoute[]

beforeAll(async () => {
  hub = await startHub({ env: { JWT_SECRET } })
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
      // Again where the machine is so slow that the bucket fills meanwhile.
      answers.push(...(await Promise.all(Array.from({ length: 160 }, () => dora.request('GET', '/api/auth/me')))))
      const found = answers.filter(answer => answer.status === 429)
      return found.length > 0 && found
    })
    expect(answers.filter(answer => answer.status === 200).length).toBeGreaterThanOrEqual(100)
    for (const answer of refused) await expectRefusal(answer, 429, 'rate_limited', 'GET', '/api/auth/me')
    expect((await alice.request('GET', '/api/auth/me')).status).toBe(200)
  })
})
