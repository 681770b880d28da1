import { describe, expect, test } from 'bun:test'
import type { JsonObject, JsonValue } from 'patchbay/contract'
import { parseExact } from '../../../core/domain/json/exact-json.ts'
import { findFaults } from '../../../plugins/transport-openapi/arguments/argument-check.ts'
import { atMost } from '../../support/pace.ts'
import { failure, inline, openLink, operation, startApi } from './harness.ts'

function faults(schema: JsonObject, value: JsonValue, more: JsonObject = {}): string[] {
  const found = findFaults({ type: 'object', properties: { a: schema }, ...more }, { a: value })
  return found.map(({ at, why }) => `${at} ${why}`)
}

describe('findFaults()', () => {
  test.each<[JsonObject, string, string | undefined]>([
    [{ type: 'integer' }, '5', undefined],
    [{ type: 'integer' }, '5.0', undefined],
    [{ type: 'integer' }, '12345678901234567890', undefined],
    [{ type: 'integer', format: 'int64' }, '9223372036854775807', undefined],
    [{ type: 'number' }, '1e400', undefined],
    [{ type: 'number', maximum: 10 }, '1e400', 'a must be at most 10 and is 1e400'],
    [{ type: 'integer' }, '1.5', 'a must be an integer and is a number, 1.5'],
    [{ type: 'integer' }, '"abc"', 'a must be an integer and is a string, "abc"'],
    [{ type: 'integer', format: 'int32' }, '2147483648', 'a must be a whole number of 32 bits and is 2147483648'],
    [{ type: ['string', 'null'] }, 'null', undefined],
    [{ type: ['string', 'null'] }, '{}', 'a must be a string or null and is an object'],
    [{ type: 'boolean' }, '"true"', 'a must be a boolean and is a string, "true"'],
    [{ enum: ['red', 'blue'] }, '"green"', 'a must be one of "red", "blue" and is "green"'],
    [{ enum: [1, { x: [2] }] }, '{"x":[2.0]}', undefined],
    [{ const: 1 }, '1.0', undefined],
    [{ const: 'x' }, '"y"', 'a must be "x" and is "y"'],
    [{ minimum: 1 }, '0', 'a must be at least 1 and is 0'],
    [{ exclusiveMaximum: 1 }, '1', 'a must be less than 1 and is 1'],
    [{ multipleOf: 5 }, '7', 'a must be a multiple of 5 and is 7'],
    [{ minLength: 3 }, '"ab"', 'a must have at least 3 characters and has 2'],
    [{ maxLength: 2 }, '"😀😀"', undefined],
    [{ maxLength: 1 }, '"😀😀"', 'a must have at most 1 characters and has 2'],
    [{ format: 'date' }, '"2026-02-30"', 'a must have the format "date" and is "2026-02-30"'],
    [{ format: 'date' }, '"2024-02-29"', undefined],
    [{ format: 'date-time' }, '"2026-01-01T10:00:00Z"', undefined],
    [{ format: 'date-time' }, '"tomorrow"', 'a must have the format "date-time" and is "tomorrow"'],
    [{ format: 'uuid' }, '"1"', 'a must have the format "uuid" and is "1"'],
    [{ format: 'email' }, '"ann"', 'a must have the format "email" and is "ann"'],
    [{ format: 'uri' }, '"/x"', 'a must have the format "uri" and is "/x"'],
    [{ format: 'ipv4' }, '"1.2.3"', 'a must have the format "ipv4" and is "1.2.3"'],
    [{ format: 'of-our-own' }, '"x"', undefined],
    [{ items: { type: 'string' } }, '["a",{"b":1}]', 'a[1] must be a string and is an object'],
    [{ maxItems: 1 }, '[1,2]', 'a must have at most 1 items and has 2'],
    [{ required: ['b'] }, '{}', 'a.b is missing'],
    [{ properties: { b: {} }, additionalProperties: false }, '{"c":1}', 'a.c is not known; known are "b"'],
    [
      { anyOf: [{ type: 'string' }, { properties: { b: { type: 'null' } }, required: ['b'] }] },
      '{"b":1}',
      'a.b must be null and is a number, 1',
    ],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, '1', undefined],
    [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, '4', 'a must be at most 3 and is 4'],
    [
      { $ref: '#/$defs/Node' },
      '{"next":{"next":{"size":"x"}}}',
      'a.next.next.size must be a number and is a string, "x"',
    ],
    [false as unknown as JsonObject, '1', 'a has no place here'],
  ])('%j on %s: %s', (schema, json, fault) => {
    const Node = { properties: { next: { $ref: '#/$defs/Node' }, size: { type: 'number' } } }
    expect(faults(schema, parseExact(json), { $defs: { Node } })).toEqual(fault === undefined ? [] : [fault])
  })

  test('takes a bounded time for whatever a document holds, and runs none of its expressions', () => {
    const beganMs = performance.now()
    const long = 'a'.repeat(100_000)
    expect(faults({ pattern: '^(a+)+$', type: 'string' }, `${long}!`)).toEqual([])
    expect(
      faults({ patternProperties: { '^(a+)+$': { type: 'null' } }, additionalProperties: false }, { [`${long}!`]: 1 }),
    ).toEqual([])
    const loop = { allOf: [{ $ref: '#/$defs/loop' }, { $ref: '#/$defs/loop' }] }
    expect(faults(loop, 1, { $defs: { loop } })).toEqual([])
    const bush = { anyOf: Array.from({ length: 8 }, () => ({ $ref: '#/$defs/bush' })), type: 'object' }
    faults(
      { items: bush },
      Array.from({ length: 10_000 }, () => ({})),
      { $defs: { bush } },
    )
    for (const format of ['date-time', 'email', 'uri', 'uuid', 'date', 'ipv6']) faults({ format }, long)
    expect(performance.now() - beganMs).toBeLessThan(atMost(500))
  })
})

test('every wrong argument is named, and nothing is sent', async () => {
  await using api = await startApi()
  const schema = operation(
    '/x',
    [
      { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 10 } },
      { name: 'state', in: 'query', required: true, schema: { enum: ['open', 'closed'] } },
    ],
    {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { properties: { at: { type: 'string', format: 'date' } } } } },
      },
    },
    'post',
  )
  await using open = await openLink(inline(schema, api.url))
  const { code, message } = await failure(open.call('op', { limit: 'ten', body: { at: 'x' } }))
  expect(code).toBe('params_invalid')
  for (const told of ['"limit" must be an integer', '"state" is missing', '"body.at" must have the format "date"'])
    expect(message).toContain(told)
  expect(api.seen).toEqual([])
  await open.call('op', { state: 'open', limit: null, body: {} })
  expect(api.last().target).toBe('/x?state=open')
})
