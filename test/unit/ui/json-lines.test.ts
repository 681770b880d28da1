import { expect, test } from 'bun:test'
import { jsonLines, jsonMistake } from '../../../ui/components/json/lines.ts'
import { atMost } from '../../support/pace.ts'

function shown(text: string, limit = 100): string | undefined {
  const found = jsonLines(text, limit)
  return found?.lines
    .map(({ depth, tokens }) => `${' '.repeat(depth)}${tokens.map(one => one.text).join('')}`)
    .join('\n')
}

test('jsonLines() keeps numbers as they are written and short lists on a line', () => {
  expect(shown('{"id":9007199254740993,"tags":["a","b"],"empty":{},"list":[{"x":1e400}]}')).toBe(
    '{\n "id": 9007199254740993,\n "tags": ["a", "b"],\n "empty": {},\n "list": [\n  {\n   "x": 1e400\n  }\n ]\n}',
  )
})

test('jsonLines() stops at its limit and says so', () => {
  const found = jsonLines(JSON.stringify(Array.from({ length: 1000 }, (_, at) => ({ at }))), 50)
  expect(found?.lines).toHaveLength(50)
  expect(found?.cut).toBe(true)
})

test('jsonLines() is undefined for a text that is no JSON', () => {
  for (const text of ['hello', '{"a":1} x', ''])
    expect([text, shown(text)]).toEqual([text, text === '' ? '' : undefined])
})

test('jsonLines() bounds its work on hostile texts', () => {
  const started = performance.now()
  for (const text of ['['.repeat(1e6), `[${'1'.repeat(1e6)}`, `[${'"a" '.repeat(2e5)}`, ' '.repeat(1e6)])
    jsonLines(text, 400)
  expect(performance.now() - started).toBeLessThan(atMost(1000))
})

test('jsonMistake() says line and column', () => {
  expect(jsonMistake('{"a": 1}')).toBeUndefined()
  expect(jsonMistake('{\n  "a": }')).toMatchObject({ message: expect.any(String) })
})
