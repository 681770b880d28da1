/** What is wrong is said in the hub's own words, with what helps: line and column, the kind that is wanted and the kind that came. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { HEADERS } from '../support/raw-mcp.ts'

setDefaultTimeout(120_000)

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
})
afterAll(() => hub?.stop(), 120_000)

describe('a body that is no JSON', () => {
  test.each([
    ['{\n  "a" 1}', 'line 2, column 7: a colon was expected'],
    ['{"a": 1', 'line 1, column 8: a closing brace "}" was expected'],
    ['{"a": "\u0001"}', 'line 1, column 7: a control character in a string is not escaped'],
    ['{"a": 1,}', 'line 1, column 9: a key in double quotes was expected'],
    ['{"a": NaN}', 'line 1, column 7: something that is no JSON'],
    ["{'a': 1}", 'line 1, column 2: something that is no JSON'],
  ])('%j', async (body, said) => {
    const rest = await admin.request('POST', '/api/groups', body)
    expect([rest.status, rest.json.code, rest.json.detail]).toEqual([
      400,
      'json_invalid',
      expect.stringContaining(said),
    ])
    const headers = { ...HEADERS, authorization: `Bearer ${await admin.mcpKey()}` }
    const { error } = (await (await fetch(`${hub.url}/mcp`, { method: 'POST', body, headers })).json()) as {
      error: { message: string; data: object }
    }
    expect(error).toMatchObject({ message: expect.stringContaining(said), data: { code: 'json_invalid' } })
    expect(error.data).toMatchObject({ line: rest.json.line, column: rest.json.column })
  })
})

describe('a field that its schema refuses', () => {
  test.each([
    ['POST', '/api/keys', { label: 7, scopes: ['mcp'] }, '#/label', '"label": must be a string, not a number'],
    ['POST', '/api/keys', { label: 'a', scopes: null }, '#/scopes', '"scopes": must be an array, not null'],
    [
      'POST',
      '/api/auth/login',
      { username: [], password: 'x' },
      '#/username',
      '"username": must be a string, not an array',
    ],
    ['POST', '/api/admin/users', { username: 'a', role: 'king' }, '#/role', '"role": must be one of "admin", "user"'],
    ['POST', '/api/servers/batch', { servers: [] }, '#/servers', '"servers": must have at least 1 entry'],
    ['POST', '/api/servers/batch', { servers: [1] }, '#/servers/0', '"0": must be an object, not a number'],
    ['GET', '/api/servers?limit=0', undefined, '?limit', '"limit": must be at least 1'],
    ['GET', '/api/servers?limit=1e1', undefined, '?limit', '"limit": must be a whole number in decimal digits'],
    ['GET', '/api/servers?limit=9999', undefined, '?limit', '"limit": must be at most 1000'],
    ['GET', `/api/servers?q=${'x'.repeat(300)}`, undefined, '?q', '"q": must have at most 256 characters'],
    ['GET', '/api/servers?state=odd', undefined, '?state', '"state": must be one of "online", "connecting", "offline"'],
  ] as const)('%s %s %j', async (method, path, body, pointer, said) => {
    const answer = await admin.request(method, path, body)
    expect(answer.status).toBe(400)
    const { detail } = answer.json.errors.find((error: { pointer: string }) => error.pointer === pointer)
    expect(detail).toBe(said)
  })
})

test.each([
  ['openapi: 3.0.0\npaths:\n  /a: {\n', 'line 4, column 1'],
  ['openapi: 3.0.0\npaths: [a\n b: c', 'line 3'],
  ['openapi: 3.0.0\na: *nowhere\n', 'line 2'],
])('an OpenAPI document that is neither JSON nor YAML: %j', async (schema, where) => {
  const body = { name: 'broken', openapi: { schema, baseUrl: 'https://api.example' } }
  const { status, json } = await admin.request('POST', '/api/servers', body)
  expect([status, json.errors]).toMatchObject([400, [{ pointer: '#/openapi/schema', code: 'openapi_unsupported' }]])
  expect(json.errors[0].detail).toMatch(new RegExp(`^The OpenAPI document is neither JSON nor YAML: ${where}[^:]*$`))
})
