import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject, JsonValue } from 'patchbay/contract'
import { type Api, failure, inline, openLink, operation, startApi } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
}, 120_000)
afterAll(async () => {
  await api[Symbol.asyncDispose]()
})

const LIST = ['blue', 'black']
const OBJECT = { R: 100, G: 200 }

async function target(place: JsonObject, value: JsonValue, path = '/x'): Promise<string> {
  const schema = operation(path, [{ name: 'color', schema: {}, ...place }])
  await using open = await openLink(inline(schema, `${api.url}/v1`))
  await open.call('op', { color: value })
  return api.last().target
}

describe('parameters', () => {
  // The table of OpenAPI 3.1, "Style Examples", with delimiters encoded where RFC 3986 reserves them.
  test.each<[style: string, explode: boolean | undefined, value: JsonValue, written: string]>([
    ['simple', false, 'blue', 'blue'],
    ['simple', undefined, LIST, 'blue,black'],
    ['simple', true, LIST, 'blue,black'],
    ['simple', false, OBJECT, 'R,100,G,200'],
    ['simple', true, OBJECT, 'R=100,G=200'],
    ['label', false, 'blue', '.blue'],
    ['label', false, LIST, '.blue,black'],
    ['label', true, LIST, '.blue.black'],
    ['label', false, OBJECT, '.R,100,G,200'],
    ['label', true, OBJECT, '.R=100.G=200'],
    ['matrix', false, 'blue', ';color=blue'],
    ['matrix', false, LIST, ';color=blue,black'],
    ['matrix', true, LIST, ';color=blue;color=black'],
    ['matrix', false, OBJECT, ';color=R,100,G,200'],
    ['matrix', true, OBJECT, ';R=100;G=200'],
  ])('path, style %s, explode %p: %j is written %s', async (style, explode, value, written) => {
    const place = { in: 'path', required: true, style, ...(explode === undefined ? {} : { explode }) }
    expect(await target(place, value, '/a/{color}/b')).toBe(`/v1/a/${written}/b`)
  })

  test.each<[style: string, explode: boolean | undefined, value: JsonValue, written: string]>([
    ['form', undefined, 'blue', '?color=blue'],
    ['form', undefined, '', '?color='],
    ['form', undefined, LIST, '?color=blue&color=black'],
    ['form', false, LIST, '?color=blue,black'],
    ['form', undefined, OBJECT, '?R=100&G=200'],
    ['form', false, OBJECT, '?color=R,100,G,200'],
    ['form', undefined, null, ''],
    ['form', undefined, [], ''],
    ['form', undefined, true, '?color=true'],
    ['spaceDelimited', false, LIST, '?color=blue%20black'],
    ['pipeDelimited', false, LIST, '?color=blue%7Cblack'],
    ['spaceDelimited', true, LIST, '?color=blue&color=black'],
    ['deepObject', true, OBJECT, '?color%5BR%5D=100&color%5BG%5D=200'],
    ['deepObject', true, { a: { b: [1, 2] } }, '?color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2'],
  ])('query, style %s, explode %p: %j is written %s', async (style, explode, value, written) => {
    const place = { in: 'query', style, ...(explode === undefined ? {} : { explode }) }
    expect(await target(place, value)).toBe(`/v1/x${written}`)
  })

  test('a value of a query stays one value, whatever is in it', async () => {
    expect(await target({ in: 'query' }, 'a&admin=1#x=é +/?')).toBe(
      '/v1/x?color=a%26admin%3D1%23x%3D%C3%A9%20%2B%2F%3F',
    )
  })

  test('allowReserved leaves reserved characters, but for those that would end the value', async () => {
    expect(await target({ in: 'query', allowReserved: true }, 'a/b?c:d=e&f#g+h')).toBe(
      '/v1/x?color=a/b?c:d=e%26f%23g%2Bh',
    )
  })

  test('a parameter with content is JSON', async () => {
    const place = { in: 'query', schema: null, content: { 'application/json': { schema: {} } } }
    expect(decodeURIComponent(await target(place, { a: [1, { b: null }] }))).toBe('/v1/x?color={"a":[1,{"b":null}]}')
  })

  test('whole numbers beyond 2⁵³ are sent as they were written, in path, query and body', async () => {
    const schema = operation(
      '/a/{id}',
      [
        { name: 'id', in: 'path' },
        { name: 'q', in: 'query' },
      ],
      { requestBody: { content: { 'application/json': { schema: {} } } } },
      'post',
    )
    await using open = await openLink(inline(schema, api.url))
    await open.callText(
      'op',
      '{"id":12345678901234567891,"q":[98765432109876543210],"body":{"n":11111111111111111111}}',
    )
    expect(api.last().target).toBe('/a/12345678901234567891?q=98765432109876543210')
    expect(api.last().body.toString()).toBe('{"n":11111111111111111111}')
  })

  test('headers and cookies are written, the latter in one header', async () => {
    const schema = operation('/x', [
      { name: 'X-List', in: 'header', schema: {} },
      { name: 'X-Object', in: 'header', explode: true, schema: {} },
      { name: 'session', in: 'cookie', schema: {} },
      { name: 'many', in: 'cookie', schema: {} },
    ])
    await using open = await openLink(inline(schema, api.url))
    await open.call('op', { 'X-List': [1, 2], 'X-Object': { a: 1, b: 2 }, session: 'a;b c', many: ['x', 'y'] })
    expect(api.last().headers).toMatchObject({
      'x-list': '1,2',
      'x-object': 'a=1,b=2',
      cookie: 'session=a%3Bb%20c; many=x; many=y',
    })
  })

  test('the operation’s own parameter wins over its path’s, and equal names in two places are both kept', async () => {
    const schema: JsonObject = {
      ...operation('/a/{id}', []),
      paths: {
        '/a/{id}': {
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'page', in: 'query', style: 'form', explode: false, schema: {} },
          ],
          post: {
            operationId: 'op',
            parameters: [
              { name: 'page', in: 'query', explode: true, schema: {} },
              { name: 'id', in: 'query', schema: {} },
              { name: 'body', in: 'query', schema: {} },
              { name: 'filter[name]', in: 'query', schema: {} },
            ],
            requestBody: { content: { 'application/json': { schema: {} } } },
            responses: {},
          },
        },
      },
    }
    await using open = await openLink(inline(schema, api.url))
    expect(Object.keys((open.tool('op').inputSchema as { properties: JsonObject }).properties)).toEqual([
      'id_path',
      'page',
      'id_query',
      'body_query',
      'filter_name_',
      'body',
    ])
    await open.call('op', { id_path: 1, page: [1, 2], id_query: 3, body_query: 'b', 'filter[name]': 'n', body: {} })
    expect(api.last().target).toBe('/a/1?page=1&page=2&id=3&body=b&filter%5Bname%5D=n')
    expect((await failure(open.call('op', { id_path: 1, id: 2 }))).code).toBe('params_invalid')
  })
})

