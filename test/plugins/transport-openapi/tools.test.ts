import { describe, expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from 'patchbay/contract'
import { document, failure, inline, openLink } from './harness.ts'

const BASE = 'http://127.0.0.1:9/'

async function toolsOf(schema: JsonObject, more: JsonObject = {}) {
  const open = await openLink(inline(schema, BASE, more))
  await open.link.close()
  return { open, names: open.tools.map(({ name }) => String(name)), warnings: open.warnings }
}

const body = (schema: JsonObject): JsonObject => ({
  operationId: 'op',
  requestBody: { content: { 'application/json': { schema } } },
  responses: {},
})

const json = (schema: JsonObject): JsonObject => ({ description: '', content: { 'application/json': { schema } } })

async function bodySchema(schema: JsonObject, more: JsonObject = {}): Promise<JsonObject> {
  const { open } = await toolsOf({ ...document({ '/x': { post: body(schema) } }), ...more })
  return (open.tool('op').inputSchema as { properties: { body: JsonObject } }).properties.body
}

describe('names', () => {
  const get = (id?: string): JsonObject => ({
    get: { ...(id === undefined ? {} : { operationId: id }), responses: {} },
  })

  test('are the operationId, else method and path, in 64 legal characters', async () => {
    const long = 'x'.repeat(80)
    const { names } = await toolsOf(
      document({
        '/a': get('listPets'),
        '/pets/{petId}/owner': get(),
        '/b': get('pets.list/all'),
        '/c': get(long),
        '/d': get('größe'),
        '/': get(),
        '/e': get('  '),
      }),
    )
    expect(names.slice(0, 3)).toEqual(['listPets', 'get_pets_petId_owner', 'pets_list_all'])
    expect(names[3]).toMatch(/^x{57}_[0-9a-f]{6}$/)
    expect(names.slice(4)).toEqual(['grosse', 'get_', 'get_e'])
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  })

  test('are in Latin letters where the document has others, with a hash only where two become one', async () => {
    const { names } = await toolsOf(
      document({ '/a': get('天气查询'), '/用户/{编号}': get(), '/c': get('café'), '/d': get('cafè') }),
    )
    expect(names.slice(0, 2)).toEqual(['TianQiChaXun', 'get_YongHu_BianHao'])
    for (const name of names.slice(2)) expect(name).toMatch(/^cafe_[0-9a-f]{6}$/)
    expect(new Set(names).size).toBe(4)
  })

  test('do not change when other operations come or go, unless two want the same', async () => {
    const few = document({ '/a': get('one.two'), '/b/{id}': get() })
    const many = document({ '/0': get('zero'), '/a': get('one.two'), '/b/{id}': get(), '/z': get('last') })
    const before = (await toolsOf(few)).names
    expect((await toolsOf(many)).names).toEqual(['zero', ...before, 'last'])
    const clash = (
      await toolsOf(document({ '/a': get('one.two'), '/c': get('one_two'), '/d': get('same'), '/e': get('same') }))
    ).names
    expect(clash[0]).toMatch(/^one_two_[0-9a-f]{6}$/)
    expect(clash[1]).toBe('one_two')
    expect(clash[2]).toMatch(/^same_[0-9a-f]{6}$/)
    expect(new Set(clash).size).toBe(4)
  })

  test('do not change by include and exclude', async () => {
    const schema = document({ '/a': get('one.two'), '/c': get('one_two') })
    const all = (await toolsOf(schema)).names
    expect((await toolsOf(schema, { operations: { exclude: ['/c'] } })).names).toEqual(all.slice(0, 1))
  })
})

describe('include and exclude', () => {
  const schema = document({
    '/pets': {
      get: { operationId: 'listPets', tags: ['pets'], responses: {} },
      post: { operationId: 'addPet', tags: ['pets'], responses: {} },
    },
    '/pets/{id}': { delete: { operationId: 'removePet', tags: ['pets', 'danger'], responses: {} } },
    '/users': { get: { tags: ['users'], responses: {} } },
  })
  test.each<[JsonObject, string[]]>([
    [{}, ['listPets', 'addPet', 'removePet', 'get_users']],
    [{ include: [] }, ['listPets', 'addPet', 'removePet', 'get_users']],
    [{ include: ['listPets', 'get_users'] }, ['listPets', 'get_users']],
    [{ include: ['pets'] }, ['listPets', 'addPet', 'removePet']],
    [{ include: ['pets'], exclude: ['danger'] }, ['listPets', 'addPet']],
    [{ exclude: ['/pets'] }, ['removePet', 'get_users']],
    [{ exclude: ['/pets*'] }, ['get_users']],
    [{ include: ['GET *'] }, ['listPets', 'get_users']],
    [{ include: ['*Pet'] }, ['addPet', 'removePet']],
    [{ include: ['*e*P*t*'] }, ['removePet']],
  ])('%j offers %j', async (operations, names) => {
    expect((await toolsOf(schema, { operations })).names).toEqual(names)
  })

  test('an entry that names nothing is a warning', async () => {
    const { warnings } = await toolsOf(schema, { operations: { include: ['listPets', 'nope'] } })
    expect(warnings).toEqual(['"operations.include" has "nope", which names no operation'])
  })
})

describe('definitions', () => {
  test('say what the operation does, and how dangerous it is', async () => {
    const { open } = await toolsOf(
      document({
        '/x/{id}': {
          get: { operationId: 'read', summary: 'Short', description: 'Long', responses: {} },
          head: { operationId: 'look', responses: {} },
          put: { operationId: 'write', summary: 'Short', deprecated: true, responses: {} },
          delete: { operationId: 'remove', responses: {} },
          post: { operationId: 'add', responses: {} },
        },
      }),
    )
    expect(open.tool('read')).toMatchObject({
      description: 'Long\n\nGET /x/{id}',
      annotations: { title: 'Short', readOnlyHint: true },
      inputSchema: { type: 'object', required: ['id'], additionalProperties: false },
    })
    expect(open.tool('look').annotations).toMatchObject({ readOnlyHint: true })
    expect(open.tool('write').description).toBe('Deprecated.\n\nShort\n\nPUT /x/{id}')
    expect(open.tool('write').annotations).toMatchObject({ readOnlyHint: false, idempotentHint: true })
    expect(open.tool('remove').annotations).toMatchObject({ idempotentHint: true, destructiveHint: true })
    expect(open.tool('add').annotations).toEqual({ readOnlyHint: false, openWorldHint: true })
  })

  test('an operation that cannot be built is left out and named; the others stay', async () => {
    const { names, warnings } = await toolsOf(
      document(
        {
          '/a': { get: { operationId: 'a', parameters: [{ $ref: '#/components/parameters/gone' }], responses: {} } },
          '/b': { post: body({ $ref: '#/components/schemas/gone' }) },
          '/loop': {
            get: { operationId: 'loop', parameters: [{ $ref: '#/components/parameters/loop' }], responses: {} },
          },
          '/d': { $ref: '#/paths/~1gone' },
          no: { get: { responses: {} } },
          '/e': { get: { operationId: 'e', responses: { 200: { $ref: '#/components/responses/gone' } } } },
          '/f': {
            get: {
              operationId: 'f',
              responses: { 200: json({ type: 'array', items: { $ref: '#/components/schemas/gone' } }) },
            },
          },
          '/c': { get: { operationId: 'c', responses: {} } },
        },
        { components: { parameters: { loop: { $ref: '#/components/parameters/loop' } } } },
      ),
    )
    // A response says only what comes back: one that refers to nothing costs no tool.
    expect(names).toEqual(['e', 'f', 'c'])
    expect(warnings.map(warning => warning.split(' is left out')[0])).toEqual([
      'The path "/d"',
      'The path "no"',
      'GET /a',
      'POST /b',
      'GET /loop',
      expect.stringMatching(/^A response is not described.*responses\/gone.*: GET \/e$/),
      expect.stringMatching(/^A response is not described.*schemas\/gone.*: GET \/f$/),
    ])
    expect(warnings[2]).toContain('"#/components/parameters/gone"')
  })

  test('a "$ref" in examples, defaults and listed values is data, and one in a member of such a name is a reference', async () => {
    const data = { $ref: 'https://elsewhere.example/x.json' }
    const gone = { $ref: '#/components/schemas/gone' }
    const body = (schema: JsonObject, more: JsonObject = {}): JsonObject => ({
      requestBody: { content: { 'application/json': { schema, ...more } } },
      responses: {},
    })
    const { open, names, warnings } = await toolsOf(
      document({
        '/a': { post: { operationId: 'a', ...body({ type: 'object', default: data, example: gone, 'x-note': data }) } },
        '/b': { post: { operationId: 'b', ...body({ enum: [data, gone] }, { examples: { one: { value: data } } }) } },
        '/c': { post: { operationId: 'c', ...body({ const: data, examples: [gone] }, { example: data }) } },
        '/d': { post: { operationId: 'd', ...body({ properties: { example: gone } }) } },
        '/e': { post: { operationId: 'e', ...body({ properties: { enum: { properties: { 'x-y': gone } } } }) } },
      }),
    )
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(open.tools[0]).toMatchObject({ inputSchema: { properties: { body: { default: data } } } })
    expect(open.tools[1]).toMatchObject({ inputSchema: { properties: { body: { enum: [data, gone] } } } })
    expect(open.tools[3]).toMatchObject({ inputSchema: { properties: { body: { properties: { example: {} } } } } })
    expect(warnings).toEqual([
      expect.stringMatching(/^A part of the arguments is not described.*schemas\/gone.*: POST \/d and 1 other$/),
    ])
    const outside = document({ '/f': { post: { operationId: 'f', ...body({ properties: { default: data } }) } } })
    expect((await failure(openLink(inline(outside, 'http://127.0.0.1:1')))).code).toBe('openapi_external_ref')
  })

  test('outputs are described where every success is an object in JSON of at most 8 KiB', async () => {
    const object = {
      type: 'object',
      properties: { id: { type: 'integer' }, secret: { type: 'string', writeOnly: true } },
    }
    const op = (id: string, responses: JsonObject): JsonObject => ({ get: { operationId: id, responses } })
    const { open } = await toolsOf(
      document({
        '/a': op('object', { 404: json({ type: 'string' }), 200: json(object) }),
        '/b': op('list', { 200: json({ type: 'array', items: object }) }),
        '/c': op('either', { 200: json(object), 204: { description: '' } }),
        '/d': op('nullable', { 200: json({ ...object, nullable: true }) }),
        '/e': op('long', {
          200: json({
            ...object,
            description: 'x',
            properties: { e: { enum: Array.from({ length: 3000 }, (_, n) => n) } },
          }),
        }),
        '/f': op('xml', { 200: { description: '', content: { 'application/xml': { schema: object } } } }),
      }),
    )
    expect(open.tool('object').outputSchema).toEqual({ type: 'object', properties: { id: { type: 'integer' } } })
    for (const name of ['list', 'either', 'nullable', 'long', 'xml']) {
      expect([name, open.tool(name).outputSchema]).toEqual([name, undefined])
    }
  })
})

describe('schemas', () => {
  test('3.0 becomes 2020-12', async () => {
    const written = await bodySchema({
      type: 'object',
      properties: {
        a: { type: 'string', nullable: true, enum: ['x', 'x', 'y'] },
        b: { type: 'number', minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
        c: { nullable: true, allOf: [{ type: 'string' }] },
        d: { type: 'string', example: 'e', xml: {}, 'x-y': 1, pattern: '(', required: true },
        id: { type: 'integer', readOnly: true },
        file: { type: 'string', format: 'binary' },
      },
      required: ['a', 'id'],
    })
    expect(written).toEqual({
      type: 'object',
      properties: {
        a: { type: ['string', 'null'], enum: ['x', 'y', null] },
        b: { type: 'number', exclusiveMinimum: 1, maximum: 9 },
        c: { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] },
        d: { type: 'string', examples: ['e'] },
        file: { type: 'string', contentEncoding: 'base64' },
      },
      required: ['a'],
    })
  })

  test('3.1 keeps its keywords, also beside a reference', async () => {
    const more = {
      openapi: '3.1.0',
      components: { schemas: { Name: { type: ['string', 'null'], minLength: 1, description: 'old' } } },
    }
    const written = await bodySchema(
      {
        type: 'object',
        properties: {
          a: { $ref: '#/components/schemas/Name', description: 'new' },
          b: { $ref: '#/components/schemas/Name', maxLength: 5 },
          c: { const: 1 },
          d: { prefixItems: [{ type: 'string' }], items: false },
        },
        patternProperties: { '^x-': true, '(': true },
        if: { required: ['a'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['b'] },
      },
      more,
    )
    expect(written).toEqual({
      type: 'object',
      properties: {
        a: { type: ['string', 'null'], minLength: 1, description: 'new' },
        b: { maxLength: 5, allOf: [{ type: ['string', 'null'], minLength: 1, description: 'old' }] },
        c: { const: 1 },
        d: { prefixItems: [{ type: 'string' }], items: false },
      },
      patternProperties: { '^x-': true },
      if: { required: ['a'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['b'] },
    })
  })

  test('references are inlined, and cycles stay references that a validator follows', async () => {
    const schemas = {
      Node: {
        type: 'object',
        properties: {
          name: { $ref: '#/components/schemas/Name' },
          children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
        },
      },
      Name: { type: 'string' },
    }
    const { open } = await toolsOf({
      ...document({ '/x': { post: body({ $ref: '#/components/schemas/Node' }) } }),
      components: { schemas },
    })
    const schema = open.tool('op').inputSchema as JsonObject
    expect(schema).toMatchObject({
      properties: { body: { properties: { name: { type: 'string' }, children: { items: { $ref: '#/$defs/Node' } } } } },
      $defs: { Node: { type: 'object' } },
    })
    const valid = new Ajv2020({ strict: false }).compile(schema)
    expect(valid({ body: { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] } })).toBe(true)
    expect(valid({ body: { name: 'a', children: [{ children: [{ name: 1 }] }] } })).toBe(false)
  })

  test('a tree of references that would grow without end is written with references', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 20 }, (_, level) => [
        `L${level}`,
        {
          type: 'object',
          properties:
            level === 19
              ? { end: { type: 'string' } }
              : {
                  a: { $ref: `#/components/schemas/L${level + 1}` },
                  b: { $ref: `#/components/schemas/L${level + 1}` },
                },
        },
      ]),
    )
    const { open, warnings } = await toolsOf({
      ...document({ '/x': { post: body({ $ref: '#/components/schemas/L0' }) } }),
      components: { schemas },
    })
    const text = JSON.stringify(open.tool('op').inputSchema)
    expect(text.length).toBeLessThan(10_000)
    expect(warnings).toEqual([])
    const valid = new Ajv2020({ strict: false }).compile(JSON.parse(text))
    expect(valid({ body: { a: { b: {} } } })).toBe(true)
    expect(valid({ body: { a: { b: 1 } } })).toBe(false)
  })

  test('an operation whose schemas are too deep is left out', async () => {
    let deep: JsonObject = { type: 'string' }
    for (let level = 0; level < 25; level += 1) deep = { type: 'array', items: deep }
    const schemas = { A: { type: 'object', properties: { deep: { ...deep } } } }
    let outer: JsonObject = { $ref: '#/components/schemas/A' }
    for (let level = 0; level < 33; level += 1) outer = { not: outer }
    const { names, warnings } = await toolsOf({
      ...document({
        '/x': { post: body(outer) },
        '/y': { post: { ...body({ $ref: '#/components/schemas/A' }), operationId: 'y' } },
      }),
      components: { schemas },
    })
    expect(names).toEqual(['y'])
    expect(warnings[0]).toBe('POST /x is left out: its schemas are nested deeper than 32 levels')
  })
})
