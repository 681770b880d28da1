/** Odd documents that other programs accept: they become tools, and a trial shows which ones. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { JsonObject } from 'patchbay/contract'
import { type Api, document, startApi } from '../plugins/transport-openapi/harness.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { callText, online, toolNames } from '../support/servers.ts'

let api: Api
let hub: Hub
let ann: Client

beforeAll(async () => {
  api = await startApi()
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ann = await hub.user('ann')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await api?.[Symbol.asyncDispose]()
}, 120_000)

const json = (schema: JsonObject): JsonObject => ({ content: { 'application/json': { schema } } })
const ok = { 200: { description: '', ...json({ type: 'object' }) } }

/** The server of a document, online, with a client of its own. */
async function opened(name: string, schema: JsonObject | string, baseUrl = api.url) {
  await ann.ok('POST', '/api/servers', { name, openapi: { schema, baseUrl } })
  await online(ann, [name])
  const { items, warnings } = await ann.ok('GET', `/api/servers/${name}/tools`)
  return { client: await ann.mcp(`/mcp/@ann/${name}`), items, warnings: warnings.join('\n') }
}

const YAML = `openapi: 3.0.0
info: {title: Pets, version: '1'}
paths:
  /pets: {get: {operationId: listPets, responses: {200: {description: All}}}}
`

test.each<[string, JsonObject | string]>([
  ['as an object', document({ '/pets': { get: { operationId: 'listPets', responses: ok } } })],
  ['as JSON text', JSON.stringify(document({ '/pets': { get: { operationId: 'listPets', responses: ok } } }))],
  ['as YAML text', YAML],
])(
  'a trial of an inline document %s shows its tools',
  async (_, schema) => {
    const openapi = { schema, baseUrl: api.url }
    const report = await ann.ok('POST', '/api/servers/test', { name: 'tried', openapi })
    expect(report).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
  },
  60_000,
)

test('a trial of a saved server with the stand-in of its document reads the document', async () => {
  const made = await ann.ok('POST', '/api/servers', { name: 'kept', openapi: { schema: YAML, baseUrl: api.url } })
  const report = await ann.ok('POST', '/api/servers/test', { name: 'kept', openapi: made.openapi })
  expect(report).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
}, 60_000)

test.each([
  ['openapi: 3.0', true],
  ['openapi: 3', true],
  ['swagger: 2.0', true],
  ['openapi: 3.1', true],
  ['openapi: 4.0', false],
])(
  'a document that begins with "%s" is taken: %p',
  async (version, taken) => {
    const openapi = { schema: YAML.replace('openapi: 3.0.0', version), baseUrl: api.url }
    const answer = await ann.request('POST', '/api/servers/test', { name: 'tried', openapi })
    if (taken) expect(answer.json).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
    else expect(answer.json.errors).toMatchObject([{ code: 'openapi_unsupported' }])
  },
  60_000,
)

test('OpenAPI 3.2 is read as 3.1, and a warning names what is not read', async () => {
  const paths = {
    '/pets': { get: { operationId: 'listPets', responses: ok }, query: { operationId: 'find', responses: ok } },
    '/cats': { additionalOperations: { COPY: { operationId: 'copy', responses: ok } } },
  }
  const openapi = { schema: { ...document(paths), openapi: '3.2.0' }, baseUrl: api.url }
  const report = await ann.ok('POST', '/api/servers/test', { name: 'tried', openapi })
  expect(report).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
  const said = report.warnings.join('\n')
  expect(said).toContain('says OpenAPI 3.2 and is read as 3.1')
  expect(said).toContain('QUERY /pets is left out')
  expect(said).toContain('COPY /cats is left out')
}, 60_000)

