import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { extent } from '../support/extent.ts'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { type KeptState, keptState } from '../support/kept-state.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'
import { until } from '../support/wait.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { JSON_TYPE, RAW } from './raw-rows.ts'
import { expectProblem, expectWell, patient } from './rows.ts'

let hub: Hub
let admin: Client
let alice: Client
let routes: readonly DocumentedRoute[]

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  alice = await hub.user('alice')
  routes = await documentedRoutes(admin)
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

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
  ])('of %s → 404 route_not_found as JSON', async target => {
    const answer = await get(target)
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([404, 'route_not_found'])
  })

  test('of / and of the page about the API gives browsers pages that run nothing foreign', async () => {
    const browser = await rawRequest(hub.url, rawText('GET / HTTP/1.1', [...head(), 'Accept: text/html,*/*;q=0.8']))
    // The status is 503 where the console is not built.
    expect([200, 503]).toContain(browser.status)
    expect(browser.text.toLowerCase()).toContain("content-security-policy: default-src 'none'; script-src 'self'")
    const page = await send(hub.url, 'GET', '/api/docs')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const wanted of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"])
      expect(page.headers.get('content-security-policy')).toContain(wanted)
  })

  test('by a wrong method → 405 with Allow, on every path', async () => {
    const paths = Map.groupBy(routes, ({ path }) => path)
    for (const [path, here] of paths) {
      const method = ['PUT', 'DELETE', 'PATCH', 'POST'].find(each => !here.some(route => route.method === each))
      // With another method, `/api/servers/batch` would be read as `/api/servers/thing`.
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
  }, 120_000)

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

describe.each(Object.entries(RAW))('%s', (_about, rows) => {
  let before: KeptState | undefined
  const settle = async () => {
    expect(keptState(hub)).toEqual(before as KeptState)
    await expectWell(hub)
  }

  test.each(rows.map(row => [`${row.what} → ${row.status} ${row.code ?? ''}`.trim(), row] as const))(
    '%s',
    async (_title, { line, more = [], head, body, status, code }) => {
      before ??= keptState(hub)
      const usual = [`Host: ${new URL(hub.url).host}`, 'Connection: close', `Authorization: Bearer ${alice.token}`]
      const answer = await rawRequest(hub.url, rawText(line, head ?? [...usual, ...more], body))
      const shown = code === undefined ? undefined : JSON.parse(answer.body).code
      expect({ status: answer.status, code: shown }).toEqual({ status, code })
      expect(answer.text).not.toContain(alice.token)
      if (extent(false, true)) await settle()
    },
  )

  test('none of them has changed stored data', settle)
})

test('a request that waits for 100 Continue gets it, and its answer', async () => {
  const head = [
    `Host: ${new URL(hub.url).host}`,
    'Connection: close',
    `Authorization: Bearer ${alice.token}`,
    JSON_TYPE,
  ]
  const text = rawText('POST /api/groups HTTP/1.1', [...head, 'Expect: 100-continue', 'Content-Length: 2'], '{}')
  const answer = await rawRequest(hub.url, text)
  expect(answer.text).toStartWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 ')
})

test('pipelined requests are each checked by their own head, in order', async () => {
  const host = `Host: ${new URL(hub.url).host}`
  const bearer = `Authorization: Bearer ${alice.token}`
  const more = `GET /api/auth/me HTTP/1.1\r\n${host}\r\n\r\nGET /api/auth/me HTTP/1.1\r\n${host}\r\nConnection: close\r\n${bearer}\r\n\r\n`
  const seen: string[][] = []
  // Under load Bun may close the connection behind the first answer. A client sends the other requests again.
  await until(
    async () => {
      const text = rawText('GET /api/auth/me HTTP/1.1', [host, bearer], more)
      const answer = await rawRequest(hub.url, text, { quietMs: 2_000 })
      const statuses = [...answer.text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status)
      seen.push(statuses)
      return statuses.length >= 3
    },
    { intervalMs: 200, what: 'the three answers' },
  )
  for (const statuses of seen) expect(statuses).toEqual(['200', '401', '200'].slice(0, statuses.length))
  expect(seen.at(-1)).toHaveLength(3)
})

describe('a body', () => {
  const deep = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const many = `{"a":[${'1,'.repeat(10_000)}1]}`
  /**
   * One route for each limit: for most bodies, for foreign data as a part and as the whole, for small bodies, and without a
   * sign-in.
   */
  const KINDS_OF_ROUTES = [
    ...['POST /api/groups', 'PATCH /api/servers/thing', 'POST /api/groups/thing/tools/thing'],
    ...['POST /api/monitoring/rules', 'POST /api/auth/login'],
  ]

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
        if (extent(text !== '{' && !KINDS_OF_ROUTES.includes(`${method} ${path}`), false)) continue
        // Foreign data has limits of its own, which are far higher; a call's arguments do not count here.
        const generous = (code === 'json_too_deep' || code === 'json_too_large') && /^\/api\/servers/.test(path)
        if (generous && text.length < 50_000) continue
        // The whole body is foreign data there.
        const isForeign = path.includes('/api/groups/') && path.includes('/tools/')
        if (isForeign && (code === 'json_too_deep' || code === 'key_forbidden') && text.length < 50_000) continue
        const answer = await patient(() => admin.request(method, path, text))
        if (text === '' && answer.status !== 400) continue
        // Bodies without a sign-in have a much lower limit, and so have alert rules of everybody.
        const limit = open
          ? LIMITS.publicBodyBytes
          : /^\/api\/(?:monitoring\/(?:rules|channels|dashboards)|assistant)/.test(path)
            ? 64 * 1024
            : LIMITS.bodyBytes
        const tooLarge = text.length > limit
        const wanted = tooLarge ? [413, 'body_too_large'] : [status, code]
        expect([path, answer.status, answer.json.code]).toEqual([path, ...wanted])
      }
      await expectWell(hub)
    },
    120_000,
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
    const packed = await patient(() => admin.request('POST', '/api/servers', '{}', { 'content-encoding': 'gzip' }))
    expect([packed.status, packed.json.code]).toEqual([415, 'encoding_not_supported'])
    const merge = await alice.request('PATCH', '/api/settings', '{}', {
      'content-type': 'application/merge-patch+json',
    })
    expect(merge.status).toBe(200)
  }, 120_000)

  test('that is not UTF-8 → 400 json_encoding', async () => {
    const response = await fetch(`${hub.url}/api/groups`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    })
    expect([response.status, (await response.json()).code]).toEqual([400, 'json_encoding'])
  })

  test.each(['announced', 'chunked', 'lying'])(
    'one byte over its limit, %s → 413, and one at it is read [CVE-2026-39313]',
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
