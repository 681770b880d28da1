import { describe, expect, test } from 'bun:test'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { serverBodyOf } from '../../../core/domain/server/body.ts'
import { secretPointers } from '../../../core/domain/server/secrets.ts'
import { shortlyNamed } from '../../support/short-names.ts'
import { bundledTransports } from '../../support/transports.ts'
import { parseServerBody } from './parse-server-body.ts'

function wrong(work: () => unknown): string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof HubError) return (error.errors ?? []).map(({ code, pointer }) => `${code} ${pointer}`)
    throw error
  }
  return []
}

const fields = (body: object) => wrong(() => parseServerBody(body as JsonObject))
const stdio = (more: object = {}) => ({ name: 's', command: 'cat', ...more })
const remote = (more: object = {}) => ({ name: 's', url: 'https://a.example/mcp', ...more })

describe('parseServerBody()', () => {
  test('says in whole sentences what a field is instead of what it must be', () => {
    expect.assertions(1)
    try {
      parseServerBody(remote({ headers: [], variables: null, timeout: 'x' }) as JsonObject)
    } catch (error) {
      const details = (error as HubError).errors?.map(({ detail }) => detail)
      expect(details?.sort()).toEqual([
        '"headers" must be an object, not an array',
        '"timeout" must be a whole number of milliseconds, not a string',
        '"variables" must be an object, not null',
      ])
    }
  })

  test('finds the transport, and notes when a URL alone left it open', () => {
    const transport = (body: object) => {
      const { transport, transportInferred } = parseServerBody({ name: 's', ...body } as JsonObject).settings
      return [transport, transportInferred]
    }
    expect(transport({ command: 'cat' })).toEqual(['stdio', undefined])
    expect(transport({ url: 'http://a/' })).toEqual(['streamable-http', true])
    expect(transport({ url: 'http://a/', type: 'streamable-http' })).toEqual(['streamable-http', undefined])
    expect(transport({ url: 'http://a/', type: 'sse' })).toEqual(['sse', undefined])
    expect(transport({ url: 'http://a/', type: 'http' })).toEqual(['streamable-http', undefined])
    expect(transport({ openapi: { url: 'http://a/' } })).toEqual(['openapi', undefined])
  })

  test('takes the nested form like the flat one', () => {
    const { name, ...config } = stdio({ args: ['-u'], timeout: 5 })
    expect(parseServerBody({ name, config } as JsonObject)).toEqual(parseServerBody({ name, ...config } as JsonObject))
    expect(fields({ name, timeout: 6, config })).toEqual(['ambiguous #/timeout'])
    expect(fields({ name, timeout: 5, config })).toEqual([])
    expect(fields({ name, config: { ...config, command: '' } })).toEqual(['command_invalid #/config/command'])
    expect(fields({ name, config: 5 })).toContain('type #/config')
    expect(fields(remote({ type: 'sse', transport: 'streamable-http' }))).toEqual(['ambiguous #/type'])
  })

  test('reports all wrong fields at once', () => {
    expect(fields({ command: 5, args: 'x', env: { A: 5 }, timeout: '5', visibility: 'secret', enabled: 1 })).toEqual([
      'required #/name',
      'type #/timeout',
      'enum #/visibility',
      'type #/enabled',
      'type #/command',
      'type #/args',
      'type #/env/A',
    ])
  })

  test('suggests the field that was meant', () => {
    try {
      parseServerBody({ name: 's', comand: 'x', url: 'http://a/' })
      expect.unreachable()
    } catch (error) {
      expect((error as HubError).errors?.[0]).toMatchObject({ code: 'unknown_field', pointer: '#/comand' })
      expect((error as HubError).message).toContain('did you mean "command"?')
    }
  })

  test.each(
    shortlyNamed<JsonObject, string>([
      [{ name: 's' }, 'transport_missing #/transport'],
      [{ name: 's', type: 'ftp' }, 'enum #/transport'],
      [{ name: 's', type: 'stdio' }, 'required #/command'],
      [{ name: 's', type: 'sse' }, 'required #/url'],
      [{ ...stdio(), url: 'http://a/' }, 'transport_ambiguous #/transport'],
      [remote({ args: ['x'] }), 'field_not_for_transport #/args'],
      [stdio({ headers: {} }), 'field_not_for_transport #/headers'],
      [stdio({ command: '' }), 'command_invalid #/command'],
      [stdio({ command: '../x' }), 'command_invalid #/command'],
      [stdio({ command: 'a\0b' }), 'command_invalid #/command'],
      [stdio({ args: ['a\0'] }), 'command_invalid #/args/0'],
      [stdio({ args: ['a', 5] }), 'type #/args/1'],
      [stdio({ args: ['x'.repeat(131_072)] }), 'args_too_large #/args'],
      [stdio({ env: { A: 'x'.repeat(131_072) } }), 'args_too_large #/env'],
      [stdio({ env: { '': 'x' } }), 'env_key_invalid #/env/'],
      [stdio({ env: { 'A=B': 'x' } }), 'env_key_invalid #/env/A=B'],
      [stdio({ env: { A: '\0' } }), 'env_value_invalid #/env/A'],
      [stdio({ timeout: -1 }), 'range #/timeout'],
      [stdio({ timeout: 0 }), 'range #/timeout'],
      [stdio({ timeout: 1e12 }), 'range #/timeout'],
      [stdio({ timeout: '5' }), 'type #/timeout'],
      [stdio({ timeout: 1.5 }), 'type #/timeout'],
      [stdio({ timeout: 5000, maxTimeout: 4999 }), 'range #/maxTimeout'],
      [stdio({ args: [`${'$'}{A}`] }), 'variable_unknown #/args/0'],
      [stdio({ env: { A: `${'$'}{JWT_SECRET}` } }), 'variable_unknown #/env/A'],
      [
        stdio({ tools: { 'a/b': { arguments: { c: { pin: { d: [`${'$'}{GONE}`] } } } } } }),
        'variable_unknown #/tools/a~1b/arguments/c/pin/d/0',
      ],
      [stdio({ variables: { A: `${'$'}{A}` } }), 'variable_cycle #/variables/A'],
      [stdio({ variables: { 'a b': 'x' } }), 'format #/variables/a b'],
      [stdio({ healthCheck: { intervall: 5 } }), 'unknown_field #/healthCheck/intervall'],
      [stdio({ healthCheck: { enabled: 'yes' } }), 'type #/healthCheck/enabled'],
      [stdio({ healthCheck: { interval: 99 } }), 'range #/healthCheck/interval'],
      [stdio({ healthCheck: { interval: 2 ** 31 } }), 'range #/healthCheck/interval'],
      [stdio({ healthCheck: { interval: 999, timeout: 1_000 } }), 'range #/healthCheck/interval'],
      [stdio({ healthCheck: { timeout: 0 } }), 'range #/healthCheck/timeout'],
      [stdio({ healthCheck: { timeout: 3_600_001 } }), 'range #/healthCheck/timeout'],
      [stdio({ healthCheck: { retries: 101 } }), 'range #/healthCheck/retries'],
      [stdio({ healthCheck: { endpoints: { pong: '/' } } }), 'unknown_field #/healthCheck/endpoints/pong'],
      [remote({ healthCheck: { endpoints: { ping: 5 } } }), 'type #/healthCheck/endpoints/ping'],
      [remote({ healthCheck: { endpoints: { ping: '' } } }), 'format #/healthCheck/endpoints/ping'],
      [remote({ healthCheck: { endpoints: { ping: 'http://b/' } } }), 'format #/healthCheck/endpoints/ping'],
      [remote({ healthCheck: { endpoints: { tools: '//b/' } } }), 'format #/healthCheck/endpoints/tools'],
      [remote({ healthCheck: { endpoints: { tools: '/\\b' } } }), 'format #/healthCheck/endpoints/tools'],
      [remote({ healthCheck: { endpoints: { tools: '/a b' } } }), 'format #/healthCheck/endpoints/tools'],
      [stdio({ tools: { t: { enabled: 'yes' } } }), 'type #/tools/t/enabled'],
      [stdio({ secrets: ['env/A'] }), 'format #/secrets/0'],
      [stdio({ enabled: true, disabled: true }), 'ambiguous #/disabled'],
      [remote({ url: 'file:///etc/passwd' }), 'url_scheme #/url'],
      [remote({ url: 'data:text/plain,x' }), 'url_scheme #/url'],
      [remote({ url: 'javascript:alert(1)' }), 'url_scheme #/url'],
      [remote({ url: 'not a url' }), 'url_invalid #/url'],
      [remote({ url: 'http://' }), 'url_invalid #/url'],
      [remote({ url: 'http://a:99999/' }), 'url_invalid #/url'],
      [remote({ url: 'http:a' }), 'url_invalid #/url'],
      [remote({ url: 'http://a/\nb' }), 'url_invalid #/url'],
      [remote({ url: 'http://u:p@a/' }), 'url_credentials #/url'],
      [remote({ headers: { 'a b': 'x' } }), 'header_name #/headers/a b'],
      [remote({ headers: { '': 'x' } }), 'header_name #/headers/'],
      [remote({ headers: { a: 'x\r\ny' } }), 'header_value #/headers/a'],
      [remote({ headers: { a: 'é' } }), 'header_value #/headers/a'],
      [remote({ headers: { Host: 'x' } }), 'header_reserved #/headers/Host'],
      [remote({ headers: { 'mcp-session-id': 'x' } }), 'header_reserved #/headers/mcp-session-id'],
      [remote({ headers: { A: 'x', a: 'y' } }), 'duplicate #/headers/a'],
      [remote({ headers: { a: `${'$'}{V}` }, variables: { V: 'x\ny' } }), 'header_value #/headers/a'],
      [remote({ headers: { a: 'x'.repeat(33_000) } }), 'headers_too_large #/headers'],
      [remote({ passthroughHeaders: ['Authorization'] }), 'header_reserved #/passthroughHeaders/0'],
      [{ name: 's', openapi: {} }, 'required #/openapi/url'],
      [{ name: 's', openapi: { url: 'http://a/', schema: {} } }, 'ambiguous #/openapi/schema'],
      [{ name: 's', openapi: { url: 'file:///x' } }, 'url_scheme #/openapi/url'],
      [{ name: 's', openapi: { schema: 5 } }, 'type #/openapi/schema'],
      [{ name: 's', openapi: { schema: {} } }, 'openapi_unsupported #/openapi/schema'],
      [{ name: 's', openapi: { schema: { swagger: '2.0' } } }, 'required #/openapi/baseUrl'],
      [{ name: 's', openapi: { schema: 'hello' } }, 'openapi_unsupported #/openapi/schema'],
      [
        { name: 's', openapi: { schema: `openapi: 3.0.0 #${'x'.repeat(17_000_000)}` } },
        'openapi_too_large #/openapi/schema',
      ],
      [
        { name: 's', openapi: { url: 'http://a/', auth: { a: { vaule: 'x' } } } },
        'unknown_field #/openapi/auth/a/vaule',
      ],
      [{ name: 's', openapi: { url: 'http://a/', auth: { a: 5 } } }, 'type #/openapi/auth/a'],
      [{ name: 's', openapi: { url: 'http://a/', auth: { a: 'é' } } }, 'header_value #/openapi/auth/a'],
      [
        { name: 's', openapi: { url: 'http://a/', auth: { a: { tokenUrl: 'file:///x' } } } },
        'url_scheme #/openapi/auth/a/tokenUrl',
      ],
      [{ name: 's', openapi: { url: 'http://a/' }, secrets: ['/openapi/schema/x'] }, 'format #/secrets/0'],
    ]),
  )('refuses %s: %s', (_, expected, body) => {
    expect(fields(body)).toContain(expected)
  })

  test('never echoes a password or a query of a URL', () => {
    for (const url of ['http://ada:canary@[/', 'nope?key=canary', 'http://u:canary@a/']) {
      try {
        parseServerBody({ name: 's', url })
        expect.unreachable()
      } catch (error) {
        expect(JSON.stringify([(error as HubError).message, (error as HubError).errors])).not.toContain('canary')
      }
    }
  })

  test('has the documented defaults', () => {
    expect(parseServerBody(stdio() as JsonObject).settings).toMatchObject({
      ...{
        timeoutMs: 60_000,
        maxTimeoutMs: 600_000,
        visibility: 'private',
        enabled: true,
        start: 'eager',
        isolate: false,
      },
      healthCheck: { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 },
    })
    expect(parseServerBody(stdio({ timeout: 700_000 }) as JsonObject).settings.maxTimeoutMs).toBe(700_000)
    expect(parseServerBody(stdio({ start: 'lazy' }) as JsonObject).settings.idleTimeoutMs).toBe(300_000)
    expect(parseServerBody(stdio({ disabled: true }) as JsonObject).settings.enabled).toBe(false)
  })

  test('reads its own output as the same settings', () => {
    const full = remote({
      ...{ type: 'sse', description: 'd', headers: { Authorization: 'x' }, variables: { A: 'b' }, timeout: 5 },
      ...{ session: 'per-user', start: 'lazy', isolate: true, visibility: 'public', enabled: false },
      ...{ passthroughHeaders: ['X-A'], tools: { t: { name: 'u', enabled: false } }, healthCheck: { retries: 0 } },
    })
    const { settings } = parseServerBody(full as JsonObject)
    expect(parseServerBody(serverBodyOf(settings)).settings).toEqual(settings)
  })

  test('ignores unknown fields of a shared file when told to', () => {
    const { ignored } = parseServerBody(stdio({ autoApprove: [] }) as JsonObject, { unknownFields: 'ignore' })
    expect(ignored.map(({ pointer }) => pointer)).toEqual(['#/autoApprove'])
  })
})