describe('arguments without a place', () => {
  const traversals: JsonValue[] = [
    '',
    '.',
    '..',
    '../../admin?x=#',
    '..\\..\\admin',
    'a/../b',
    'a/..',
    './a',
    '..;/admin',
    '..;x=1',
    '%2e%2e',
    '%2e%2e%2fadmin',
    '%252e%252e',
    '.%2e/x',
    'a%2f..%2fb',
    'a\0b',
    'a\r\nb',
    ['..'],
    ['a', ''],
    [],
    {},
    { a: '..' },
    { '..': 'a' },
  ]
  for (const style of ['simple', 'label', 'matrix']) {
    test.each(traversals.map(value => [value]))(
      `path, style ${style}: %j is refused and nothing is sent [CVE-2026-29791 CVE-2026-32871]`,
      async value => {
        const schema = operation('/users/{id}/posts', [{ name: 'id', in: 'path', required: true, style, schema: {} }])
        await using open = await openLink(inline(schema, `${api.url}/v1`))
        const before = api.seen.length
        expect((await failure(open.call('op', { id: value }))).code).toBe('params_invalid')
        expect(api.seen.length).toBe(before)
      },
    )
  }

  test('a value that looks dangerous and is not stays one segment', async () => {
    const schema = operation('/users/{id}/posts', [{ name: 'id', in: 'path', schema: {} }])
    await using open = await openLink(inline(schema, `${api.url}/v1`))
    for (const value of [
      'a/b',
      'a?x=1#y',
      '...',
      '..a',
      'a..',
      'feature/x',
      '%',
      'http://evil.example/',
      '@evil',
      '~',
      ';a',
      '日本',
    ]) {
      await open.call('op', { id: value })
      const segments = api.last().target.split('/')
      expect(segments).toHaveLength(5)
      expect(decodeURIComponent(segments[3] ?? '')).toBe(value)
    }
  })

  test.each<[what: string, parameters: JsonObject[], args: JsonObject]>([
    ['an unknown argument', [], { other: 1 }],
    ['a missing one', [{ name: 'q', in: 'query', required: true, schema: {} }], {}],
    ['a list in a list', [{ name: 'q', in: 'query', schema: {} }], { q: [[1]] }],
    ['an object in a form', [{ name: 'q', in: 'query', schema: {} }], { q: { a: { b: 1 } } }],
    ['a line end in a header', [{ name: 'X-A', in: 'header', schema: {} }], { 'X-A': 'a\r\nevil: 1' }],
    ['a NUL in a header', [{ name: 'X-A', in: 'header', schema: {} }], { 'X-A': 'a\0' }],
    ['no ASCII in a header', [{ name: 'X-A', in: 'header', schema: {} }], { 'X-A': 'é' }],
    ['Accept', [{ name: 'Accept', in: 'header', schema: {} }], { Accept: 'text/html' }],
    ['Authorization', [{ name: 'authorization', in: 'header', schema: {} }], { authorization: 'Bearer x' }],
    ['Host', [{ name: 'Host', in: 'header', schema: {} }], { Host: 'evil.example' }],
    ['Cookie', [{ name: 'Cookie', in: 'header', schema: {} }], { Cookie: 'a=b' }],
  ])('%s is params_invalid, and nothing is sent', async (_, parameters, args) => {
    await using open = await openLink({ ...inline(operation('/x', parameters), api.url), extraArguments: 'refuse' })
    const before = api.seen.length
    expect((await failure(open.call('op', args))).code).toBe('params_invalid')
    expect(api.seen.length).toBe(before)
  })

  test.each(['Accept', 'authorization', 'Host', 'Cookie', 'x-other'])(
    'the header %s of a caller is dropped where unknown arguments are',
    async name => {
      const parameters = [{ name: name === 'x-other' ? 'x-own' : name, in: 'header', schema: {} }]
      await using open = await openLink(inline(operation('/x', parameters), api.url))
      await open.call('op', { [name]: 'evil' })
      expect(JSON.stringify([api.last().target, api.last().headers])).not.toContain('evil')
    },
  )

  test.each(['/a/../{id}', '/a/%2e%2e/{id}', '/./{id}'])(
    'a path of the document that leads elsewhere (%s) is never asked',
    async path => {
      await using open = await openLink(inline(operation(path, []), `${api.url}/v1`))
      const before = api.seen.length
      expect((await failure(open.call('op', { id: 'x' }))).code).toBe('params_invalid')
      expect(api.seen.length).toBe(before)
    },
  )

  test('a tool that does not exist is tool_not_found', async () => {
    await using open = await openLink(inline(operation('/x', []), api.url))
    expect((await failure(open.call('constructor'))).code).toBe('tool_not_found')
  })
})

