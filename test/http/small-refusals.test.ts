/** Errors are in the hub's own words: line and column, the whole pointer, the expected and the received value. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { HEADERS } from '../support/raw-mcp.ts'
import { until } from '../support/wait.ts'

/** Entries with keys that are never accepted, and a document in which they are data. */
const SETTINGS = `{
  "mcpServers": {
    "of-the-environment": { "command": "true", "enabled": false, "env": { "A": "1", "__proto__": "2" } },
    "of-a-tool": {
      "command": "true", "enabled": false,
      "tools": { "a/b": { "arguments": { "constructor": { "pin": 1 } } } }
    },
    "with-a-document": {
      "enabled": false,
      "openapi": {
        "baseUrl": "https://api.example", "schema": {
          "openapi": "3.0.0", "info": { "title": "a", "version": "1" }, "paths": {},
          "components": { "schemas": { "constructor": { "type": "string" } } }
        }
      }
    }
  },
  "groups": { "g": [{ "server": "of-a-tool", "tools": [{ "name": "x", "prototype": 1 }] }] }
}`

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ settings: SETTINGS })
  admin = await hub.setup()
  await admin.ok('POST', '/api/groups', { name: 'there', members: [] })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function problems(answer: Answer): string[] {
  return (answer.json.errors ?? []).map((error: { pointer: string; code: string }) => `${error.code} ${error.pointer}`)
}

describe('query parameters', () => {
  test('that come twice are duplicate', async () => {
    const answer = await admin.request('GET', '/api/servers?limit=1&limit=2')
    expect([answer.status, problems(answer)]).toEqual([400, ['duplicate ?limit']])
    const twoOfTwo = await admin.request('GET', '/api/groups?q=a&q=a&offset=0&offset=0')
    expect(problems(twoOfTwo)).toEqual(['duplicate ?q', 'duplicate ?offset'])
  })

  test.each(['1e2', '1.0', '0x1', '+1', ' 1', '1_0', '١'])('a number is written with digits: %p', async text => {
    const answer = await admin.request('GET', `/api/servers?limit=${encodeURIComponent(text)}`)
    expect([answer.status, problems(answer)[0]?.split(' ')[1]]).toEqual([400, '?limit'])
  })

  test('of /health are passed over, as load balancers add their own', async () => {
    for (const query of ['?x=1', '?x=1&x=2', '?limit=abc']) {
      expect((await admin.request('GET', `/health${query}`)).status).toBe(200)
    }
  })
})

test('If-None-Match: * on PUT is 412 where the record exists, and changes nothing', async () => {
  await admin.ok('POST', '/api/servers', { name: 'made', command: 'true', enabled: false })
  const none = { 'if-none-match': '*' }
  for (const [path, body] of [
    ['/api/servers/made', { name: 'made', command: 'false', enabled: false }],
    ['/api/groups/there', { name: 'there', members: [], description: 'changed' }],
  ] as const) {
    const before = await admin.ok('GET', path)
    const answer = await admin.request('PUT', path, body, none)
    expect([path, answer.status, answer.json.code]).toEqual([path, 412, 'version_conflict'])
    expect(await admin.ok('GET', path)).toEqual(before)
    expect((await admin.request('PUT', path, body)).status).toBe(200)
  }
  expect((await admin.request('PUT', '/api/groups/none', { name: 'none', members: [] }, none)).status).toBe(404)
})

test.each(['①', 'a²', 'Ⅷ', '½'])('%s is no character of a name', async name => {
  const answer = await admin.request('POST', '/api/groups', { name, members: [] })
  expect([answer.status, problems(answer)]).toEqual([400, ['name_invalid #/name']])
})

test('digits of other scripts are', async () => {
  expect((await admin.request('POST', '/api/groups', { name: '組٣', members: [] })).status).toBe(201)
})

