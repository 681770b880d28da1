import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { JsonObject } from 'patchbay/contract'
import { type Api, document, startApi } from '../plugins/transport-openapi/harness.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { callText, online, statusOf, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const CANARY = 'canary-4f1d9a'
let api: Api
let hub: Hub
let ann: Client
let bob: Client

beforeAll(async () => {
  api = await startApi(async ({ target, method, headers, body }) => {
    if (target === '/openapi.json') return Response.json({ ...PETS, servers: [{ url: '/v1' }] })
    if (target.startsWith('/v1/slow')) await new Promise(resolve => setTimeout(resolve, 5_000).unref())
    if (target === '/health') return new Response('ok')
    if (target === '/v1/sick') return new Response('sick', { status: 503 })
    if (target === '/v1/pets/none') return Response.json({ error: 'no such pet' }, { status: 404 })
    return Response.json({ method, target, key: headers['x-key'] === CANARY, body: body.toString() })
  })
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ann = await hub.user('ann')
  bob = await hub.user('bob')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await api?.[Symbol.asyncDispose]()
}, 120_000)

const PETS = document(
  {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: no variable, as it stands in a document
        summary: 'One pet, which costs ${money}',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: '', content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
    '/pets': {
      post: {
        operationId: 'addPet',
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: {},
      },
      get: { operationId: 'broken', parameters: [{ $ref: '#/nowhere' }], responses: {} },
    },
    '/slow': { get: { operationId: 'slow', responses: {} } },
  },
  {
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    security: [{ key: [] }],
  },
)

/** The codes of the fields that a body is refused for, or the refusal's own code, with its status. */
async function refusal(client: Client, openapi: object): Promise<[number, string]> {
  const answer = await client.request('POST', '/api/servers', { name: 'refused', openapi })
  if (answer.status === 201) await client.ok('DELETE', '/api/servers/refused')
  return [answer.status, answer.json.errors?.[0]?.code ?? answer.json.code]
}

