import { expect, test } from 'bun:test'
import { problemsOf } from '../../../ui/components/schema-form/check.ts'
import { initialValue } from '../../../ui/components/schema-form/initial.ts'
import { pointerOf, valueAt, withValue } from '../../../ui/components/schema-form/json-value.ts'
import { propertiesOf, SchemaReader } from '../../../ui/components/schema-form/schema.ts'
import { atMost } from '../../support/pace.ts'

// Numbers in messages are written in the language of the page.
Object.assign(globalThis, { document: { documentElement: { lang: 'en' } } })

const kind = (schema: Record<string, unknown>): string => new SchemaReader(schema).read(schema).kind
const pointers = (schema: Record<string, unknown>, value: unknown): string[] =>
  problemsOf(new SchemaReader(schema), schema, value).map(({ pointer }) => pointer)

test('SchemaReader names the kind of field of each shape', () => {
  expect(kind({ type: 'string' })).toBe('text')
  expect(kind({ type: ['integer', 'null'] })).toBe('integer')
  expect(kind({ type: ['integer', 'string'] })).toBe('choice')
  expect(kind({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toBe('text')
  expect(kind({ oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] })).toBe('enum')
  expect(kind({ items: { type: 'string' } })).toBe('array')
  expect(kind({ properties: { a: {} } })).toBe('object')
  expect(kind({ type: 'object', additionalProperties: { type: 'string' } })).toBe('map')
  expect(kind({ type: 'object' })).toBe('json')
  expect(kind({})).toBe('json')
})

test('SchemaReader follows references within the schema, and none that lead out of it or in a circle', () => {
  const schema = { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'boolean' } } }
  expect(kind(schema)).toBe('boolean')
  expect(kind({ $ref: 'https://example.com/schema' })).toBe('json')
  expect(kind({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toBe('json')
  expect(kind({ $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' })).toBe('json')
})

test('SchemaReader puts allOf together', () => {
  const schema = {
    allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { properties: { b: { type: 'string' } } }],
  }
  const { schema: merged } = new SchemaReader(schema).read(schema)
  expect(propertiesOf(merged).map(({ name, required }) => [name, required])).toEqual([
    ['a', true],
    ['b', false],
  ])
})

test('propertiesOf() has the required ones first', () => {
  const schema = { properties: { a: {}, b: {}, c: {} }, required: ['c'] }
  expect(propertiesOf(schema).map(({ name }) => name)).toEqual(['c', 'a', 'b'])
})

test('problemsOf() finds mistakes with the pointer of their field', () => {
  const schema = {
    type: 'object',
    required: ['q', 'n'],
    additionalProperties: false,
    properties: {
      q: { type: 'string', minLength: 2 },
      n: { type: 'integer', minimum: 1, maximum: 5 },
      link: { type: 'string', format: 'uri' },
      sort: { enum: ['a', 'b'] },
      list: { type: 'array', items: { type: 'number' }, maxItems: 3 },
      shape: {
        oneOf: [{ type: 'string' }, { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] }],
      },
    },
  }
  expect(pointers(schema, { q: 'ok', n: 3, link: 'https://x.y/', sort: 'a', list: [1], shape: { x: 1 } })).toEqual([])
  expect(pointers(schema, { q: 'a', n: 9, link: 'x', sort: 'c', list: [1, 'a'], shape: { x: 'a' }, z: 1 })).toEqual([
    '/q',
    '/n',
    '/link',
    '/sort',
    '/list/1',
    '/shape',
    '/z',
  ])
  expect(pointers(schema, {})).toEqual(['/q', '/n'])
})

test('problemsOf() matches simple patterns and leaves those that may take for ever to the server', () => {
  expect(pointers({ type: 'string', pattern: '^[a-z]+$' }, 'A')).toEqual([''])
  const started = performance.now()
  expect(pointers({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`)).toEqual([])
  expect(performance.now() - started).toBeLessThan(atMost(200))
})

test('schemas that refer to themselves cost bounded work', () => {
  const tree = {
    type: 'object',
    properties: { left: { $ref: '#' }, right: { $ref: '#' } },
    required: ['left', 'right'],
  }
  const loop = { anyOf: [{ $ref: '#' }, { $ref: '#' }, { type: 'object', properties: { next: { $ref: '#' } } }] }
  const wide = {
    $defs: { node: { type: 'object', properties: {} as Record<string, unknown>, required: [] as string[] } },
    $ref: '#/$defs/node',
  }
  for (let at = 0; at < 150; at += 1) {
    wide.$defs.node.properties[`p${at}`] = { $ref: '#/$defs/node' }
    wide.$defs.node.required.push(`p${at}`)
  }
  const started = performance.now()
  for (const schema of [tree, loop, wide]) {
    const reader = new SchemaReader(schema)
    const value = initialValue(reader, schema)
    problemsOf(reader, schema, value)
    problemsOf(reader, schema, { next: { next: { next: 1 } } })
  }
  expect(performance.now() - started).toBeLessThan(atMost(1000))
})

test('initialValue() has defaults and required parts alone', () => {
  const schema = {
    type: 'object',
    required: ['filter', 'on', 'q'],
    properties: {
      q: { type: 'string' },
      on: { type: 'boolean' },
      page: { type: 'integer', default: 1 },
      filter: { type: 'object', properties: { kind: { const: 'a' }, size: { type: 'number' } }, required: ['kind'] },
    },
  }
  expect(initialValue(new SchemaReader(schema), schema)).toEqual({ filter: { kind: 'a' }, on: false, page: 1 })
})

test('withValue() changes a copy, keeps the order of keys and takes out what becomes undefined', () => {
  const value = { a: 1, list: [1, 2, 3], __proto: 1 }
  expect(withValue(value, ['list', 1], undefined)).toEqual({ ...value, list: [1, 3] })
  expect(withValue(value, ['b', 'c'], 5)).toEqual({ ...value, b: { c: 5 } })
  expect(Object.keys(withValue(value, ['a'], 2) as object)).toEqual(['a', 'list', '__proto'])
  expect(value.a).toBe(1)
  const hostile = withValue({}, ['__proto__'], { polluted: true }) as object
  expect(Object.hasOwn(hostile, '__proto__')).toBe(true)
  expect(valueAt({}, ['toString'])).toBeUndefined()
  expect(pointerOf(['a/b', 0, '~'])).toBe('/a~1b/0/~0')
})