test('a command that cannot be executed and one that does not exist have different reasons, and PATH is not printed', async () => {
  const folder = join(hub.folder, 'programs')
  await mkdir(join(folder, 'folder'), { recursive: true })
  const files = {
    plain: ['#!/bin/sh\n', 0o644],
    orphan: ['#!/no/such/interpreter -x\n', 0o755],
    foreign: [`\x7fELF${'\0'.repeat(200)}`, 0o755],
    wordless: ['echo nothing\n', 0o755],
    guarded: [`#!${join(folder, 'plain')}\n`, 0o755],
  } as const
  for (const [name, [text, mode]] of Object.entries(files)) await writeFile(join(folder, name), text, { mode })
  const wanted = {
    ...{ folder: 'is a folder', plain: 'may not execute', foreign: 'ENOEXEC', wordless: '#! line' },
    ...{ orphan: '"/no/such/interpreter" that it names does not exist', guarded: 'that it names (EACCES)' },
  }
  for (const name of Object.keys(wanted)) await admin.ok('POST', '/api/servers', { name, command: join(folder, name) })
  await admin.ok('POST', '/api/servers', { name: 'relative', command: './plain', cwd: folder })
  await admin.ok('POST', '/api/servers', { name: 'missing', command: 'no-such-program-here' })
  await admin.ok('POST', '/api/servers', { name: 'gone', command: join(folder, 'gone') })
  const reasonOf = (name: string) =>
    until(async () => (await admin.ok('GET', `/api/servers/${name}`)).status.reason, { what: `the reason of ${name}` })
  for (const name of ['missing', 'gone']) expect((await reasonOf(name)).code).toBe('command_not_found')
  for (const [name, words] of Object.entries({ ...wanted, relative: 'may not execute' })) {
    const { code, message } = await reasonOf(name)
    expect([name, code, message]).toEqual([name, 'command_not_executable', expect.stringContaining(words)])
    expect(message).not.toContain('/usr/bin')
  }
})

