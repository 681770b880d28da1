import { expect, test } from 'bun:test'
import { memberText } from '../../../../core/connections/worker/links/incoming.ts'
import { legacyResult } from '../../../../core/connections/worker/links/modern-results.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'

function legacy(text: string): string {
  return legacyResult(text, JSON.parse(text) as JsonObject)
}

test('members of the modern era are removed, and all others stay as they were written', () => {
  expect(
    legacy('{ "resultType": "complete", "n":12345678901234567890, "x":1.10,"cacheScope":"private", "ttlMs":5 }'),
  ).toBe('{"n":12345678901234567890,"x":1.10}')
  expect(legacy('{"content":[{"type":"text","text":"\\"resultType\\":1,}"}],"resultType":"complete"}')).toBe(
    '{"content":[{"type":"text","text":"\\"resultType\\":1,}"}]}',
  )
})

test('members of that name below the outermost object stay', () => {
  const inner = '{"structuredContent":{"resultType":"a","ttlMs":1},"content":[]}'
  expect(legacy(inner)).toBe(inner)
})

test.each([
  ['a list', '[1,{"a":12345678901234567890}]'],
  ['a text', '"hello"'],
  ['null', 'null'],
])('structured content that is %s becomes text', (_, value) => {
  const result = JSON.parse(legacy(`{"structuredContent":${value},"content":[],"resultType":"complete"}`))
  expect(result).toEqual({ content: [{ type: 'text', text: value }] })
})

test('structured content that the server has said as text already is not said twice', () => {
  const text = '{"content":[{"type":"text","text":"[1, 2]"}],"structuredContent":[1,2],"isError":false}'
  expect(legacy(text)).toBe('{"content":[{"type":"text","text":"[1, 2]"}],"isError":false}')
  const other = JSON.parse(legacy('{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2]}'))
  expect(other.content).toHaveLength(2)
  expect(other.content[1].text).toBe('[1,2]')
})

test('memberText() takes the last of two members of one name', () => {
  expect(memberText('{"a":1,"b":{"a":2},"a": [3, "}"] }', 'a')).toBe('[3, "}"]')
  expect(memberText('{"b":{"a":2}}', 'a')).toBe('')
})
