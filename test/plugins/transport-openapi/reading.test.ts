import { describe, expect, test } from 'bun:test'
import type { JsonObject } from 'patchbay/contract'
import { document, failure, inline, openLink, operation, startApi } from './harness.ts'

const BASE = 'http://127.0.0.1:9/'
const at = (schema: JsonObject | string): Promise<unknown> =>
  openLink(inline(schema, BASE)).then(open => open.link.close())
const nested = (depth: number): JsonObject => {
  let value: JsonObject = {}
  for (let level = 1; level < depth; level += 1) value = { a: value }
  return value
}

describe('documents', () => {
  test.each<[string, JsonObject | string, string]>([
    ['version 3.3', { ...document({}), openapi: '3.3.0' }, 'openapi_unsupported'],
    ['version 1.2', { swagger: '1.2', paths: {} }, 'openapi_unsupported'],
    ['version 30', { ...document({}), openapi: '30.0' }, 'openapi_unsupported'],
    ['no version', { paths: {} }, 'openapi_unsupported'],
    ['a page of HTML', '<!doctype html><html></html>', 'openapi_unsupported'],
    ['a list', '[1, 2]', 'openapi_unsupported'],
    ['nothing', '', 'openapi_unsupported'],
    ['broken YAML', 'openapi: 3.0.0\n  bad: [', 'openapi_unsupported'],
    ['a reference to a file', operation('/x', [{ $ref: './other.yaml#/x' }]), 'openapi_external_ref'],
    ['a reference to /etc/passwd', operation('/x', [{ $ref: '/etc/passwd' }]), 'openapi_external_ref'],
    ['a reference to a host', operation('/x', [{ $ref: 'http://127.0.0.1:9/x' }]), 'openapi_external_ref'],
    ['a reference of a path', document({ '/x': { $ref: 'file:///etc/passwd' } }), 'openapi_external_ref'],
    ['nesting of 65 levels', { ...document({}), 'x-deep': nested(65) }, 'openapi_bomb'],
    [
      'nesting of 100,000 levels',
      `{"openapi":"3.0.0","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      'openapi_bomb',
    ],
    ['nesting of YAML', `openapi: 3.0.0\nx: ${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'openapi_bomb'],
    ['5,000,001 values', { ...document({}), 'x-many': new Array(5_000_001).fill(0) }, 'openapi_bomb'],
    ['a bomb of aliases', bomb(9, 9), 'openapi_bomb'],
    ['a bomb of few aliases', bomb(3, 99), 'openapi_bomb'],
    ['an alias of itself', 'openapi: 3.0.0\nx: &a\n  y: *a', 'openapi_bomb'],
    ['5,001 operations', document(manyPaths(5_001)), 'openapi_too_large'],
    ['17 MiB', `${JSON.stringify(document({}))}${' '.repeat(17 * 1024 * 1024)}`, 'openapi_too_large'],
    ['5 MiB of YAML', `openapi: 3.0.0\npaths: {}\n#${'x'.repeat(5 * 1024 * 1024)}`, 'openapi_too_large'],
    ['a key that reaches a prototype', '{"openapi":"3.0.0","paths":{},"__proto__":{"a":1}}', 'openapi_unsupported'],
  ])('%s is refused [CVE-2026-39885]', async (_, schema, code) => {
    expect((await failure(at(schema))).code).toBe(code as never)
  })

  test('5,000 operations in 16 levels of depth are read', async () => {
    await using open = await openLink(inline(document(manyPaths(5_000)), BASE))
    expect(open.tools).toHaveLength(5_000)
    expect(open.warnings[0]).toContain('5000 tools are more than most models handle well')
  })

  test('a document is read from its address, in JSON and YAML', async () => {
    const yaml =
      'openapi: 3.1.0\ninfo: {title: Yes, version: 1}\npaths:\n  /x:\n    get:\n      operationId: no\n      responses:\n        200: {description: ok}\n'
    await using api = await startApi(({ target }) =>
      target === '/json'
        ? Response.json(operation('/x', []))
        : new Response(yaml, { headers: { 'content-type': 'text/plain' } }),
    )
    await using json = await openLink({ openapi: { url: `${api.url}/json` } })
    expect(json.tools.map(({ name }) => name)).toEqual(['op'])
    await using text = await openLink({ openapi: { url: `${api.url}/yaml` } })
    expect(text.tools.map(({ name }) => name)).toEqual(['no'])
    expect(text.link.serverInfo).toEqual({ name: 'Yes', version: '1' })
  })

  test('the headers of the server go with the document only where it lies on the API’s origin', async () => {
    await using api = await startApi(() => Response.json(operation('/x', [])))
    await using elsewhere = await startApi(() => Response.json(operation('/x', [])))
    const headers = { Authorization: 'Bearer canary' }
    await using own = await openLink({ openapi: { url: `${api.url}/d`, baseUrl: `${api.url}/v1` }, headers })
    expect(api.last().headers.authorization).toBe('Bearer canary')
    await using other = await openLink({ openapi: { url: `${elsewhere.url}/d`, baseUrl: `${api.url}/v1` }, headers })
    expect(elsewhere.last().headers.authorization).toBeUndefined()
    expect([own.tools.length, other.tools.length]).toEqual([1, 1])
  })

  test.each([
    [404, 'upstream_http_error'],
    [401, 'authorization_required'],
    [302, 'redirect_blocked'],
  ])('HTTP %d for the document is %s', async (status, code) => {
    await using api = await startApi(
      () => new Response('secret body', { status, headers: { location: 'http://127.0.0.1:9/' } }),
    )
    const error = await failure(openLink({ openapi: { url: api.url } }))
    expect(error.code).toBe(code as never)
    expect(error.message).not.toContain('secret body')
  })

  test('17 MiB from an address are openapi_too_large', async () => {
    await using api = await startApi(() => new Response(new Uint8Array(17 * 1024 * 1024)))
    expect((await failure(openLink({ openapi: { url: api.url } }))).code).toBe('openapi_too_large')
  })

  test('refresh() reads the document again, and keeps the tools when it cannot', async () => {
    let paths = '/a'
    await using api = await startApi(() =>
      paths === '' ? new Response('no', { status: 500 }) : Response.json(operation(paths, [])),
    )
    await using open = await openLink({ openapi: { url: api.url } })
    const path = (): string => String(open.tools[0]?.description)
    expect(path()).toBe('GET /a')
    paths = '/b'
    await open.link.refresh?.(new AbortController().signal)
    expect(path()).toBe('GET /b')
    paths = ''
    await failure(open.link.refresh?.(new AbortController().signal) ?? Promise.resolve())
    expect(path()).toBe('GET /b')
  })
})

describe('Swagger 2.0', () => {
  test('is converted: body, form, files, collection formats, host and base path', async () => {
    await using api = await startApi()
    const host = new URL(api.url).host
    const schema = {
      swagger: '2.0',
      info: { title: 'Old', version: '1' },
      host,
      basePath: '/v2',
      schemes: ['http'],
      securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      security: [{ key: [] }],
      definitions: {
        Thing: { type: 'object', properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string' } } },
      },
      paths: {
        '/list': {
          get: {
            operationId: 'list',
            parameters: [
              { name: 'csv', in: 'query', type: 'array', items: { type: 'string' } },
              { name: 'multi', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'multi' },
              { name: 'pipes', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'pipes' },
            ],
            responses: { 200: { description: '', schema: { $ref: '#/definitions/Thing' } } },
          },
        },
        '/things': {
          post: {
            operationId: 'create',
            parameters: [{ name: 'thing', in: 'body', required: true, schema: { $ref: '#/definitions/Thing' } }],
            responses: {},
          },
        },
        '/upload': {
          post: {
            operationId: 'upload',
            consumes: ['multipart/form-data'],
            parameters: [
              { name: 'file', in: 'formData', type: 'file', required: true },
              { name: 'note', in: 'formData', type: 'string' },
            ],
            responses: {},
          },
        },
      },
    }
    await using open = await openLink({ openapi: { schema, auth: { key: 'k' } } })
    await open.call('list', { csv: ['a', 'b'], multi: ['a', 'b'], pipes: ['a', 'b'] })
    expect(api.last().target).toBe('/v2/list?csv=a,b&multi=a&multi=b&pipes=a%7Cb')
    expect(api.last().headers['x-key']).toBe('k')
    await open.call('create', { body: { name: 'n' } })
    expect(api.last().body.toString()).toBe('{"name":"n"}')
    const body = (open.tool('create').inputSchema as { properties: { body: { properties: JsonObject } } }).properties
      .body
    expect(Object.keys(body.properties)).toEqual(['name'])
    await open.call('upload', { body: { file: Buffer.from('bytes').toString('base64'), note: 'n' } })
    expect(api.last().body.toString()).toContain(
      'filename="file"\r\nContent-Type: application/octet-stream\r\n\r\nbytes',
    )
    expect(open.tool('list').outputSchema).toMatchObject({ type: 'object' })
  })

  test('a document without host or schemes takes those of its own address', async () => {
    const schema = {
      swagger: 2.0,
      info: { title: 'Old', version: '1' },
      basePath: '/api',
      paths: { '/x': { get: { operationId: 'op', responses: {} } } },
    }
    await using api = await startApi(({ target }) => (target === '/doc' ? Response.json(schema) : new Response('ok')))
    await using open = await openLink({ openapi: { url: `${api.url}/doc` } })
    await open.call('op')
    expect(api.last().target).toBe('/api/x')
  })
})

/** `levels` lists of `width` aliases of the level before. */
function bomb(levels: number, width: number): string {
  const lines = ['openapi: 3.0.0', `l0: &l0 [${'x,'.repeat(width)}]`]
  for (let level = 1; level <= levels; level += 1) {
    lines.push(`l${level}: &l${level} [${`*l${level - 1},`.repeat(width)}]`)
  }
  return lines.join('\n')
}

function manyPaths(count: number): JsonObject {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`/p${index}`, { get: { operationId: `op${index}`, responses: {} } }]),
  )
}
