/** A hub whose plugins for sign-in are off has the routes, refusals and words that it had without them. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import oauthClient from '../../plugins/oauth-client/plugin.ts'
import oauthServer from '../../plugins/oauth-server/plugin.ts'
import signIn from '../../plugins/sign-in/plugin.ts'
import { type Client, type Hub, send, startHub, stdioFixture } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'

const PLUGINS = [oauthServer, oauthClient, signIn]
const NAMES = PLUGINS.map(({ name }) => name)

interface Documented {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'x-plugin'?: string }>>>>
  readonly tags: readonly { readonly name: string }[]
  readonly components: { readonly schemas: { readonly Problem: { properties: { code: { enum: string[] } } } } }
}

let on: Hub
let off: Hub
let admin: Client
let document: Documented
let whole: Documented

beforeAll(async () => {
  on = await startHub()
  off = await startHub({
    settings: { mcpServers: { echo: stdioFixture('echo') }, plugins: NAMES.map(use => ({ use, enabled: false })) },
  })
  admin = await off.setup()
  document = await admin.ok('GET', '/api/openapi.json')
  whole = await (await on.setup()).ok('GET', '/api/openapi.json')
}, 170_000)
afterAll(async () => {
  await on?.stop()
  await off?.stop()
}, 60_000)

/** The fields of servers that these plugins have. */
const FIELDS = new Set(
  PLUGINS.flatMap(({ serverFields = {} }) => Object.values(serverFields).flatMap(({ fields }) => Object.keys(fields))),
)

/** Schemas without these fields of servers. */
function withoutFields(key: string, value: unknown): unknown {
  if (key !== 'properties' || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => !('transport' in value && FIELDS.has(name))))
}

/** The operations of a document that plugins other than these have, without their fields of servers. */
function others({ paths }: Documented): readonly string[] {
  return Object.entries(paths)
    .flatMap(([path, operations]) => Object.entries(operations).map(entry => [path, ...entry] as const))
    .filter(([, , operation]) => !NAMES.includes(operation['x-plugin'] ?? ''))
    .map(([path, method, operation]) => `${method} ${path} ${JSON.stringify(operation, withoutFields)}`)
    .sort()
}

test('the API document is that of a hub with them, without their routes, tags and codes', () => {
  expect(others(document)).toEqual(others(whole))
  expect(
    Object.values(document.paths)
      .flatMap(Object.values)
      .filter(one => NAMES.includes(one['x-plugin'])),
  ).toEqual([])
  const own = new Set(PLUGINS.flatMap(({ errors = {} }) => Object.keys(errors)))
  const codes = ({ components }: Documented) => components.schemas.Problem.properties.code.enum
  expect(own.size).toBeGreaterThan(20)
  expect(codes(document)).toEqual(codes(whole).filter(code => !own.has(code)))
  const tags = ({ tags: all }: Documented) => all.map(({ name }) => name)
  expect(
    tags(whole)
      .filter(tag => !tags(document).includes(tag))
      .sort(),
  ).toEqual(['OAuth', 'connections'])
})

test('a refusal names no sign-in, and nothing of it is there', async () => {
  const refused = await send(off.url, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="patchbay"'])
  const wrong = await send(off.url, 'GET', '/api/servers', undefined, { authorization: 'Bearer ey.ey.ey' })
  expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([
    401,
    'Bearer realm="patchbay", error="invalid_token"',
  ])
  for (const [method, path, status] of [
    ['GET', '/.well-known/oauth-protected-resource', 404],
    ['GET', '/.well-known/oauth-protected-resource/mcp', 404],
    ['GET', '/.well-known/oauth-authorization-server', 404],
    ['GET', '/.well-known/openid-configuration', 404],
    ['GET', '/authorize', 403],
    ['POST', '/token', 403],
    ['POST', '/register', 403],
  ] as const) {
    const answer = await send(off.url, method, path)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.json.error_description).toContain('offers no OAuth here')
  }
  for (const path of ['/api/oauth/grants', '/api/connections', '/api/auth/factors', '/api/auth/providers']) {
    const answer = await admin.request('GET', path)
    expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'route_not_found'])
  }
})

test('keys and passwords work as before', async () => {
  const session = await off.signIn('admin')
  expect(Object.keys(await session.ok('GET', '/api/auth/me')).sort()).toEqual(
    Object.keys(await (await on.signIn('admin')).ok('GET', '/api/auth/me')).sort(),
  )
  await online(admin, ['echo'])
  expect(await callText(await admin.mcp('/mcp/echo'), 'echo', { text: 'hello' })).toContain('hello')
})