test('a path with an owner that opens nothing is named with the owner', async () => {
  const key = await admin.mcpKey()
  const answer = await fetch(`${hub.url}/mcp/@somebody/work`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  const { error } = (await answer.json()) as { error: { message: string } }
  expect([answer.status, error.message]).toEqual([404, expect.stringContaining('"@somebody/work"')])
})

test.each([
  ['file:///etc/mcp.json', 'the address of a file'],
  [JSON.stringify(JSON.stringify({ mcpServers: {} })), 'JSON inside a JSON string'],
  ['ws://hub.example/mcp', 'ws://'],
])('the import of %s is refused by name', async (document, said) => {
  const answer = await admin.request('POST', '/api/servers/import?dryRun=true', { document })
  expect([answer.text.includes('import_invalid'), answer.text.includes(said)]).toEqual([true, true])
})

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

type Errors = readonly { readonly code: string; readonly pointer: string }[]

function listed(errors: Errors | undefined): string[] {
  return (errors ?? []).map(error => `${error.code} ${error.pointer}`)
}

function whole(answer: Answer): unknown[] {
  return [answer.status, answer.json.code, ...listed(answer.json.errors)]
}

const long = 'k'.repeat(500)

describe('a forbidden key in a body is named by its whole pointer', () => {
  test.each([
    ['/api/servers', '{"__proto__":1}', '#/__proto__'],
    ['/api/servers', '{"env":{"constructor":"1"}}', '#/env/constructor'],
    ['/api/servers', '{"a":[0,{"b":[{"prototype":1}]}]}', '#/a/1/b/0/prototype'],
    ['/api/servers', '{"tools":{"a/b":{"~":{"\\u005f_proto__":1}}}}', '#/tools/a~1b/~0/__proto__'],
    ['/api/servers', `{"${long}":{"prototype":1}}`, `#/${long}/prototype`],
    [
      '/api/servers',
      '{"openapi":{"schema":{"constructor":{"list":[{"__proto__":1}]}}}}',
      '#/openapi/schema/constructor/list/0/__proto__',
    ],
    ['/api/servers/batch', '{"servers":[{"name":"a"},{"env":{"prototype":"1"}}]}', '#/servers/1/env/prototype'],
    ['/api/servers/import', '{"document":{"mcpServers":{"a":{"__proto__":1}}}}', '#/document/mcpServers/a/__proto__'],
    ['/api/groups', '{"members":[{"server":"a","tools":[{"__proto__":1}]}]}', '#/members/0/tools/0/__proto__'],
  ])('%s %p', async (path, body, pointer) => {
    const answer = await admin.request('POST', path, body)
    expect(whole(answer)).toEqual([400, 'key_forbidden', `key_forbidden ${pointer}`])
    expect(answer.json.detail).toContain(pointer)
  })

  test('of many bytes, which another thread parses', async () => {
    const body = `{"description":"${'x'.repeat(200_000)}","env":{"constructor":"1"}}`
    const answer = await admin.request('POST', '/api/servers', body)
    expect(whole(answer)).toEqual([400, 'key_forbidden', 'key_forbidden #/env/constructor'])
  })

  test('in a text that is imported, from the root of that text', async () => {
    const document = '{"mcpServers":{"a":{"command":"true","env":{"__proto__":1}}}}'
    const answer = await admin.request('POST', '/api/servers/import', { document })
    expect(whole(answer)).toEqual([400, 'validation_failed', 'key_forbidden #/mcpServers/a/env/__proto__'])
  })
})

describe('a forbidden key in the settings file', () => {
  test.each([
    ['of-the-environment', '#/env/__proto__'],
    ['of-a-tool', '#/tools/a~1b/arguments/constructor'],
  ])('makes the entry %s one that cannot be read, and says where', async (name, pointer) => {
    const { problem } = await admin.ok('GET', `/api/servers/${name}`)
    expect(problem).toEqual({ code: 'config_invalid', pointer, message: expect.stringContaining('is never accepted') })
    await hub.logged(`: ${pointer}: `)
  })

  test('is data in an OpenAPI document', async () => {
    expect((await admin.ok('GET', '/api/servers/with-a-document')).problem).toBeUndefined()
  })

  test('makes a group one that cannot be used, and says where', async () => {
    expect((await admin.request('GET', '/api/groups/g')).status).toBe(404)
    await hub.logged(': #/members/0/tools/0/prototype: ')
  })
})

describe('pointers into the nested form of a server lead through "config"', () => {
  test.each([
    [{ config: { command: 'true', config: { args: [] } } }, ['unknown_field #/config/config']],
    [{ config: { command: 'true', 'a/b': 1 } }, ['unknown_field #/config/a~1b']],
    [{ config: { command: 'true', args: ['a', 1] } }, ['type #/config/args/1']],
  ])('%j', async (body, errors) => {
    const answer = await admin.request('POST', '/api/servers', { name: 'nested', ...body })
    expect([answer.status, ...listed(answer.json.errors)]).toEqual([400, ...errors])
    const { results } = (await admin.request('POST', '/api/servers/batch', { servers: [{ name: 'b', ...body }] })).json
    expect(listed(results[0].error.errors)).toEqual(errors.map(error => error.replace('#', '#/servers/0')))
  })
})

describe('pointers of an import lead into the document', () => {
  test.each([
    [{ mcpServers: { 'a b': { command: 'true', args: [{}] } } }, '#/mcpServers/a b/args/0'],
    [{ servers: { a: { serverUrl: 'no url' } } }, '#/servers/a/serverUrl'],
    [[{ command: 'true', timeout: -1 }], '#/0/timeout'],
    [{ command: 'true', env: { A: 1, 'B=': 'x' } }, '#/env/B='],
  ])('%j', async (document, pointer) => {
    for (const written of [document, JSON.stringify(document)]) {
      const { entries } = await admin.ok('POST', '/api/servers/import?dryRun=true', { document: written })
      expect([entries[0].pointer, entries[0].error.errors[0].pointer]).toEqual([pointer, pointer])
    }
  })
})