test('secretPointers() finds secrets by the names of their fields', () => {
  const body = {
    env: { API_KEY: 'a', apiToken: 'b', CITY: 'c', EMPTY_KEY: '', REF_KEY: `${'$'}{V}`, 'a/b~key': 'd' },
    headers: { authorization: 'e', Accept: 'f' },
    variables: { db_password: 'g' },
    openapi: { auth: { type: 'apiKey', name: 'x', value: 'h', oauth: { clientSecret: 'i' } } },
    token: 'not here',
  }
  expect(secretPointers(bundledTransports(), body)).toEqual([
    '/env/API_KEY',
    '/env/apiToken',
    '/env/a~1b~0key',
    '/headers/authorization',
    '/variables/db_password',
    '/openapi/auth/value',
    '/openapi/auth/oauth/clientSecret',
  ])
})

test('secretPointers() takes every text of a security scheme that does not say what the scheme is', () => {
  const auth = {
    key: 'a',
    name: 'b',
    basic: { type: 'http', scheme: 'basic', username: 'ada', password: 'c' },
    oauth: { clientId: 'id', clientSecret: 'd', tokenUrl: 'https://a/', scopes: ['read'], token: `${'$'}{V}` },
  }
  expect(secretPointers(bundledTransports(), { openapi: { auth } })).toEqual([
    '/openapi/auth/key',
    '/openapi/auth/name',
    '/openapi/auth/basic/password',
    '/openapi/auth/oauth/clientSecret',
  ])
})

test('the texts of an inline OpenAPI document are no texts of the configuration', () => {
  const schema = { openapi: '3.0.0', info: { title: `${'$'}{V} and ••••` }, servers: [{ url: 'https://a/' }] }
  const openapi = { schema, auth: { key: `${'$'}{V}` } }
  const { filled } = parseServerBody({ name: 's', openapi, variables: { V: 'v' } })
  expect(filled.openapi).toEqual({ schema, auth: { key: 'v' } })
})