test('the body of a GET is sent where OpenAPI 3.1 allows one', async () => {
  const body = { required: true, ...json({ type: 'object', properties: { q: { type: 'string' } } }) }
  const paths = {
    '/find': { get: { operationId: 'find', requestBody: body, responses: {} } },
    '/drop': { delete: { operationId: 'drop', requestBody: body, responses: {} } },
  }
  // Bun.serve drops the body of a GET.
  const reader = createServer(async (request, response) => {
    response.end(`${request.method} ${request.headers['content-type']} ${await text(request)}`)
  })
  await new Promise<void>(resolve => reader.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(reader.address() as AddressInfo).port}`
  const { client } = await opened('searched', { ...document(paths), openapi: '3.1.0' }, baseUrl)
  expect(await callText(client, 'find', { body: { q: 'cats' } })).toBe('GET application/json {"q":"cats"}')
  expect(await callText(client, 'drop', { body: { q: 'x' } })).toBe('DELETE application/json {"q":"x"}')
  reader.close()
  // OpenAPI 3.0 says that such a body is ignored.
  const older = await opened('searched-30', document(paths))
  expect(older.items[0].inputSchema.properties).toEqual({})
}, 60_000)

test('a response that refers to nothing costs that response, and the tool stays', async () => {
  const gone = { $ref: '#/components/responses/gone' }
  const named = json({ type: 'object', required: ['name'], properties: { name: { type: 'string' } } })
  const paths = {
    '/a': { get: { operationId: 'a', responses: { 200: gone } } },
    '/b': { get: { operationId: 'b', responses: { 200: json({ $ref: '#/components/schemas/gone' }) } } },
    '/c': { get: { operationId: 'c', responses: { 200: named, 404: gone } } },
    '/d': {
      post: { operationId: 'd', responses: ok, callbacks: { done: { $ref: '#/components/callbacks/gone' } } },
    },
    '/e': { post: { operationId: 'e', requestBody: json({ $ref: '#/components/schemas/gone' }), responses: ok } },
  }
  const { client, items, warnings } = await opened('dangling', document(paths))
  expect(await toolNames(client)).toEqual(['a', 'b', 'c', 'd'])
  expect(JSON.parse(await callText(client, 'a')).target).toBe('/a')
  expect(items[2].outputSchema.properties).toEqual({ name: { type: 'string' } })
  expect(warnings).toContain('POST /e is left out')
  expect(warnings).toMatch(/"#\/components\/responses\/gone".*GET \/a and 1 other/)
}, 60_000)

/** A base with two kinds that inherit from it, as generators write them. */
const kinds = (discriminator: JsonObject | string): JsonObject => ({
  Pet: {
    type: 'object',
    required: ['kind'],
    properties: { kind: { type: 'string' }, friend: { $ref: '#/components/schemas/Pet' } },
    discriminator,
  },
  Cat: {
    allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { meows: { type: 'boolean' } } }],
  },
  Dog: {
    allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { barks: { type: 'boolean' } } }],
  },
})
const pets = (discriminator: JsonObject, schema: JsonObject = { $ref: '#/components/schemas/Pet' }): JsonObject =>
  document(
    { '/pets': { post: { operationId: 'add', requestBody: { required: true, ...json(schema) }, responses: {} } } },
    { components: { schemas: kinds(discriminator) } },
  )
const MAPPING = { cat: '#/components/schemas/Cat', dog: 'Dog' }

test.each<[string, JsonObject, [string, string]]>([
  ['with a mapping', pets({ propertyName: 'kind', mapping: MAPPING }), ['cat', 'dog']],
  [
    'in a list',
    pets({ propertyName: 'kind', mapping: MAPPING }, { type: 'array', items: { $ref: '#/components/schemas/Pet' } }),
    ['cat', 'dog'],
  ],
])(
  'a discriminator %s and without oneOf shows the model each kind',
  async (what, schema, [cat, dog]) => {
    const name = what.replaceAll(' ', '-')
    const { client, items } = await opened(name, schema)
    const written = JSON.stringify(items[0].inputSchema)
    for (const word of ['"oneOf"', '"meows"', '"barks"', `"${cat}"`, `"${dog}"`]) expect(written).toContain(word)
    const wrap = (pet: JsonObject) => ({ body: what === 'in a list' ? [pet] : pet })
    const good = wrap({ kind: cat, meows: true, friend: { kind: dog, barks: true } })
    expect(JSON.parse(JSON.parse(await callText(client, 'add', good)).body)).toEqual(good.body)
    for (const wrong of [{ kind: cat, meows: 'loudly' }, { kind: 'cow' }, { kind: dog, friend: { kind: 'cow' } }]) {
      const refused = await client.callTool({ name: 'add', arguments: wrap(wrong) })
      expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('params_invalid') }] })
    }
  },
  60_000,
)

test('kinds without a mapping are shown, and refuse no value, since their values are not certain', async () => {
  const { client, items } = await opened('unmapped', pets({ propertyName: 'kind' }))
  const { anyOf } = items[0].inputSchema.properties.body
  expect(anyOf.map(({ title }: { title: string }) => title)).toEqual(['Cat', 'Dog', 'Pet'])
  const body = { kind: 'any', meows: true }
  expect(JSON.parse(JSON.parse(await callText(client, 'add', { body })).body)).toEqual(body)
}, 60_000)

test('a kind that the document does not have is still taken, with the members of the base', async () => {
  const mapping = { ...MAPPING, fish: '#/components/schemas/Fish' }
  const { client } = await opened('fishes', pets({ propertyName: 'kind', mapping }))
  expect(JSON.parse(JSON.parse(await callText(client, 'add', { body: { kind: 'fish' } })).body)).toEqual({
    kind: 'fish',
  })
}, 60_000)

test('a missing schema takes any value, and costs no operation', async () => {
  const body = (schema: JsonObject) => ({ requestBody: json(schema), responses: {} })
  const lost = { $ref: '#/components/schemas/Lost' }
  const paths = {
    '/a': { post: { operationId: 'a', ...body({ type: 'object', properties: { x: lost, y: { type: 'integer' } } }) } },
    '/b': { post: { operationId: 'b', ...body({ $ref: '#/components/schemas/Indirect' }) } },
    '/c': { get: { operationId: 'c', parameters: [{ name: 'q', in: 'query', schema: lost }], responses: {} } },
    '/d': { get: { operationId: 'd', parameters: [{ $ref: '#/components/parameters/Lost' }], responses: {} } },
  }
  const components = { schemas: { Indirect: { type: 'array', items: lost } } }
  const { client, items, warnings } = await opened('lost-schemas', document(paths, { components }))
  expect(items.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c'])
  expect(warnings).toContain(
    'A part of the arguments is not described, since it refers to "#/components/schemas/Lost", which the document does not have: POST /a and 2 others',
  )
  expect(warnings).toContain('GET /d is left out: it refers to "#/components/parameters/Lost"')
  await client.callTool({ name: 'a', arguments: { body: { x: { any: 1 }, y: '2' } } })
  expect(api.last().body.toString()).toBe('{"x":{"any":1},"y":2}')
})

test.each<[string, string]>([
  ['an end of YAML', `---\n${YAML}---\n`],
  ['a version with a letter', YAML.replace('3.0.0', 'v3.0.1')],
  ['methods in capitals', YAML.replace('get:', 'GET:')],
  ['Swagger with a base path without a slash', YAML.replace('openapi: 3.0.0', 'swagger: 2.0\nbasePath: v1')],
])('a document with %s is taken', async (_, schema) => {
  const report = await ann.ok('POST', '/api/servers/test', { name: 'tried', openapi: { schema, baseUrl: api.url } })
  expect(report).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
})

test.each<[string, JsonObject, RegExp]>([
  ['Postman', { info: { name: 'a' }, item: [] }, /collection of Postman.*export it as OpenAPI/],
  ['AsyncAPI', { asyncapi: '2.0.0', info: {} }, /AsyncAPI/],
])('a document of %s is refused by its name', async (_, schema, words) => {
  const { json: problem } = await ann.request('POST', '/api/servers/test', { name: 'tried', openapi: { schema } })
  expect(problem.errors[0].code).toBe('openapi_unsupported')
  expect(problem.errors[0].detail).toMatch(words)
})

test('a document behind an address may be packed, or in UTF-16', async () => {
  const text = JSON.stringify(document({ '/pets': { get: { operationId: 'listPets', responses: ok } } }))
  const files: Readonly<Record<string, Buffer>> = {
    '/bom.json': Buffer.from(`\ufeff${text}`),
    '/openapi.json.gz': gzipSync(text),
    '/utf16.json': Buffer.from(`\ufeff${text}`, 'utf16le'),
    '/broken.json.gz': gzipSync(text).subarray(0, 40),
  }
  await using host = await startApi(({ target }) => new Response(new Uint8Array(files[target] ?? Buffer.alloc(0))))
  for (const path of Object.keys(files)) {
    const openapi = { url: `${host.url}${path}`, baseUrl: api.url }
    const report = await ann.ok('POST', '/api/servers/test', { name: 'tried', openapi })
    if (path.startsWith('/broken')) expect(report.error.message).toContain('gzip')
    else expect(report).toMatchObject({ ok: true, tools: [{ name: 'listPets' }] })
  }
})