describe('an OpenAPI document as a server', () => {
  test('is listed and called through a group, with its secret sealed and variables left alone in the document', async () => {
    const made = await ann.ok('POST', '/api/servers', {
      name: 'pets',
      openapi: { schema: PETS, baseUrl: `${api.url}/\${version}`, auth: { key: { value: CANARY } } },
      variables: { version: 'v1' },
    })
    expect(JSON.stringify(made)).not.toContain(CANARY)
    expect(made.openapi.auth.key.value).toStartWith('••••')
    expect(made.openapi.schema).toBeUndefined()
    expect(made.openapi.document).toMatchObject({ bytes: JSON.stringify(PETS).length })
    expect(await ann.ok('GET', '/api/servers/pets/document')).toEqual(PETS)
    await ann.ok('POST', '/api/groups', { name: 'zoo', members: ['pets'] })
    await online(ann, ['pets'])
    const client = await ann.mcp('/mcp/zoo')
    expect(await toolNames(client)).toEqual(['getPet', 'addPet', 'slow'])
    const result = await client.callTool({ name: 'getPet', arguments: { id: 'a/b' } })
    expect(result.structuredContent).toEqual({ method: 'GET', target: '/v1/pets/a%2Fb', key: true, body: '' })
    expect(JSON.parse(await callText(client, 'addPet', { body: { name: 'Rex' } })).body).toBe('{"name":"Rex"}')
  }, 120_000)

  test('a mask that is sent back keeps the secret', async () => {
    const { openapi } = await ann.ok('GET', '/api/servers/pets')
    await ann.ok('PATCH', '/api/servers/pets', { openapi: { auth: openapi.auth }, description: 'changed' })
    await online(ann, ['pets'])
    const client = await ann.mcp('/mcp/zoo')
    expect(JSON.parse(await callText(client, 'getPet', { id: '1' })).key).toBe(true)
  }, 120_000)

  test('errors of the API are results, and so are wrong arguments, which are not sent', async () => {
    const client = await ann.mcp('/mcp/zoo')
    const missing = await client.callTool({ name: 'getPet', arguments: { id: 'none' } })
    expect(missing).toMatchObject({ isError: true, content: [{ text: 'HTTP 404\n\n{"error":"no such pet"}' }] })
    const before = api.seen.length
    const wrong: [JsonObject, string][] = [
      [{ id: '../../admin?x=#' }, '"id" would lead to another path'],
      [{ id: '' }, '"id" is empty'],
      [{}, '"id" is missing'],
      [{ id: 5 }, '"id" must be a string and is a number, 5'],
      [{ id: 5, more: 1 }, '"more" is not known'],
    ]
    for (const [args, told] of wrong) {
      const result = await client.callTool({ name: 'getPet', arguments: args })
      expect(result.isError).toBe(true)
      const text = JSON.parse(JSON.stringify(result.content))[0].text
      expect(text).toStartWith('params_invalid: ')
      expect(text).toContain(told)
    }
    expect(api.seen.length).toBe(before)
  }, 120_000)

  test('numbers reach the API as they were written, in path, query and body', async () => {
    const schema = document({
      '/n/{id}': {
        post: {
          operationId: 'numbers',
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'q', in: 'query', schema: { type: 'array', items: { type: 'number' } } },
          ],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
          responses: {},
        },
      },
    })
    await ann.ok('POST', '/api/servers', { name: 'numbers', openapi: { schema, baseUrl: api.url } })
    await online(ann, ['numbers'])
    const raw = await new RawClient(hub, '/mcp/@ann/numbers', await ann.mcpKey()).open()
    const n = '{"a":1.0,"b":12345678901234567890,"c":1e400,"d":-0,"e":1.50,"f":1E3,"g":0.0000001}'
    const args = `{"id":12345678901234567890,"q":[1.0,1e400],"body":${n}}`
    const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"numbers","arguments":${args}}}`
    const answer = await raw.post(call)
    expect(await answer.text()).not.toContain('isError')
    expect(api.last().target).toBe('/n/12345678901234567890?q=1.0&q=1e400')
    expect(api.last().body.toString()).toBe(n)
  }, 120_000)

  test('over REST wrong arguments are a problem with their code, not a result', async () => {
    const answer = await ann.request('POST', '/api/servers/pets/tools/getPet/call', { arguments: { id: 5 } })
    expect(answer.json.code).toBeOneOf(['params_invalid', 'request_invalid'])
    expect(answer.json.result).toBeUndefined()
    expect(answer.json.detail).toContain('"id" must be a string')
  })

  test('an API that does not answer in time or is not there is a result that says so', async () => {
    await ann.ok('PATCH', '/api/servers/pets', { timeout: 200 })
    const client = await ann.mcp('/mcp/zoo')
    const late = await client.callTool({ name: 'slow' })
    expect(late).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('upstream_timeout') }] })
    await ann.ok('PATCH', '/api/servers/pets', { timeout: null })
    const gone = await startApi()
    await ann.ok('POST', '/api/servers', { name: 'gone', openapi: { schema: PETS, baseUrl: gone.url } })
    await online(ann, ['gone'])
    const direct = await ann.mcp('/mcp/@ann/gone')
    await gone[Symbol.asyncDispose]()
    const refused = await direct.callTool({ name: 'getPet', arguments: { id: 'x' } })
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/connection_lost: /) }] })
    await ann.ok('DELETE', '/api/servers/gone')
  }, 120_000)

  test('the owner sees what was left out, and the cost of each tool', async () => {
    const { items, warnings } = await ann.ok('GET', '/api/servers/pets/tools')
    expect(items.every((item: { tokens: number }) => item.tokens > 0)).toBe(true)
    expect(warnings).toEqual([expect.stringContaining('GET /pets is left out')])
  })

  test('a call that the client cancels ends the request to the API', async () => {
    const client = await ann.mcp('/mcp/zoo')
    const abort = new AbortController()
    const call = client.callTool({ name: 'slow' }, undefined, { signal: abort.signal }).catch(() => 'ended')
    const slow = await until(() => api.seen.find(({ target }) => target === '/v1/slow'), { what: 'the call to arrive' })
    abort.abort()
    await until(() => slow.signal.aborted, { timeoutMs: 1_000, what: 'the end of the request' })
    expect(await call).toBe('ended')
    expect(JSON.parse(await callText(client, 'getPet', { id: '1' })).key).toBe(true)
  }, 120_000)

  test('POST /api/servers/test shows the tools with their cost and the warnings, and saves nothing', async () => {
    const openapi = { url: `${api.url}/openapi.json` }
    const report = await ann.ok('POST', '/api/servers/test', { name: 'x', openapi })
    expect(report).toMatchObject({ ok: true, tools: [{ name: 'getPet' }, { name: 'addPet' }, { name: 'slow' }] })
    expect(report.tokens).toBe(report.tools.reduce((sum: number, tool: { tokens: number }) => sum + tool.tokens, 0))
    expect(report.warnings.join('\n')).toContain('GET /pets is left out')
    expect(report.warnings.join('\n')).toContain('"key"')
    const failed = await ann.ok('POST', '/api/servers/test', { name: 'x', openapi: { url: `${api.url}/v1/pets/1` } })
    expect(failed).toMatchObject({ ok: false, error: { code: 'openapi_unsupported' } })
  }, 120_000)

  test('an API whose address refuses connections is offline with the reason, and online once it is there', async () => {
    const gone = await startApi()
    const { url } = gone
    await gone[Symbol.asyncDispose]()
    await ann.ok('POST', '/api/servers', { name: 'absent', openapi: { schema: PETS, baseUrl: url } })
    const status = await until(async () => {
      const now = await statusOf(ann, 'absent')
      return now.state === 'offline' ? now : undefined
    })
    expect(status.reason?.code).toBe('connection_lost')
    expect(status.reason?.message).toContain('refused')
    await using back = await startApi(undefined, Number(new URL(url).port))
    await online(ann, ['absent'])
    expect((await ann.ok('GET', '/api/servers/absent')).status.health).toMatchObject({ state: 'healthy' })
    // The health check only opens a connection.
    expect(back.seen).toEqual([])
    await ann.ok('DELETE', '/api/servers/absent')
  }, 120_000)

  test('health endpoints decide whether the server is online', async () => {
    const openapi = { schema: PETS, baseUrl: `${api.url}/` }
    const check = (ping: string) => ({ interval: 200, endpoints: { ping } })
    await ann.ok('POST', '/api/servers', { name: 'well', openapi, healthCheck: check('/health') })
    await online(ann, ['well'])
    const { health } = (await ann.ok('GET', '/api/servers/well')).status
    expect([health.state, health.lastCheck.ok, health.lastCheck.durationMs >= 0]).toEqual(['healthy', true, true])
    await ann.ok('POST', '/api/servers', {
      name: 'sick',
      openapi: { ...openapi, baseUrl: `${api.url}/v1` },
      healthCheck: check('/sick'),
    })
    await until(async () => (await statusOf(ann, 'sick')).reason?.code === 'upstream_http_error', {
      what: 'the reason',
    })
    await ann.ok('POST', '/api/servers', { name: 'without', openapi, healthCheck: check('/v1/pets/none') })
    await online(ann, ['without'])
    const without = (await ann.ok('GET', '/api/servers/without')).status
    expect(without.health).toMatchObject({ state: 'healthy', missingPaths: ['/v1/pets/none (HTTP 404)'] })
    expect(without.warnings).toMatchObject([{ code: 'health_path_missing' }])
    for (const name of ['well', 'sick', 'without']) await ann.ok('DELETE', `/api/servers/${name}`)
  }, 120_000)

  test('somebody else who changes the document must enter the secrets again', async () => {
    const admin = await hub.setup()
    const { openapi } = await admin.ok('GET', '/api/servers/ann~pets')
    const { document: _, ...rest } = openapi
    const elsewhere = { ...PETS, info: { title: 'Other', version: '2' } }
    const answer = await admin.request('PATCH', '/api/servers/ann~pets', { openapi: { ...rest, schema: elsewhere } })
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'secret_required'])
    expect((await admin.request('PATCH', '/api/servers/ann~pets', { openapi, description: 'mine' })).status).toBe(200)
  })
})

describe('documents that are refused when they are saved', () => {
  const at = (url: string): object => ({ ...PETS, servers: [{ url }] })
  test.each<[string, number, string, object]>([
    [
      'an unknown version',
      400,
      'openapi_unsupported',
      { schema: { ...PETS, openapi: '4.0.0' }, baseUrl: 'https://a.example' },
    ],
    ['a page', 400, 'openapi_unsupported', { schema: '<html></html>', baseUrl: 'https://a.example' }],
    ['a number', 400, 'type', { schema: 5 }],
    [
      'a text of an unknown version',
      400,
      'openapi_unsupported',
      { schema: JSON.stringify({ ...PETS, openapi: '4.0.0' }) },
    ],
    ['a text without an address', 400, 'required', { schema: JSON.stringify(PETS) }],
    [
      'a long text that refers to a file',
      400,
      'openapi_external_ref',
      { schema: JSON.stringify({ ...document({ '/x': { $ref: './x.yaml' } }), 'x-pad': 'x'.repeat(200_000) }) },
    ],
    [
      'a reference to a file',
      400,
      'openapi_external_ref',
      { schema: document({ '/x': { $ref: './x.yaml' } }), baseUrl: 'https://a.example' },
    ],
    ['no address', 400, 'required', { schema: PETS }],
    ['a relative address', 400, 'required', { schema: at('/v1') }],
    ['an address at link-local', 403, 'url_address_blocked', { schema: at('http://169.254.169.254/') }],
    [
      'an address by variables',
      403,
      'url_address_blocked',
      { schema: { ...PETS, servers: [{ url: 'http://{h}/', variables: { h: { default: '10.0.0.1' } } }] } },
    ],
    [
      'an address of Swagger 2.0',
      403,
      'url_address_blocked',
      { schema: { swagger: '2.0', host: '169.254.169.254', paths: {} } },
    ],
    [
      'an address of an operation',
      403,
      'url_address_blocked',
      { schema: { ...at('https://a.example'), paths: { '/x': { get: { servers: [{ url: 'http://10.0.0.1' }] } } } } },
    ],
    [
      'a token address',
      403,
      'url_address_blocked',
      {
        schema: at('https://a.example'),
        auth: { o: { clientId: 'a', clientSecret: 'b', tokenUrl: 'http://169.254.169.254/' } },
      },
    ],
    [
      '5,001 operations',
      413,
      'openapi_too_large',
      {
        schema: document(Object.fromEntries(Array.from({ length: 5_001 }, (_, n) => [`/${n}`, { get: {} }]))),
        baseUrl: 'https://a.example',
      },
    ],
    [
      'an unknown member of auth',
      400,
      'unknown_field',
      { schema: at('https://a.example'), auth: { key: { vaule: 'x' } } },
    ],
    ['a line end in a key', 400, 'header_value', { schema: at('https://a.example'), auth: { key: 'a\nb' } }],
  ])('%s', async (_, status, code, openapi) => {
    expect(await refusal(bob, openapi)).toEqual([status, code])
  })

  test('a recursive document is taken, and one of more members than other bodies may have', async () => {
    const components = { schemas: { Node: { properties: { next: { $ref: '#/components/schemas/Node' } } } } }
    expect((await refusal(bob, { schema: { ...at('https://a.example'), components } }))[0]).toBe(201)
    const many = { ...at('https://a.example'), 'x-many': Array.from({ length: 20_000 }, (_, n) => n) }
    expect((await refusal(bob, { schema: many }))[0]).toBe(201)
  })

  test('17 MiB are 413', async () => {
    const schema = { ...at('https://a.example'), 'x-long': 'x'.repeat(16 * 1024 * 1024 + 1000) }
    expect(await refusal(bob, { schema })).toEqual([413, 'openapi_too_large'])
  }, 120_000)
})
