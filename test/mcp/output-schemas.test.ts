/** Servers and APIs that answer otherwise than their output schemas say: validating clients of both SDKs get the result. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Client as Newer, StreamableHTTPClientTransport as NewerHttp } from '@modelcontextprotocol/client'
import type { JsonObject } from 'patchbay/contract'
import { type Api, document, startApi } from '../plugins/transport-openapi/harness.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { sharedFixture } from './shared-fixture.ts'

setDefaultTimeout(60_000)

const PET: JsonObject = {
  type: 'object',
  required: ['id', 'name'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer', minimum: 1 },
    name: { type: 'string', minLength: 1 },
    state: { type: 'string', enum: ['sold', 'free'] },
    born: { type: 'string', format: 'date' },
    tags: { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/Tag' } },
    owner: { oneOf: [{ $ref: '#/components/schemas/Tag' }, { type: 'string' }] },
  },
}
const TAG: JsonObject = { type: 'object', required: ['label'], properties: { label: { type: 'string' } } }
const API = document(
  {
    '/pet': {
      get: {
        operationId: 'pet',
        parameters: [{ name: 'case', in: 'query', schema: { type: 'string' } }],
        responses: { 200: { description: '', content: { 'application/json': { schema: PET } } } },
      },
    },
  },
  { components: { schemas: { Tag: TAG } } },
)
const GOOD = { id: 1, name: 'Rex', state: 'sold', born: '2020-01-01', tags: [{ label: 'a' }], owner: 'ann' }
/** Answers that break the schema, and the structured content that the client gets of each. */
const BODIES: Readonly<Record<string, readonly [body: unknown, structured: unknown]>> = {
  good: [GOOD, GOOD],
  less: [{ name: 'Rex' }, { name: 'Rex' }],
  nothing: [{}, {}],
  nulls: [{ id: null, name: null, state: null, born: null, tags: null, owner: null }, undefined],
  more: [{ ...GOOD, extra: { deep: [1] } }, undefined],
  values: [{ ...GOOD, id: 0, name: '', state: 'lost', born: 'soon', tags: [] }, undefined],
  types: [{ id: 'seven', name: 7, state: true, born: 1.5, tags: {}, owner: [] }, undefined],
  php: [{ ...GOOD, tags: [[], null, 'x'], owner: false }, undefined],
  list: [[GOOD], { result: [GOOD] }],
  text: ['just so', { result: 'just so' }],
}
const structuredOf = (name: string) => BODIES[name]?.[1] ?? BODIES[name]?.[0]

const LISTED = JSON.stringify([
  {
    name: 'say',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
  },
  { name: 'plain', inputSchema: { type: 'object' } },
])
const spoken = sharedFixture('odd-forms', { LISTED })
const SERVERS = {
  strict: spoken,
  loose: { ...spoken, outputSchemas: 'loose' },
  off: { ...spoken, outputSchemas: 'off' },
  modern: { ...sharedFixture('odd-forms', { LISTED, ERA: 'modern' }), outputSchemas: 'loose' },
}

let api: Api
let hub: Hub
let admin: Client

beforeAll(async () => {
  api = await startApi(({ target }) => {
    const [body] = BODIES[target.split('case=')[1] ?? ''] ?? []
    return body === undefined ? new Response(null, { status: 204 }) : Response.json(body)
  })
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: SERVERS } })
  admin = await hub.setup()
  for (const [name, more] of [
    ['api', {}],
    ['api-strict', { outputSchemas: 'strict' }],
    ['api-off', { outputSchemas: 'off' }],
  ] as const)
    await admin.ok('POST', '/api/servers', { name, openapi: { schema: API, baseUrl: api.url }, ...more })
  await online(admin, [...Object.keys(SERVERS), 'api', 'api-strict', 'api-off'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await api?.[Symbol.asyncDispose]()
}, 120_000)

// biome-ignore lint/suspicious/noExplicitAny: clients of two packages whose types differ
type Any = any

async function newer(path: string, version?: string): Promise<Any> {
  const authorization = `Bearer ${await admin.mcpKey()}`
  const mode = version ? { versionNegotiation: { mode: { pin: version } } } : {}
  const client = new Newer({ name: 'newer', version: '1' }, mode as Any)
  await client.connect(
    new NewerHttp(new URL(`${hub.url}/mcp/${path}`), { requestInit: { headers: { authorization } } }),
  )
  return client
}

/** Both check a result against the schema that was listed. */
const CLIENTS: readonly [string, (path: string) => Promise<Any>][] = [
  ['SDK 1', path => admin.mcp(`/mcp/${path}`)],
  ['SDK 2 in 2026-07-28', path => newer(path, '2026-07-28')],
]

