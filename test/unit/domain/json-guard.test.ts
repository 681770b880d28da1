import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { HubError } from '../../../core/contract/errors.ts'
import { parseJsonObject } from '../../../core/domain/json/json-guard.ts'
import { scanShape } from '../../../core/domain/json/json-shape.ts'
import { shortlyNamed } from '../../support/short-names.ts'

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
  test.each(
    shortlyNamed([
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
    ]),
  )('refuses %s as %s', (_, code, text) => {
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

describe('scanShape()', () => {
  test('finds every number that JSON would write in another way, in any place, and none in strings', () => {
    const numbers = [
      '1.0',
      '1e3',
      '1E3',
      '-0',
      '-0.0',
      '0.10',
      '12345678901234567',
      '-1234567890123456789',
      '1e400',
      '0.5',
    ]
    for (const number of numbers) {
      for (const text of [number, `[${number}]`, `{"a":${number},"b":1}`, `[1,"x", ${number} ]`]) {
        expect({ text, odd: scanShape(text).oddNumbers }).toEqual({ text, odd: true })
      }
      expect(scanShape(`{"${number}":"${number}"}`).oddNumbers).toBe(false)
    }
    for (const number of ['0', '-1', '7', '123456789012345', '-12345678901234', 'true', 'false', 'null'])
      expect({ number, odd: scanShape(`{"a":[${number},${number}]}`).oddNumbers }).toEqual({ number, odd: false })
  })

  test('counts what is outside of strings, numbers between', () => {
    const { depth, colons, commas, containers } = scanShape('{"a,[":[1,-2,{"b":3}],"c":4}')
    expect({ depth, colons, commas, containers }).toEqual({ depth: 3, colons: 3, commas: 3, containers: 3 })
  })
})
