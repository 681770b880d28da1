import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { readJsonc } from '../../../core/config/jsonc.ts'
import { mergeAt, renameKey, sameJson, setAt } from '../../../core/config/jsonc-edit.ts'
import type { JsonValue } from '../../../core/contract/json.ts'

const FILE = `{
  // servers
  "mcpServers": {
    /* the first */
    "a": { "command": "x", "args": ["1", "2"] }, // behind a
    "b": {
      "url": "https://b.example" // no comma
    }
  },
  "groups": [],
}
`

describe('setAt()', () => {
  test('changes one value and leaves every other character', () => {
    expect(setAt(FILE, ['mcpServers', 'a', 'command'], 'y')).toBe(FILE.replace('"x"', '"y"'))
  })

  test('adds a member behind the last one, with the comma before that one’s comment', () => {
    const edited = setAt(FILE, ['mcpServers', 'b', 'timeout'], 5)
    expect(edited).toContain('"url": "https://b.example", // no comma\n      "timeout": 5\n    }')
  })

  test('adds to a one-line object and to an empty list in their own style', () => {
    expect(setAt(FILE, ['mcpServers', 'a', 'cwd'], '/x')).toContain('"args": ["1", "2"], "cwd": "/x" }')
    expect(setAt(FILE, ['groups', 0], 'g')).toContain('"groups": [\n    "g"\n  ]')
  })

  test('keeps a trailing comma as the file has it', () => {
    expect(setAt(FILE, ['users'], [])).toContain('"groups": [],\n  "users": [],\n}')
  })

  test('removes a member with its line and the comma that it leaves over', () => {
    expect(setAt(FILE, ['mcpServers', 'b'], undefined)).toContain('"2"] } // behind a\n  },')
    expect(setAt(FILE, ['mcpServers', 'a', 'args'], undefined)).toContain('"a": { "command": "x" },')
  })

  test('removes the last item of a one-line array', () => {
    expect(setAt('{"x": [1,2]}', ['x', 1], undefined)).toBe('{"x": [1]}')
    expect(setAt('{"x": [1,2]}', ['x', 0], undefined)).toBe('{"x": [2]}')
    expect(setAt('{"x": [1]}', ['x', 0], undefined)).toBe('{"x": []}')
  })

  test('keeps tabs and CRLF', () => {
    const text = '{\r\n\t"a": {\r\n\t\t"b": 1\r\n\t}\r\n}\r\n'
    expect(setAt(text, ['a', 'c'], { d: 1 })).toBe(
      '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": {\r\n\t\t\t"d": 1\r\n\t\t}\r\n\t}\r\n}\r\n',
    )
  })

  test('keeps a byte order mark, and edits behind it and beside trailing commas in the right place', () => {
    const text = '\ufeff{"a": {"b": [1, 2,],},}'
    const edited: readonly (readonly [result: string, wanted: string])[] = [
      [setAt(text, ['a', 'b', 1], 3), '\ufeff{"a": {"b": [1, 3,],},}'],
      [setAt(text, ['a', 'b', 2], 3), '\ufeff{"a": {"b": [1, 2, 3],},}'],
      [setAt(text, ['a', 'b', 0], undefined), '\ufeff{"a": {"b": [2,],},}'],
      [setAt(text, ['a', 'b'], undefined), '\ufeff{"a": {},}'],
      [setAt(text, ['c'], 1), '\ufeff{"a": {"b": [1, 2,],}, "c": 1}'],
      [renameKey(text, ['a', 'b'], 'z'), '\ufeff{"a": {"z": [1, 2,],},}'],
      [setAt('\ufeff{}', ['a'], 1), '\ufeff{\n  "a": 1\n}'],
    ]
    for (const [result, wanted] of edited) {
      expect(result).toBe(wanted)
      expect(() => readJsonc(result)).not.toThrow()
    }
  })

  test('throws if the path leads through a value that is not an object', () => {
    expect(() => setAt('{"a": 5}', ['a', 'b'], 1)).toThrow('neither an object nor an array')
  })
})

test('renameKey() keeps the place and the value', () => {
  expect(renameKey(FILE, ['mcpServers', 'a'], 'z')).toBe(FILE.replace('"a": {', '"z": {'))
})

test('mergeAt() makes any document say any other, and the result parses to exactly that', () => {
  const key = fc.constantFrom('a', 'b', 'c d', '__proto__', '"')
  const { tree } = fc.letrec<{ tree: JsonValue }>(tie => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<JsonValue>(1, 'x // y', null, true),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map(pairs => Object.fromEntries(pairs) as JsonValue),
    ),
  }))
  const object = fc.array(fc.tuple(key, tree), { maxLength: 4 }).map(pairs => Object.fromEntries(pairs) as JsonValue)
  const indent = fc.constantFrom(undefined, 2, '\t')
  fc.assert(
    fc.property(object, object, indent, (before, after, step) => {
      const text = JSON.stringify(before, null, step)
      expect(sameJson(readJsonc(mergeAt(text, [], before, after)).value, after)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
