import { describe, expect, test } from 'bun:test'
import { headerValue, ModernHeaders } from '../../../../core/connections/worker/links/modern-headers.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'
import { paramMarks } from '../../../../core/domain/tools/param-marks.ts'

function tool(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { name: 't', inputSchema: { type: 'object', properties, ...more } }
}

function call(name: string, given: JsonObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: given } })
}

describe('headerValue()', () => {
  test.each([
    ['us-west1', 'us-west1'],
    ['two words\tand a tab', 'two words\tand a tab'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['', '=?base64??='],
  ])('writes %j as %j', (text, header) => {
    expect(headerValue(text)).toBe(header)
  })
})

describe('paramMarks()', () => {
  test('finds marks on properties at any depth', () => {
    const { inputSchema } = tool({
      region: { type: 'string', 'x-mcp-header': 'Region' },
      place: { type: 'object', properties: { floor: { type: 'integer', 'x-mcp-header': 'Floor' } } },
      // A property of that name is no mark, and neither is data.
      'x-mcp-header': { type: 'string', default: { 'x-mcp-header': 'No' } },
    })
    expect(paramMarks(inputSchema)).toEqual([
      { name: 'Region', path: ['region'] },
      { name: 'Floor', path: ['place', 'floor'] },
    ])
  })

  const marked = { type: 'string', 'x-mcp-header': 'A' }
  test.each<[string, JsonObject]>([
    ['an empty name', tool({ a: { type: 'string', 'x-mcp-header': '' } })],
    ['a name with a space', tool({ a: { type: 'string', 'x-mcp-header': 'My Region' } })],
    ['a name with a line end', tool({ a: { type: 'string', 'x-mcp-header': 'A\r\nB' } })],
    ['a name that is no text', tool({ a: { type: 'string', 'x-mcp-header': 1 } })],
    ['a number', tool({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['an object', tool({ a: { type: 'object', 'x-mcp-header': 'A' } })],
    ['several types', tool({ a: { type: ['string', 'null'], 'x-mcp-header': 'A' } })],
    ['no type', tool({ a: { 'x-mcp-header': 'A' } })],
    ['two names that differ in letter case', tool({ a: marked, b: { type: 'string', 'x-mcp-header': 'a' } })],
    ['the root', tool({}, { 'x-mcp-header': 'A' })],
    ['items', tool({ a: { type: 'array', items: marked } })],
    ['an alternative', tool({ a: { anyOf: [marked] } })],
    ['a condition', tool({}, { if: { properties: { a: marked } } })],
    ['a definition', tool({ a: { $ref: '#/$defs/a' } }, { $defs: { a: marked } })],
    ['additional properties', tool({}, { additionalProperties: marked })],
  ])('refuses a mark on %s', (_, { inputSchema }) => {
    expect(() => paramMarks(inputSchema)).toThrow()
  })

  test('refuses a schema that is nested beyond all measure, without overflowing the stack', () => {
    const deep = `${'{"not":'.repeat(50_000)}{"x-mcp-header":"A"}${'}'.repeat(50_000)}`
    expect(() => paramMarks(JSON.parse(deep))).toThrow('nested')
  })
})

describe('ModernHeaders', () => {
  test('repeats method, name and marked arguments of the very text that goes out', () => {
    const headers = new ModernHeaders()
    expect(
      headers.learn(
        tool({
          region: { type: 'string', 'x-mcp-header': 'Region' },
          at: { type: 'object', properties: { x: { type: 'integer', 'x-mcp-header': 'X' } } },
          on: { type: 'boolean', 'x-mcp-header': 'On' },
          gone: { type: 'string', 'x-mcp-header': 'Gone' },
          none: { type: 'string', 'x-mcp-header': 'None' },
          large: { type: 'integer', 'x-mcp-header': 'Large' },
        }),
      ),
    ).toBeUndefined()
    const given = { region: 'Zürich', at: { x: -7 }, on: false, none: null, large: 2 ** 60 }
    expect(headers.of(call('t', given), 'tools/call', undefined)).toEqual({
      'mcp-method': 'tools/call',
      'mcp-name': 't',
      'mcp-param-region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-x': '-7',
      'mcp-param-on': 'false',
    })
    expect(headers.of(call('other', given), 'tools/call', undefined)).toEqual({
      'mcp-method': 'tools/call',
      'mcp-name': 'other',
    })
  })

  test('of() names a resource by its URI, and a method without a name by its method only', () => {
    const headers = new ModernHeaders()
    const read = '{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///ä"}}'
    expect(headers.of(read, 'resources/read', undefined)).toEqual({
      'mcp-method': 'resources/read',
      'mcp-name': '=?base64?ZmlsZTovLy/DpA==?=',
    })
    expect(headers.of('', 'tools/list', undefined)).toEqual({ 'mcp-method': 'tools/list' })
  })

  test('headers that the server lets through go along, those of MCP never', () => {
    const headers = new ModernHeaders()
    const passed = { 'x-tenant': 'a', 'mcp-name': 'forged', 'Mcp-Param-Region': 'forged' }
    expect(headers.of(call('t', {}), 'tools/call', passed)).toEqual({
      'x-tenant': 'a',
      'mcp-method': 'tools/call',
      'mcp-name': 't',
    })
  })

  test('learn() says why a tool cannot be used, and forgets marks that are gone', () => {
    const headers = new ModernHeaders()
    expect(headers.learn(tool({ a: { type: 'number', 'x-mcp-header': 'A' } }))).toContain('"t" is left out')
    headers.learn(tool({ a: { type: 'string', 'x-mcp-header': 'A' } }))
    headers.learn(tool({ a: { type: 'string' } }))
    expect(headers.of(call('t', { a: 'x' }), 'tools/call', undefined)).not.toHaveProperty('mcp-param-a')
  })
})

test('headers of a short name are made once; those of URIs as long as a client likes are not kept', () => {
  const headers = new ModernHeaders()
  const of = (uri: string) => headers.of(JSON.stringify({ params: { uri } }), 'resources/read')
  expect(of('a://1')).toBe(of('a://1'))
  const long = `a://${'x'.repeat(1_000)}`
  expect(of(long)).toEqual(of(long))
  expect(of(long)).not.toBe(of(long))
})
