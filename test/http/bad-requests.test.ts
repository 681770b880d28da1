import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, PASSWORD, send, startHub } from '../support/hub.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'
import { expectProblem, expectWell, patient } from './rows.ts'

const JWT_SECRET = 'a secret of the suite, long enough for HS256 to take'
let hub: Hub
let admin: Client
let alice: Client
let claims: JWTPayload
/** Every route of the API document: method, path with something in each parameter, its body or none. */
let routes: { method: string; path: string; open: boolean; takesBody: boolean; example: unknown }[]

beforeAll(async () => {
  hub = await startHub({ env: { JWT_SECRET } })
  admin = await hub.setup()
  alice = await hub.user('alice')
  claims = decodeJwt(alice.token)
  const { paths } = (await admin.request('GET', '/api/openapi.json')).json
  routes = Object.entries(paths).flatMap(([path, item]) =>
    // biome-ignore lint/suspicious/noExplicitAny: the document as it is
    Object.entries(item as Record<string, any>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'thing'),
      open: operation['x-access'] === 'public',
      takesBody: operation.requestBody !== undefined,
      example: operation.requestBody?.content['application/json'].example ?? {},
    })),
  )
}, 30_000)
afterAll(() => hub?.stop(), 40_000)

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

  test('of no algorithm, of another one, or by another key → 401 token_invalid', async () => {
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
  }, 30_000)
})

describe('more than 100 requests at once', () => {
  test('of one user → 429 with Retry-After, and others are served', async () => {
    const dora = await hub.user('dora')
    const answers = await Promise.all(Array.from({ length: 160 }, () => dora.request('GET', '/api/auth/me')))
    const refused = answers.filter(answer => answer.status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.filter(answer => answer.status === 200).length).toBeGreaterThanOrEqual(100)
    for (const answer of refused) await expectRefusal(answer, 429, 'rate_limited', 'GET', '/api/auth/me')
    expect((await alice.request('GET', '/api/auth/me')).status).toBe(200)
  })
})

describe('a request', () => {
  const head = (...more: string[]) => [
    `Host: ${new URL(hub.url).host}`,
    `Authorization: Bearer ${alice.token}`,
    'Connection: close',
    ...more,
  ]
  const get = (target: string, ...more: string[]) =>
    rawRequest(hub.url, rawText(`GET ${target} HTTP/1.1`, head(...more)))

  test.each([
    ['Host', 'evil.example', 'host_not_allowed'],
    ['Host', '127.0.0.1.evil.example', 'host_not_allowed'],
    ['Host', 'me@127.0.0.1', 'host_not_allowed'],
    ['Origin', 'http://evil.example', 'origin_not_allowed'],
    ['Origin', 'null', 'origin_not_allowed'],
    ['Origin', 'http://127.0.0.1.evil.example', 'origin_not_allowed'],
    ['Origin', 'file://', 'origin_not_allowed'],
  ])('with %s %s → 403 %s on every path', async (name, value, code) => {
    for (const path of ['/api/servers', '/health', '/api/docs', '/api/none', '/', '/api/stream']) {
      const lines = head().filter(line => !line.startsWith(`${name}:`))
      const answer = await rawRequest(hub.url, rawText(`GET ${path} HTTP/1.1`, [`${name}: ${value}`, ...lines]))
      expect([path, answer.status, JSON.parse(answer.body).code]).toEqual([path, 403, code])
    }
    await expectWell(hub)
  })

  test.each([
    '//api/servers',
    '/api//servers',
    '/api/servers/a%2fb',
    '/api/servers/a%5Cb',
    '/api/servers/%00',
    '/api/servers/%2e%2e%2fadmin',
    '/api/servers;a=b',
    '/api/servers/%',
    '/api/servers/%zz',
    '/api/servers/%ff',
    '/api/servers/%c0%af',
  ])('of %s → 400 path_invalid', async target => {
    const answer = await get(target)
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([400, 'path_invalid'])
    await expectWell(hub)
  })

  test.each([
    '/API/servers',
    '/api/servers/',
    '/api/Servers',
    '/api',
    '/api/',
    '/api/none',
    '/none',
    '/api/../api/none',
    '/',
  ])('of %s → 404 route_not_found as JSON', async target => {
    const answer = await get(target)
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([404, 'route_not_found'])
  })

  test('by a wrong method → 405 with Allow, on every path', async () => {
    const paths = Map.groupBy(routes, ({ path }) => path)
    for (const [path, here] of paths) {
      const method = ['PUT', 'DELETE', 'PATCH', 'POST'].find(each => !here.some(route => route.method === each))
      // `/api/servers/thing` is also how `/api/servers/batch` would be read by another method.
      if (method === undefined || /^\/api\/(?:servers|groups)\/\w+$/.test(path)) continue
      const answer = await patient(() => admin.request(method, path))
      expect([path, answer.status]).toEqual([path, 405])
      const allow = (answer.headers.get('allow') ?? '').split(', ')
      for (const route of here) expect(allow).toContain(route.method)
      expect(allow.includes('HEAD')).toBe(allow.includes('GET'))
    }
    for (const method of ['TRACE', 'OPTIONS', 'PROPFIND']) {
      const answer = await rawRequest(hub.url, rawText(`${method} /api/servers HTTP/1.1`, head()))
      expect([method, answer.status >= 400 && answer.status < 500]).toEqual([method, true])
    }
    await expectWell(hub)
  }, 30_000)

  test('by HEAD is answered like GET, without a body', async () => {
    for (const path of ['/health', '/api/servers', '/api/openapi.json', '/api/docs', '/api/stream']) {
      const answer = await rawRequest(hub.url, rawText(`HEAD ${path} HTTP/1.1`, head()))
      expect([path, answer.status, answer.body]).toEqual([path, 200, ''])
      expect(answer.text.toLowerCase()).toContain('x-request-id: ')
    }
  })

  test('with 65 headers → 431 headers_too_large', async () => {
    const answer = await get('/health', ...Array.from({ length: 65 }, (_, at) => `X-H${at}: v`))
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([431, 'headers_too_large'])
  })

  test('whose length lies or is given twice is refused', async () => {
    const post = (body: string, ...more: string[]) =>
      rawRequest(hub.url, rawText('POST /api/servers HTTP/1.1', head('Content-Type: application/json', ...more), body))
    expect((await post('{}', 'Content-Length: 2', 'Transfer-Encoding: chunked')).status).toBe(400)
    expect((await post('{}', 'Content-Length: 2', 'Content-Length: 3')).status).toBe(400)
    expect((await post('{}', 'Content-Length: -1')).status).toBe(400)
    expect((await post('zz\r\n', 'Transfer-Encoding: chunked')).status).toBe(400)
    await expectWell(hub)
  })
})

