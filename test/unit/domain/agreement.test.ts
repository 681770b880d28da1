import { describe, expect, test } from 'bun:test'
import type { JsonValue } from '../../../core/contract/json.ts'
import { comparable, differences } from '../../../core/domain/groups/agreement.ts'

const object = (properties: Record<string, JsonValue>, more: Record<string, JsonValue> = {}): JsonValue => ({
  ...{ type: 'object', properties },
  ...more,
})
const differing = (one: JsonValue, other: JsonValue) => differences(comparable(one), comparable(other))

describe('differences()', () => {
  test('ignores words for readers and the order of names, but not properties of such names', () => {
    const one = object({ a: { type: 'string', description: 'An A' }, title: {} }, { required: ['a', 'title'] })
    expect(differing(one, object({ title: {}, a: { type: 'string' } }, { required: ['title', 'a'] }))).toEqual([])
    expect(differing(one, object({ a: { type: 'string' } }, { required: ['a', 'title'] }))).toEqual([
      { at: '/properties/title', one: '{}' },
    ])
  })

  test('ignores the order of lists, and what another generator of schemas leaves out', () => {
    const one = object(
      { a: { type: 'string', enum: ['x', 'y'] }, b: { type: 'object' } },
      { required: [], additionalProperties: true, $defs: {} },
    )
    const other = object({
      a: { type: ['string'], enum: ['y', 'x'], deprecated: true },
      b: { type: 'object', properties: {} },
    })
    expect(differing(one, other)).toEqual([])
    expect(differing(one, object({}, { additionalProperties: false }))).not.toEqual([])
    expect(differing({ enum: ['x', 'y'] }, { enum: ['x'] })).toEqual([
      { at: '/enum', one: '["x","y"]', other: '["x"]' },
    ])
  })

  test('names the places, at most five, with what is there', () => {
    const one = object({ a: { type: 'integer' }, b: { enum: ['x'] } })
    const other = object({ a: { type: 'string' }, b: { enum: ['x', 'y'] }, 'c/d': true })
    expect(differing(one, other)).toEqual([
      { at: '/properties/a/type', one: '"integer"', other: '"string"' },
      { at: '/properties/b/enum', one: '["x"]', other: '["x","y"]' },
      { at: '/properties/c~1d', other: 'true' },
    ])
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`p${at}`, {}]))
    expect(differing(object({}), object(many))).toHaveLength(5)
  })

  test('keeps data as it is: a constant with a description is another constant', () => {
    expect(differing({ const: { description: 'a' } }, { const: { description: 'b' } })).toHaveLength(1)
    expect(differing({ default: { title: 1 } }, { default: { title: 2 } })).toHaveLength(1)
  })
})