describe.each(CLIENTS)('a validating client, %s', (_, connect) => {
  test('gets every answer of an API, whatever its document says of answers', async () => {
    const client = await connect('api')
    const { tools } = await client.listTools()
    expect(tools[0].outputSchema.properties.name.type).toContain('null')
    expect(JSON.stringify(tools[0].outputSchema)).not.toContain('"required"')
    for (const [name, [body]] of Object.entries(BODIES)) {
      const result = await client.callTool({ name: 'pet', arguments: { case: name } })
      expect([name, result.isError]).toEqual([name, undefined])
      expect([name, JSON.parse(result.content[0].text)]).toEqual([name, body])
      expect([name, result.structuredContent]).toEqual([name, structuredOf(name)])
    }
    const empty = await client.callTool({ name: 'pet', arguments: { case: 'none' } })
    expect(empty.content[0].text).toContain('HTTP 204')
    await client.close()
  })

  test('gets what a loose server says, with structured content or without', async () => {
    for (const path of ['loose', 'modern']) {
      const client = await connect(path)
      await client.listTools()
      const say = (result: object) => client.callTool({ name: 'say', arguments: { result } })
      const content = [{ type: 'text', text: 'hello' }]
      expect(await say({ content })).toMatchObject({ content, structuredContent: { result: 'hello' } })
      const image = [{ type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }]
      expect(await say({ content: image })).toMatchObject({ content: image, structuredContent: {} })
      expect(await say({ content: [{ type: 'text', text: '{"n":1234567}' }] })).toMatchObject({
        structuredContent: { n: 1234567 },
      })
      expect(await say({ content, structuredContent: { n: 'one' } })).toMatchObject({ structuredContent: { n: 'one' } })
      expect((await say({ content, isError: true })).structuredContent).toBeUndefined()
      const plain = await client.callTool({ name: 'plain', arguments: { result: { content } } })
      expect(plain.structuredContent).toBeUndefined()
      await client.close()
    }
  })

  test('sees a strict server as it is, and one without output schemas when they are off', async () => {
    const strict = await connect('strict')
    const [{ outputSchema }] = (await strict.listTools()).tools
    expect(outputSchema).toMatchObject({ required: ['n'] })
    const content = [{ type: 'text', text: '{"n":5}' }]
    const call = (client: Any, result: object) => client.callTool({ name: 'say', arguments: { result } })
    expect(await call(strict, { content })).toMatchObject({ structuredContent: { n: 5 } })
    expect(call(strict, { content: [{ type: 'text', text: 'hello' }] })).rejects.toThrow(/structured content/)
    const off = await connect('off')
    expect((await off.listTools()).tools[0].outputSchema).toBeUndefined()
    expect((await call(off, { content: [{ type: 'text', text: 'hello' }] })).structuredContent).toBeUndefined()
    expect(await call(off, { content, structuredContent: { n: 'one' } })).toMatchObject({
      structuredContent: { n: 'one' },
    })
    for (const client of [strict, off]) await client.close()
  })
})

test('an API that is held to its document is listed as it says', async () => {
  const strict = await admin.mcp('/mcp/api-strict')
  expect((await strict.listTools()).tools[0]?.outputSchema).toMatchObject({ required: ['id', 'name'] })
  expect(strict.callTool({ name: 'pet', arguments: { case: 'nulls' } })).rejects.toThrow(/output schema/)
  const off = await admin.mcp('/mcp/api-off')
  expect((await off.listTools()).tools[0]?.outputSchema).toBeUndefined()
})

test('a change holds at once and tells clients, and in a group', async () => {
  await admin.ok('POST', '/api/groups', { name: 'both', members: ['strict', 'api'] })
  const client = await admin.mcp('/mcp/both')
  const listed = async () =>
    Object.fromEntries((await client.listTools()).tools.map(one => [one.name, one.outputSchema]))
  expect((await listed()).say).toMatchObject({ required: ['n'] })
  expect(JSON.stringify((await listed()).pet)).not.toContain('"required"')
  await admin.ok('PATCH', '/api/servers/strict', { outputSchemas: 'loose' })
  expect((await admin.ok('GET', '/api/servers/strict')).outputSchemas).toBe('loose')
  expect(JSON.stringify((await listed()).say)).not.toContain('"required"')
  await admin.ok('PATCH', '/api/servers/strict', { outputSchemas: null })
  expect((await listed()).say).toMatchObject({ required: ['n'] })
  const refused = await admin.request('PATCH', '/api/servers/strict', { outputSchemas: 'lax' })
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '#/outputSchemas'])
})