describe('bodies', () => {
  async function send(content: JsonObject, body: JsonValue, required = true): Promise<void> {
    const schema = operation('/x', [], { requestBody: { required, content } }, 'post')
    await using open = await openLink(inline(schema, api.url))
    await open.call('op', { body })
  }

  test('JSON, also of a type of its own', async () => {
    await send({ 'text/plain': {}, 'application/vnd.acme+json': { schema: {} } }, { a: [1, 'é'] })
    expect(api.last().headers['content-type']).toBe('application/vnd.acme+json')
    expect(JSON.parse(api.last().body.toString())).toEqual({ a: [1, 'é'] })
  })

  test('a form, with the styles of its entries', async () => {
    const media = {
      schema: { type: 'object', properties: {} },
      encoding: { csv: { style: 'form', explode: false }, deep: { style: 'deepObject', explode: true } },
    }
    await send(
      { 'application/x-www-form-urlencoded': media },
      { a: 'x&y=z', list: [1, 2], csv: ['a', 'b'], deep: { k: 'v' }, object: { k: 1 }, nothing: null },
    )
    expect(api.last().headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect([...new URLSearchParams(api.last().body.toString())]).toEqual([
      ['a', 'x&y=z'],
      ['list', '1'],
      ['list', '2'],
      ['csv', 'a,b'],
      ['deep[k]', 'v'],
      ['object', '{"k":1}'],
    ])
  })

  test('multipart, with files from base64 and JSON for objects', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45, 128])
    const media = {
      schema: {
        type: 'object',
        properties: {
          file: { type: 'string', format: 'binary' },
          files: { type: 'array', items: { type: 'string', format: 'binary' } },
          note: { type: 'string' },
        },
      },
      encoding: { file: { contentType: 'image/png, image/jpeg' } },
    }
    const body = {
      file: bytes.toString('base64'),
      files: [bytes.toString('base64url'), `data:image/png;base64,${bytes.toString('base64')}`],
      note: 'a\r\nb',
      'od"d\r\nname': 'x',
      object: { a: 1 },
    }
    await send({ 'multipart/form-data': media }, body)
    const { headers, body: sent } = api.last()
    const form = await new Response(Uint8Array.from(sent), {
      headers: { 'content-type': headers['content-type'] ?? '' },
    }).formData()
    const file = form.get('file') as File
    expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true)
    expect(sent.toString('latin1')).toContain('name="file"; filename="file"\r\nContent-Type: image/png\r\n')
    const files = await Promise.all(
      form.getAll('files').map(async one => Buffer.from(await (one as File).arrayBuffer())),
    )
    expect(files.map(one => one.equals(bytes))).toEqual([true, true])
    expect(form.get('note')).toBe('a\r\nb')
    expect(sent.toString('latin1')).toContain('name="od%22d%0D%0Aname"')
    expect(sent.toString('latin1')).toContain('Content-Type: application/json\r\n\r\n{"a":1}')
  })

  test('text as it is, and bytes from base64', async () => {
    await send({ 'text/plain': {} }, 'héllo')
    expect([api.last().headers['content-type'], api.last().body.toString()]).toEqual(['text/plain', 'héllo'])
    const bytes = Buffer.from([0, 1, 254, 255])
    await send({ 'application/octet-stream': {} }, bytes.toString('base64'))
    expect(api.last().headers['content-type']).toBe('application/octet-stream')
    expect(api.last().body.equals(bytes)).toBe(true)
  })

  test('an optional body may be absent, and then no content type is sent', async () => {
    const content = { 'application/json': { schema: {} } }
    const schema = operation('/x', [], { requestBody: { content } }, 'post')
    await using open = await openLink(inline(schema, api.url))
    await open.call('op')
    expect(api.last().headers['content-type']).toBeUndefined()
    expect(api.last().body).toHaveLength(0)
  })

  test.each<[string, JsonObject, JsonValue]>([
    ['no base64', { 'application/octet-stream': {} }, 'é'],
    ['no object for a form', { 'multipart/form-data': {} }, 'x'],
    ['an object for a text', { 'text/plain': {} }, { a: 1 }],
  ])('%s is params_invalid, and nothing is sent', async (_, content, body) => {
    const before = api.seen.length
    expect((await failure(send(content, body))).code).toBe('params_invalid')
    expect(api.seen.length).toBe(before)
  })

  test('a required body that is missing is params_invalid', async () => {
    const requestBody = { required: true, content: { 'application/json': { schema: {} } } }
    await using open = await openLink(inline(operation('/x', [], { requestBody }, 'post'), api.url))
    expect((await failure(open.call('op'))).code).toBe('params_invalid')
  })
})

