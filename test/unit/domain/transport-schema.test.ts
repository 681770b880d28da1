import { expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import { Fields } from '../../../core/domain/json/fields.ts'
import { readMembers, schemaFault } from '../../../core/domain/server/transport-schema.ts'

const SCHEMA: JsonObject = {
  type: 'object',
  required: ['name', 'rooms'],
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
    rooms: {
      type: 'array',
      maxItems: 3,
      items: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
    },
    depth: { type: 'integer', minimum: 1, maximum: 9 },
    ratio: { type: 'number', minimum: 0, maximum: 1 },
    on: { type: 'boolean' },
    mode: { enum: ['a', 'b'] },
    version: { enum: [1, 2] },
    labels: { type: 'object', maxProperties: 2, additionalProperties: { type: 'string', maxLength: 3 } },
    strict: { type: 'object', properties: { x: {} }, additionalProperties: false },
    anything: {},
  },
}

function problems(body: JsonObject): string[] {
  const fields = new Fields(body)
  readMembers(SCHEMA, fields, new Map())
  return fields.errors.map(({ code, pointer }) => `${code} ${pointer}`)
}

const valid: JsonObject = { name: 'abc', rooms: [{ id: 1 }] }

test('a configuration that the schema permits has no problems', () => {
  expect(schemaFault(SCHEMA)).toBeUndefined()
  const all = { depth: 9, ratio: 0.5, on: false, mode: 'b', version: 2, labels: { a: 'x' }, strict: { x: [1] } }
  expect(problems({ ...valid, ...all, anything: { at: ['all'] } })).toEqual([])
})

test.each<[JsonObject, string[]]>([
  [{}, ['required #/name', 'required #/rooms']],
  [{ ...valid, name: 'a' }, ['length #/name']],
  [{ ...valid, name: 'abcde' }, ['length #/name']],
  [{ ...valid, name: 'AB' }, ['format #/name']],
  [{ ...valid, name: 7 }, ['type #/name']],
  [{ ...valid, rooms: [{ id: 1 }, { id: 'x' }, {}] }, ['type #/rooms/1/id', 'required #/rooms/2/id']],
  [{ ...valid, rooms: [1] }, ['type #/rooms/0']],
  [{ ...valid, rooms: [{}, {}, {}, {}] }, ['length #/rooms']],
  [{ ...valid, rooms: {} }, ['type #/rooms']],
  [{ ...valid, depth: 10 }, ['range #/depth']],
  [{ ...valid, ratio: 2 }, ['range #/ratio']],
  [{ ...valid, ratio: '1' }, ['type #/ratio']],
  [{ ...valid, on: 1 }, ['type #/on']],
  [{ ...valid, mode: 'c' }, ['enum #/mode']],
  [{ ...valid, version: 3 }, ['enum #/version']],
  [{ ...valid, labels: { a: 1, 'b/c': 'long' } }, ['type #/labels/a', 'length #/labels/b~1c']],
  [{ ...valid, labels: { a: '', b: '', c: '' } }, ['length #/labels']],
  [{ ...valid, strict: { y: 1 } }, ['unknown_field #/strict/y']],
])('%p is refused with %p', (body, wanted) => {
  expect(problems(body)).toEqual(wanted)
})
