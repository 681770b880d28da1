import { describe, expect, test } from 'bun:test'
import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { readItem } from '../../../../core/connections/worker/lists/list-items.ts'
import type { JsonObject, JsonValue } from '../../../../core/contract/json.ts'
import { parseExact } from '../../../../core/domain/json/exact-json.ts'
import type { ListKind } from '../../../../core/domain/mcp-methods.ts'

/** Values that are wrong for any member. */
const ODD: readonly JsonValue[] = [
  null,
  7,
  -1.5,
  true,
  'x',
  [],
  ['x'],
  [null],
  {},
  { src: 5 },
  { a: [] },
  [{ name: 1 }],
]

const LISTS = {
  tools: {
    list: (item: unknown) => ListToolsResultSchema.parse({ tools: [item] }),
    base: { name: 't', inputSchema: { type: 'object' } },
  },
  prompts: { list: (item: unknown) => ListPromptsResultSchema.parse({ prompts: [item] }), base: { name: 'p' } },
  resources: {
    list: (item: unknown) => ListResourcesResultSchema.parse({ resources: [item] }),
    base: { name: 'r', uri: 'a:b' },
  },
  resourceTemplates: {
    list: (item: unknown) => ListResourceTemplatesResultSchema.parse({ resourceTemplates: [item] }),
    base: { name: 'x', uriTemplate: 'a:{b}' },
  },
} as const satisfies Record<ListKind, { list: (item: unknown) => unknown; base: JsonObject }>

const itemOf = (kind: ListKind, item: JsonObject): JsonObject => {
  const found = readItem(kind, item)
  if ('objection' in found) throw new Error(found.objection)
  return found.item
}

describe('readItem()', () => {
  for (const [kind, { list, base }] of Object.entries(LISTS)) {
    test(`every member of ${kind} in any form is one that the official client reads, or is taken off`, () => {
      const members = [
        'title',
        'description',
        'icons',
        '_meta',
        'annotations',
        'mimeType',
        'size',
        'arguments',
        'execution',
      ]
      let refused = 0
      for (const member of members) {
        for (const value of ODD) {
          const item = { ...base, [member]: value }
          try {
            list(item)
          } catch {
            refused += 1
          }
          expect(() => list(itemOf(kind as ListKind, item))).not.toThrow()
        }
      }
      expect(refused).toBeGreaterThan(30)
    })
  }

  test('the schemas of a tool in any form are ones that the official client reads, or the tool is left out', () => {
    const schemas: JsonValue[] = [
      ...ODD,
      { type: 'string' },
      { type: ['object', 'null'] },
      { type: null, properties: null },
    ]
    for (const part of ODD)
      schemas.push({ type: 'object', properties: part }, { type: 'object', properties: { a: part } })
    for (const part of ODD) schemas.push({ type: 'object', required: part })
    for (const inputSchema of schemas) {
      const found = readItem('tools', { name: 't', inputSchema })
      if ('objection' in found) expect(found.objection).toContain('the tool "t" is left out')
      else expect(() => LISTS.tools.list(found.item)).not.toThrow()
    }
    for (const outputSchema of schemas.filter(schema => JSON.stringify(schema).includes('"type":"object"')))
      expect(() => LISTS.tools.list(itemOf('tools', { ...LISTS.tools.base, outputSchema }))).not.toThrow()
  })

  test('a tool without arguments is offered in whatever way that is written', () => {
    for (const item of [{ name: 't' }, { name: 't', inputSchema: null }, { name: 't', inputSchema: true }])
      expect(readItem('tools', item)).toEqual({
        item: { name: 't', inputSchema: { type: 'object' } },
        normalized: ['inputSchema'],
      })
    expect(itemOf('tools', { name: 't', inputSchema: { properties: { a: true, b: false } } }).inputSchema).toEqual({
      type: 'object',
      properties: { a: {}, b: { not: {} } },
    })
  })

  const city = { type: 'object', properties: { city: { type: 'string' } } }
  test.each<[string, JsonObject, JsonObject | undefined]>([
    ['a JSON text', { inputSchema: JSON.stringify(city) }, city],
    ['an empty list of PHP', { inputSchema: [] }, { type: 'object' }],
    ['an empty list in a text', { inputSchema: '[]' }, { type: 'object' }],
    ['types in capitals', { inputSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } } } }, city],
    [
      'types in the lists',
      { inputSchema: { type: ['Object'], anyOf: [{ type: 'OBJECT' }] } },
      { type: 'object', anyOf: [{ type: 'object' }] },
    ],
    ['input_schema', { input_schema: city }, city],
    ['input_schema as a text', { inputSchema: null, input_schema: JSON.stringify(city) }, city],
    ['parameters', { parameters: city }, city],
    ['inputSchema before parameters', { inputSchema: city, parameters: { type: 'object' } }, city],
    ['a text that is no object', { inputSchema: 'city: string' }, undefined],
    ['a list of names', { inputSchema: ['city'] }, undefined],
    ['another type', { parameters: { type: 'String' } }, undefined],
  ])('arguments as %s', (_, members, schema) => {
    const found = readItem('tools', { name: 't', ...members })
    if (schema === undefined) expect('objection' in found && found.objection).toContain('describes no object')
    else {
      expect('item' in found && found.item.inputSchema).toEqual(schema)
      expect('item' in found && found.normalized).toEqual(members.inputSchema === city ? [] : ['inputSchema'])
    }
  })

  test('data in a schema keeps its letters', () => {
    const inputSchema = {
      type: 'Object',
      properties: { a: { enum: [{ type: 'STRING' }], default: { type: 'OBJECT' } } },
    }
    expect(itemOf('tools', { name: 't', inputSchema }).inputSchema).toEqual({ ...inputSchema, type: 'object' })
  })

  test('a resource without a name is listed under its address', () => {
    expect(readItem('resources', { uri: 'a:b' })).toEqual({ item: { uri: 'a:b', name: 'a:b' }, normalized: ['name'] })
    expect(itemOf('resourceTemplates', { uriTemplate: 'a:{b}', name: null })).toMatchObject({ name: 'a:{b}' })
  })

  test('a well-formed item stays the very same object, with unknown members and numbers of any size', () => {
    const items: readonly [ListKind, string][] = [
      [
        'tools',
        '{"name":"t","x":null,"inputSchema":{"type":"object","properties":{"n":{"default":12345678901234567890}}}}',
      ],
      ['tools', '{"name":"t","inputSchema":{"type":"object","$defs":[],"title":null},"outputSchema":{"type":"array"}}'],
      ['prompts', '{"name":"p","arguments":[{"name":"a","required":true,"x":1}],"icons":[{"src":"a","theme":"dark"}]}'],
      ['resources', '{"name":"r","uri":"a","size":12345678901234567890,"annotations":{"priority":0.5}}'],
      ['resources', '{"name":"r","uri":"a","annotations":{"lastModified":"2026-01-02T03:04:05.678+01:00"}}'],
    ]
    for (const [kind, text] of items) {
      const item = parseExact(text) as JsonObject
      const found = readItem(kind, item)
      expect('item' in found && found.item).toBe(item)
      expect(JSON.stringify('item' in found && found.item)).toBe(text)
    }
  })
})