describe('a body', () => {
  const deep = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const many = `{"a":[${'1,'.repeat(10_000)}1]}`

  test.each([
    ['nothing', '', 400, 'json_empty'],
    ['blanks', ' \n', 400, 'json_empty'],
    ['{', '{', 400, 'json_invalid'],
    ['{"a":1,}', '{"a":1,}', 400, 'json_invalid'],
    ['a comment', '{} // c', 400, 'json_invalid'],
    ['NaN', '{"a":NaN}', 400, 'json_invalid'],
    ['two values', '{}{}', 400, 'json_invalid'],
    ['depth 65', deep(65), 400, 'json_too_deep'],
    ['depth 100,000', deep(100_000), 400, 'json_too_deep'],
    ['10,001 members', many, 400, 'json_too_large'],
    ['__proto__', '{"__proto__":{}}', 400, 'key_forbidden'],
    ['__proto__, escaped and within', '{"a":[{"\\u005f_proto__":1}]}', 400, 'key_forbidden'],
    ['constructor', '{"constructor":{"prototype":{}}}', 400, 'key_forbidden'],
    ['a key twice', '{"a":1,"\\u0061":2}', 400, 'json_duplicate_key'],
    ['null', 'null', 400, 'json_not_object'],
    ['[]', '[]', 400, 'json_not_object'],
    ['"x"', '"x"', 400, 'json_not_object'],
    ['1', '1', 400, 'json_not_object'],
    ['a byte order mark', '\ufeff{}', 400, 'json_encoding'],
  ])(
    'of %s → %s %s, on every route that takes one',
    async (_what, text, status, code) => {
      for (const { method, path, takesBody, open } of routes) {
        if (!takesBody || (open && path === '/api/setup')) continue
        // Foreign data has limits of its own, which are far higher; a call's arguments do not count here.
        const generous = (code === 'json_too_deep' || code === 'json_too_large') && /^\/api\/servers/.test(path)
        if (generous && text.length < 50_000) continue
        const answer = await patient(() => admin.request(method, path, text))
        if (text === '' && answer.status !== 400) continue
        expect([path, answer.status, answer.json.code]).toEqual([path, status, code])
      }
      await expectWell(hub)
    },
    30_000,
  )

  test('of another type or encoding → 415, on every route that takes one', async () => {
    const types = {
      'text/plain': 'content_type',
      'application/json; charset=latin1': 'content_type',
      'multipart/form-data; boundary=x': 'content_type',
    }
    for (const { method, path, takesBody } of routes) {
      if (!takesBody || path === '/api/setup') continue
      for (const [type, code] of Object.entries(types)) {
        const answer = await patient(() => admin.request(method, path, '{}', { 'content-type': type }))
        expect([path, answer.status, answer.json.code]).toEqual([path, 415, code])
        expectProblem(answer, { method, path })
      }
    }
    const packed = await admin.request('POST', '/api/servers', '{}', { 'content-encoding': 'gzip' })
    expect([packed.status, packed.json.code]).toEqual([415, 'encoding_not_supported'])
    const merge = await alice.request('PATCH', '/api/settings', '{}', {
      'content-type': 'application/merge-patch+json',
    })
    expect(merge.status).toBe(200)
  }, 30_000)

  test('that is not UTF-8 → 400 json_encoding', async () => {
    const response = await fetch(`${hub.url}/api/groups`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    })
    expect([response.status, (await response.json()).code]).toEqual([400, 'json_encoding'])
  })

  test.each(['announced', 'chunked', 'lying'])(
    'one byte over its limit, %s → 413, and one at it is read',
    async way => {
      const limit = 1024 * 1024
      const text = (bytes: number) => `{"name":"${'n'.repeat(bytes - 11)}"}`
      const headers = [
        `Host: ${new URL(hub.url).host}`,
        `Authorization: Bearer ${alice.token}`,
        'Content-Type: application/json',
      ]
      const post = async (bytes: number): Promise<number> => {
        const body = text(bytes)
        const framed = way === 'chunked' ? `${bytes.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
        const length =
          way === 'chunked'
            ? 'Transfer-Encoding: chunked'
            : `Content-Length: ${way === 'lying' ? bytes + 10 ** 9 : bytes}`
        return (await rawRequest(hub.url, rawText('POST /api/groups HTTP/1.1', [...headers, length], framed))).status
      }
      expect(await post(limit + 1)).toBe(413)
      if (way !== 'lying') expect(await post(limit)).toBe(400)
      await expectWell(hub)
    },
  )
})
