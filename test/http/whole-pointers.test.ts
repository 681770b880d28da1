import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Answer } from '../support/client.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'

let hub: Hub
let admin: Client

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

beforeAll(async () => {
  hub = await startHub({ settings: SETTINGS })
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

type Errors = readonly { readonly code: string; readonly pointer: string }[]

function listed(errors: Errors | undefined): string[] {
  return (errors ?? []).map(error => `${error.code} ${error.pointer}`)
}

function problems(answer: Answer): unknown[] {
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
    expect(problems(answer)).toEqual([400, 'key_forbidden', `key_forbidden ${pointer}`])
    expect(answer.json.detail).toContain(pointer)
  })

  test('of many bytes, which another thread parses', async () => {
    const body = `{"description":"${'x'.repeat(200_000)}","env":{"constructor":"1"}}`
    const answer = await admin.request('POST', '/api/servers', body)
    expect(problems(answer)).toEqual([400, 'key_forbidden', 'key_forbidden #/env/constructor'])
  })

  test('in a text that is imported, from the root of that text', async () => {
    const document = '{"mcpServers":{"a":{"command":"true","env":{"__proto__":1}}}}'
    const answer = await admin.request('POST', '/api/servers/import', { document })
    expect(problems(answer)).toEqual([400, 'validation_failed', 'key_forbidden #/mcpServers/a/env/__proto__'])
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
    [{ mcpServers: { 'a b': { command: 'true', args: [1] } } }, '#/mcpServers/a b/args/0'],
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
