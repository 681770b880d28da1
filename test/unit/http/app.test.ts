import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { z } from 'zod'
import { type ErrorCode, HubError } from '../../../core/contract/errors.ts'
import { acceptsGzip } from '../../../core/http/compress.ts'
import { route } from '../../../core/http/route.ts'
import { until } from '../../support/wait.ts'
import { startHttp, type TestHttp } from './server.ts'

let hub: TestHttp
let ada: string
let bob: string
let streamCancelled = false

const done = { 200: { description: 'Done' } }
const routes = [
  route({
    method: 'POST',
    path: '/api/maybe',
    access: 'user',
    summary: 'With or without',
    tag: 't',
    body: z.object({ a: z.number() }).optional(),
    responses: done,
    handle: () => ({ body: {} }),
  }),
  route({
    method: 'GET',
    path: '/api/open',
    access: 'public',
    summary: 'Open',
    tag: 't',
    responses: done,
    handle: ({ actor }) => ({ body: { actor: actor?.name ?? null } }),
  }),
  route({
    method: 'GET',
    path: '/api/things/fixed',
    access: 'user',
    summary: 'Fixed',
    tag: 't',
    responses: done,
    handle: () => ({ body: { fixed: true } }),
  }),
  route({
    method: 'GET',
    path: '/api/things/{ref}',
    access: 'user',
    summary: 'One',
    tag: 't',
    responses: done,
    handle: ({ params }) => ({ body: { params } }),
  }),
  route({
    method: 'DELETE',
    path: '/api/things/{ref}',
    access: 'user',
    summary: 'Gone',
    tag: 't',
    responses: done,
    handle: () => ({ status: 204 }),
  }),
  route({
    method: 'GET',
    path: '/api/admin/things',
    access: 'admin',
    summary: 'All',
    tag: 't',
    responses: done,
    handle: () => ({ body: {} }),
  }),
  route({
    method: 'POST',
    path: '/api/search',
    access: 'user',
    summary: 'Search',
    tag: 't',
    reads: true,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(1000).default(100),
      sort: z.enum(['name', 'age']).optional(),
      name: z.string().min(2).optional(),
    }),
    body: z.object({
      text: z.string(),
      level: z.enum(['low', 'high']).optional(),
      parts: z
        .array(z.object({ size: z.number().max(5) }))
        .max(2)
        .optional(),
      flag: z.boolean().optional(),
    }),
    responses: done,
    handle: ({ query, body }) => ({ body: { query, text: body.text } }),
  }),
  route({
    method: 'GET',
    path: '/api/large',
    access: 'user',
    summary: 'Large',
    tag: 't',
    responses: done,
    handle: () => ({
      body: { text: 'x'.repeat(5_000) },
      headers: { 'cache-control': 'public, max-age=60', etag: '"3"' },
    }),
  }),
  route({
    method: 'GET',
    path: '/api/small',
    access: 'user',
    summary: 'Small',
    tag: 't',
    responses: done,
    handle: () => ({ body: { text: 'x'.repeat(900) } }),
  }),
  route({
    method: 'GET',
    path: '/api/streamed',
    access: 'user',
    summary: 'Stream',
    tag: 't',
    responses: done,
    handle: () =>
      new Response(
        new ReadableStream({
          start: controller => controller.enqueue(new TextEncoder().encode(`: ${'x'.repeat(2_000)}\n\n`)),
          cancel: () => {
            streamCancelled = true
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  }),
  route({
    method: 'GET',
    path: '/api/broken',
    access: 'user',
    summary: 'Broken',
    tag: 't',
    responses: done,
    handle: () => {
      throw new Error('the secret is hunter2')
    },
  }),
  route({
    method: 'GET',
    path: '/api/refuses',
    access: 'user',
    summary: 'Refuses',
    tag: 't',
    responses: done,
    handle: () => {
      throw new HubError('server_ambiguous' as ErrorCode, 'Two', {
        hint: 'Choose.',
        data: { candidates: ['a~x', 'b~x'], status: 1 },
      })
    },
  }),
]

beforeAll(async () => {
  hub = await startHttp({ routes, config: { requestLogs: true } })
  await hub.person('bob')
  ada = await hub.tokenOf('ada')
  bob = await hub.tokenOf('bob')
}, 120_000)
afterAll(() => hub[Symbol.asyncDispose](), 120_000)

const code = async (response: Response) => [response.status, (await response.json()).code]

describe('what is open', () => {
  test('a path that nobody declared is 401 without a credential and 404 with one, as problem+json', async () => {
    const closed = await hub.get('/api/nothing')
    expect(closed.headers.get('www-authenticate')).toBe('Bearer realm="patchbay"')
    expect(await code(closed)).toEqual([401, 'unauthenticated'])
    const open = await hub.get('/api/nothing', bob)
    expect(open.headers.get('content-type')).toBe('application/problem+json')
    expect(await open.json()).toMatchObject({
      type: '/errors/route_not_found',
      status: 404,
      code: 'route_not_found',
      instance: '/api/nothing',
      requestId: open.headers.get('x-request-id'),
    })
    expect(await code(await hub.get('/elsewhere'))).toEqual([404, 'route_not_found'])
  })

  test.each(['/API/things/fixed', '/api/things/fixed/', '/api', '/api/', '/Api/admin/things', '/api/things'])(
    '%s never leads to a weaker rule',
    async path => {
      expect(await code(await hub.get(path))).toEqual([401, 'unauthenticated'])
      expect(await code(await hub.get(path, bob))).toEqual([404, 'route_not_found'])
    },
  )

  test('another method is 405 with Allow, after the credential', async () => {
    expect(await code(await hub.get('/api/things/x', undefined, { method: 'PUT' }))).toEqual([401, 'unauthenticated'])
    for (const method of ['PUT', 'OPTIONS', 'PATCH']) {
      const response = await hub.get('/api/things/x', bob, { method })
      expect(response.headers.get('allow')).toBe('DELETE, GET, HEAD')
      expect(await code(response)).toEqual([405, 'method_not_allowed'])
    }
  })

  test('an administrator’s route is 403 for others, before anything else is looked at', async () => {
    expect(await code(await hub.get('/api/admin/things?x=1', bob))).toEqual([403, 'admin_only'])
    expect((await hub.get('/api/admin/things', ada)).status).toBe(200)
  })

  test('a public route knows who asks, and does not mind a credential that has ended', async () => {
    expect(await (await hub.get('/api/open')).json()).toEqual({ actor: null })
    expect(await (await hub.get('/api/open', bob)).json()).toEqual({ actor: 'bob' })
    expect(await (await hub.get('/api/open', 'no-token')).json()).toEqual({ actor: null })
  })

  test('a key with api:read reads, also by a POST that only reads', async () => {
    const { secret } = await hub.key('bob', ['api:read'])
    expect((await hub.get('/api/things/x', secret)).status).toBe(200)
    expect((await hub.send('POST', '/api/search', { text: 'a' }, secret)).status).toBe(200)
    expect(await code(await hub.get('/api/things/x', secret, { method: 'DELETE' }))).toEqual([
      403,
      'insufficient_scope',
    ])
  })

  test('a parameter is one decoded segment, and a fixed path stands before it', async () => {
    expect(await (await hub.get('/api/things/ada~my%20thing', bob)).json()).toEqual({ params: { ref: 'ada~my thing' } })
    expect(await (await hub.get('/api/things/fixed', bob)).json()).toEqual({ fixed: true })
    expect(await code(await hub.get('/api/things/a%2Fb', bob))).toEqual([400, 'path_invalid'])
  })
})

describe('fields', () => {
  const errorsOf = async (query: string, body: unknown) => {
    const response = await hub.send('POST', `/api/search${query}`, body, bob)
    const { code: problem, errors } = (await response.json()) as {
      code: string
      errors: { pointer: string; code: string }[]
    }
    return [response.status, problem, errors.map(error => `${error.pointer} ${error.code}`).sort()]
  }

  test('all wrong fields are reported at once, with pointers into query and body', async () => {
    const body = { level: 'loud', parts: [{ size: 9 }, { size: '1' }], flag: 'yes', txet: 'a' }
    expect(await errorsOf('?limit=0&sort=up&name=a&limti=5', body)).toEqual([
      400,
      'validation_failed',
      [
        '#/flag type',
        '#/level enum',
        '#/parts/0/size range',
        '#/parts/1/size type',
        '#/text required',
        '#/txet unknown_field',
        '?limit range',
        '?limti unknown_field',
        '?name length',
        '?sort enum',
      ],
    ])
  })

  test('an unknown field comes with the name that was meant', async () => {
    const response = await hub.send('POST', '/api/search', { text: 'a', flags: true }, bob)
    expect((await response.json()).errors[0].detail).toContain('did you mean "flag"')
  })

  test.each([
    ['?limit=abc', '?limit type'],
    ['?limit=1e9', '?limit range'],
    ['?limit=1&limit=2', '?limit duplicate'],
    ['?__proto__=1', '?__proto__ unknown_field'],
  ])('the query %s is %s', async (query, error) => {
    expect(await errorsOf(query, { text: 'a' })).toEqual([400, 'validation_failed', [error]])
  })

  test('a route without a query takes no parameter', async () => {
    const response = await hub.get('/api/small?x=1', bob)
    expect((await response.json()).errors).toMatchObject([{ pointer: '?x', code: 'unknown_field' }])
  })

  test('a body that may be left out may be, and takes no unknown field either', async () => {
    expect((await hub.get('/api/maybe', bob, { method: 'POST' })).status).toBe(200)
    expect((await hub.send('POST', '/api/maybe', { a: 1 }, bob)).status).toBe(200)
    const response = await hub.send('POST', '/api/maybe', { a: 1, b: 1 }, bob)
    expect((await response.json()).errors).toMatchObject([{ pointer: '#/b', code: 'unknown_field' }])
    expect(await code(await hub.get('/api/search', bob, { method: 'POST' }))).toEqual([400, 'json_empty'])
  })

  test('defaults are filled in', async () => {
    expect(await (await hub.send('POST', '/api/search', { text: 'a' }, bob)).json()).toEqual({
      query: { limit: 100 },
      text: 'a',
    })
  })
})

describe('answers', () => {
  test('every answer names its request and forbids what it does not need', async () => {
    for (const path of ['/api/open', '/api/nothing', '/elsewhere', '//x', '/api/broken']) {
      const { headers } = await hub.get(path, bob)
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{16}$/)
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('content-security-policy')).toStartWith("default-src 'none'")
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  test('a route’s own Cache-Control stays', async () => {
    expect((await hub.get('/api/large', bob)).headers.get('cache-control')).toBe('public, max-age=60')
  })

  test('HEAD answers like GET without a body, and leaves no stream running', async () => {
    const response = await hub.get('/api/large', bob, { method: 'HEAD' })
    expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([200, '"3"', ''])
    await hub.get('/api/streamed', bob, { method: 'HEAD' })
    expect(streamCancelled).toBe(true)
  })

  test('a fault of the hub tells the id alone, and the log the rest', async () => {
    const response = await hub.get('/api/broken', bob)
    const body = await response.json()
    expect([response.status, body.code, JSON.stringify(body).includes('hunter2')]).toEqual([500, 'internal', false])
    const line = hub.logged.find(each => each.fields?.requestId === body.requestId && each.fields?.error !== undefined)
    expect(String(line?.fields?.error)).toContain('hunter2')
  })

  test('a refusal carries hint and data, which cannot replace its own members', async () => {
    expect(await (await hub.get('/api/refuses', bob)).json()).toMatchObject({
      status: 409,
      code: 'server_ambiguous',
      hint: 'Choose.',
      candidates: ['a~x', 'b~x'],
    })
  })

  test('each request leaves one log line when that is wanted', async () => {
    const id = (await hub.get('/api/small', bob)).headers.get('x-request-id')
    const lines = hub.logged.filter(each => each.message === 'request' && each.fields?.requestId === id)
    expect(lines.map(line => line.fields)).toMatchObject([{ method: 'GET', path: '/api/small', status: '200' }])
  })
})

describe('compression', () => {
  const encoded = async (path: string, accept: string | null) => {
    const headers: Record<string, string> =
      accept === null ? { 'accept-encoding': 'identity' } : { 'accept-encoding': accept }
    const response = await hub.get(path, bob, { headers, decompress: false } as RequestInit)
    return { response, encoding: response.headers.get('content-encoding'), vary: response.headers.get('vary') }
  }

  test('1,024 bytes and more are compressed when asked for, and say that they vary', async () => {
    const { response, encoding, vary } = await encoded('/api/large', 'gzip')
    expect([encoding, vary]).toEqual(['gzip', 'Accept-Encoding'])
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect(Number(response.headers.get('content-length'))).toBe(bytes.byteLength)
    expect(JSON.parse(new TextDecoder().decode(Bun.gunzipSync(bytes))).text).toHaveLength(5_000)
    expect(await encoded('/api/large', null)).toMatchObject({ encoding: null, vary: 'Accept-Encoding' })
  })

  test('small answers and streams stay as they are', async () => {
    expect((await encoded('/api/small', 'gzip')).encoding).toBeNull()
    const { response, encoding } = await encoded('/api/streamed', 'gzip')
    expect(encoding).toBeNull()
    await response.body?.cancel()
  })

  test.each([
    ['gzip', true],
    ['br, gzip;q=0.5', true],
    ['*', true],
    ['GZIP', true],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['*;q=0', false],
    ['br', false],
    ['', false],
    [null, false],
  ])('acceptsGzip(%p) is %p', (header, expected) => {
    expect(acceptsGzip(header)).toBe(expected)
  })
})

test('the 101st request of a burst is 429 with Retry-After, and others are served', async () => {
  await hub.person('carol')
  const carol = await hub.tokenOf('carol')
  const burst = async () => {
    const answers = await Promise.all(Array.from({ length: 130 }, () => hub.get('/api/small', carol)))
    return answers.filter(answer => answer.status === 429)
  }
  const first = await burst()
  expect(first.length).toBeLessThanOrEqual(30)
  // Again where the machine is so slow that the bucket fills meanwhile.
  const refused = await until(async () => [...first, ...(first.length > 0 ? [] : await burst())][0])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect((await hub.get('/api/small', bob)).status).toBe(200)
})

describe('the API’s description', () => {
  test('openapi.json lists every route with its access, parameters, body and examples', async () => {
    const document = await (await hub.get('/api/openapi.json')).json()
    expect(document.openapi).toBe('3.1.0')
    expect(document.components.securitySchemes.bearer.scheme).toBe('bearer')
    for (const { method, path, access } of hub.http.routes) {
      const operation = document.paths[path]?.[method.toLowerCase()]
      expect([path, operation?.['x-access']]).toEqual([path, access])
      expect(operation.security).toEqual(access === 'public' ? [] : [{ bearer: [] }])
    }
    const search = document.paths['/api/search'].post
    expect(search.parameters.map((each: { name: string; in: string }) => `${each.in} ${each.name}`)).toEqual([
      'query limit',
      'query sort',
      'query name',
    ])
    expect(search.requestBody.content['application/json'].schema.required).toEqual(['text'])
    expect(document.paths['/api/things/{ref}'].get.parameters).toMatchObject([
      { name: 'ref', in: 'path', required: true },
    ])
  })

  test('every example is what its schema says', () => {
    for (const { method, path, responses, body } of hub.http.routes) {
      for (const { schema, example } of Object.values(responses)) {
        if (!schema || example === undefined) continue
        expect([method, path, schema.safeParse(example).error?.issues]).toEqual([method, path, undefined])
      }
      const shape = body as unknown as z.ZodType | undefined
      for (const example of (shape?.meta()?.examples ?? []) as unknown[]) {
        expect([method, path, shape?.safeParse(example).error?.issues]).toEqual([method, path, undefined])
      }
    }
  })

  test('/api/docs is a page without scripts that its own policy lets be seen', async () => {
    const response = await hub.get('/api/docs')
    const html = await response.text()
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(html).not.toContain('<script')
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
    const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64')
    expect(response.headers.get('content-security-policy')).toContain(`style-src 'sha256-${hash}'`)
    expect(html).toContain('/api/auth/login')
  })
})