describe('addresses', () => {
  const at = async (schema: JsonObject, more: JsonObject = {}): Promise<string> => {
    await using open = await openLink({ openapi: { schema, ...more } })
    await open.call('op')
    return api.last().target
  }

  test('the document’s first server counts, with its variables filled in', async () => {
    const servers = [
      {
        url: '{address}/{version}/',
        variables: { address: { default: api.url }, version: { default: 'v2', enum: ['v1', 'v2'] } },
      },
    ]
    expect(await at({ ...operation('/x', []), servers })).toBe('/v2/x')
  })

  test('a server of the operation or its path wins over the document’s, and baseUrl over all', async () => {
    const schema = operation('/x', [], { servers: [{ url: `${api.url}/own` }] })
    expect(await at({ ...schema, servers: [{ url: `${api.url}/all` }] })).toBe('/own/x')
    expect(await at({ ...schema, servers: [{ url: `${api.url}/all` }] }, { baseUrl: `${api.url}/base/` })).toBe(
      '/base/x',
    )
  })

  test('an address may be relative to where the document was read', async () => {
    await using files = await startApi(({ target: asked }) =>
      asked === '/docs/openapi.json'
        ? Response.json({ ...operation('/x', []), servers: [{ url: '../api' }] })
        : Response.json({ ok: asked }),
    )
    await using open = await openLink({ openapi: { url: `${files.url}/docs/openapi.json` } })
    await open.call('op')
    expect(files.last().target).toBe('/api/x')
  })

  test('a path with a query of its own keeps it', async () => {
    expect(
      await at({ ...operation('/x?action=list', [{ name: 'q', in: 'query', schema: {} }]) }, { baseUrl: api.url }),
    ).toBe('/x?action=list')
  })

  test('an address with a user name says that this is what is wrong with it, and not the password', async () => {
    const error = await failure(openLink(inline(operation('/x', []), 'http://ada:s3cret@127.0.0.1:1/v1')))
    expect(error.code).toBe('config_invalid')
    expect(error.message).toContain('a user name or a password')
    expect(error.message).not.toMatch(/ada|s3cret/)
  })

  test('an address that is no http address is config_invalid', async () => {
    for (const url of ['ftp://a.example/', 'file:///etc/passwd', 'http://user:pw@a.example/']) {
      const opening = openLink({ openapi: { schema: { ...operation('/x', []), servers: [{ url }] } } })
      expect((await failure(opening)).code).toBe('config_invalid')
    }
  })
})
