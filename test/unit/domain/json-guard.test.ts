import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { HubError } from '../../../core/contract/errors.ts'
import { parseJsonObject } from '../../../core/domain/json-guard.ts'

function refused(text: string, limits = {}): HubError {
  try {
    parseJsonObject(text, limits)
  } catch (error) {
    if (error instanceof HubError) return error
    throw error
  }
  throw new Error(`Taken: ${text}`)
}

const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`

describe('parseJsonObject()', () => {
  test.each([
    ['', 'json_empty'],
    [' \n', 'json_empty'],
    ['{', 'json_invalid'],
    ['{"a":1,}', 'json_invalid'],
    ['{/**/}', 'json_invalid'],
    ["{'a':1}", 'json_invalid'],
    ['{"a":01}', 'json_invalid'],
    ['{"a":"\t"}', 'json_invalid'],
    ['{} {}', 'json_invalid'],
    ['null', 'json_not_object'],
    ['[]', 'json_not_object'],
    ['"x"', 'json_not_object'],
    ['1', 'json_not_object'],
    ['{"a":1,"a":1}', 'json_duplicate_key'],
    ['{"b":[{"a":1,"\\u0061":2}]}', 'json_duplicate_key'],
    ['{"__proto__":1}', 'key_forbidden'],
    ['{"a":{"constructor":1}}', 'key_forbidden'],
    ['{"a":[{"prototype":1}]}', 'key_forbidden'],
    [nested(65), 'json_too_deep'],
    ['['.repeat(1_000_000), 'json_too_deep'],
    [`{"a":[${'1,'.repeat(10_000)}1]}`, 'json_too_large'],
  ])('refuses %.30s as %s', (text, code) => {
    expect(refused(text).code).toBe(code as never)
  })

  test('takes the deepest and the largest that is allowed', () => {
    expect(parseJsonObject(nested(64))).toBeDefined()
    expect(parseJsonObject(`{"a":[${'1,'.repeat(9_998)}1]}`)).toBeDefined()
  })

  test('says line and column of what is wrong', () => {
    expect(refused('{\n  "a": 1,\n  "b" 2\n}').data).toEqual({ line: 3, column: 7 })
    expect(refused('{\n  "a": 1,\n  "a": 2\n}').data).toEqual({ line: 3, column: 3 })
  })

  test('counts no colon or bracket inside strings', () => {
    const value = { 'a:"b': '{[:\\"', '\\': ':' }
    expect(parseJsonObject(JSON.stringify(value))).toEqual(value)
  })

  test('gives a foreign part its own limits', () => {
    const text = `{"openapi":{"schema":{"constructor":${nested(60)},"list":[${'1,'.repeat(20_000)}1]}}}`
    const foreign = { endings: ['/openapi/schema'], depth: 64, members: 50_000 }
    expect(parseJsonObject(text, { foreign })).toBeDefined()
    expect(refused(text).code).toBe('json_too_large')
    expect(refused('{"openapi":{"schema":{"constructor":1}}}').code).toBe('key_forbidden')
    expect(refused('{"openapi":{"schema":{"__proto__":1}}}', { foreign }).code).toBe('key_forbidden')
    const deep = `{"openapi":{"schema":${nested(65)}}}`
    expect(refused(deep, { foreign }).code).toBe('json_too_deep')
  })

  test('reads every object that JSON.stringify writes', () => {
    const json = fc.dictionary(
      fc.string().filter(key => !['__proto__', 'constructor', 'prototype'].includes(key)),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(json, value => {
        const text = JSON.stringify(value)
        if (/"(?:__proto__|constructor|prototype)"/.test(text)) return
        expect(JSON.stringify(parseJsonObject(text))).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })
})
