import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { type ShownTool, ToolsDocument } from '../../../core/domain/tools/tools-document.ts'

const ADDRESS = { title: 'g', url: 'https://hub.example.com/api/groups/a~g/tools' }

function documentOf(...tools: readonly ShownTool[]) {
  const document = new ToolsDocument(ADDRESS, '1')
  for (const one of tools) document.add(one)
  return JSON.parse([...document.texts()].join('')) as {
    readonly paths: Readonly<Record<string, JsonObject>>
    readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> }
    readonly 'x-left-out'?: readonly string[]
  }
}

const tool = (name: string, inputSchema: JsonObject, more: JsonObject = {}): ShownTool => ({
  ...{ name, server: 's' },
  definition: { name, inputSchema, ...more },
})

function inputOf(inputSchema: JsonObject): JsonObject | undefined {
  return documentOf(tool('t', inputSchema)).components.schemas.t_input
}

const AT = '#/components/schemas/t_input'

describe('references of a schema', () => {
  test('lead to where it stands now', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/all',
      properties: { a: { $ref: '#/$defs/x~1y' }, self: { items: { $ref: '#' } }, $ref: { type: 'string' } },
      $defs: { 'x/y': { anyOf: [{ $ref: '#/$defs/z' }] }, z: true },
      enum: [{ $ref: '#/data' }],
    }
    expect(inputOf(schema)).toEqual({
      properties: {
        a: { $ref: `${AT}/$defs/x~1y` },
        self: { items: { $ref: AT } },
        $ref: { type: 'string' },
      },
      $defs: { 'x/y': { anyOf: [{ $ref: `${AT}/$defs/z` }] }, z: true },
      enum: [{ $ref: '#/data' }],
    })
  })

  test('of a part with an address of its own mean that part', () => {
    const part = { $id: 'https://example.com/part', $defs: { leaf: { type: 'integer' } }, $ref: '#/$defs/leaf' }
    expect(inputOf({ properties: { 'a/b': { items: part } } })).toEqual({
      properties: {
        'a/b': { items: { $defs: { leaf: { type: 'integer' } }, $ref: `${AT}/properties/a~1b/items/$defs/leaf` } },
      },
    })
  })

  test.each([
    ['another document', { properties: { a: { $ref: 'https://example.com/x' } } }],
    ['a file', { properties: { a: { $ref: 'x.json#/a' } } }],
    ['an anchor', { properties: { a: { $ref: '#anchor' } } }],
    ['what is not there', { properties: { a: { $ref: '#/$defs/none' } } }],
    ['an inherited member', { properties: { a: { $ref: '#/constructor' } } }],
    ['what is known at its use', { $dynamicRef: '#x' }],
    ['no text', { properties: { a: { $ref: 7 } } }],
    ['half a letter', { properties: { a: { $ref: '#/%E0%A4' } } }],
  ])('to %s leave the tool out, by its name', (_what, schema) => {
    const document = documentOf(tool('t', schema as JsonObject), tool('u', { type: 'object' }))
    expect(Object.keys(document.paths)).toEqual(['/u'])
    expect(document['x-left-out']).toEqual(['t'])
  })
})

test('tools whose names differ only in odd letters have schemas of their own', () => {
  const tools = ['a b', 'a_b', 'Problem', 'ä'].map(name => tool(name, { title: name }))
  const { components, paths } = documentOf(...tools)
  expect(Object.keys(paths)).toEqual(['/a%20b', '/a_b', '/Problem', '/%C3%A4'])
  for (const key of Object.keys(components.schemas)) expect(key).toMatch(/^[A-Za-z0-9._-]+$/)
  const titles = Object.values(components.schemas).flatMap(schema => schema.title ?? [])
  expect(titles).toEqual(['a b', 'a_b', 'Problem', 'ä'])
})

test('an answer’s schema is included where it is self-contained', () => {
  const outputs = [{ type: 'object' }, { $ref: '#/$defs/x', $defs: { x: {} } }].map(
    outputSchema => documentOf(tool('t', {}, { outputSchema })).paths,
  )
  const schemas = outputs.map(
    paths => JSON.stringify(paths['/t']).match(/"application\/json":\{"schema":(\{[^}]*\})\},"application\/vnd/)?.[1],
  )
  expect(schemas).toEqual(['{"type":"object"}', '{}'])
})
