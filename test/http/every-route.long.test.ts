import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, send, startHub } from '../support/hub.ts'
import { keptState } from '../support/kept-state.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'
import { type DocumentedRoute, documentedRoutes } from './documented-routes.ts'
import { expectHardened, expectOAuthRefusal, expectProblem, expectWell, patient } from './rows.ts'

let hub: Hub
let admin: Client
let alice: Client
let routes: readonly DocumentedRoute[]
/** Paths of the document, each once. */
let paths: readonly string[]

beforeAll(async () => {
  hub = await startHub()
  admin = await hub.setup()
  alice = await hub.user('alice')
  routes = await documentedRoutes(admin)
  paths = [...new Set(routes.map(({ path }) => path))]
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

describe('on every path of the API document', () => {
  test('HEAD is GET without a body, or 405', async () => {
    for (const path of paths) {
      const readable = routes.some(route => route.path === path && route.method === 'GET')
      const answer = await patient(() => admin.request('HEAD', path))
      expect([path, answer.text]).toEqual([path, ''])
      if (readable) expect([path, answer.status]).not.toEqual([path, 405])
      // `/api/servers/batch` is then the server of that name.
      else expect([path, [404, 405].includes(answer.status)]).toEqual([path, true])
      expectHardened(answer)
    }
  }, 120_000)

  test('OPTIONS, by a page of the hub’s own or none, is 405 with Allow and opens nothing to others', async () => {
    for (const path of paths) {
      const preflight = { origin: hub.url, 'access-control-request-method': 'DELETE' }
      const answer = await patient(() => admin.request('OPTIONS', path, undefined, preflight))
      expect([path, answer.status]).toEqual([path, 405])
      expectProblem(answer, { method: 'OPTIONS', path })
      expect(answer.headers.get('access-control-allow-methods')).toBeNull()
      const foreign = await patient(() => admin.request('OPTIONS', path, undefined, { origin: 'https://evil.example' }))
      expect([path, foreign.status, foreign.json.code]).toEqual([path, 403, 'origin_not_allowed'])
    }
  }, 120_000)

  test('a foreign Host or Origin is refused before anything else is looked at', async () => {
    for (const { method, path } of routes) {
      for (const header of ['Host: evil.example', 'Origin: https://evil.example']) {
        const host = header.startsWith('Host') ? [] : [`Host: ${new URL(hub.url).host}`]
        const answer = await rawRequest(
          hub.url,
          rawText(`${method} ${path} HTTP/1.1`, [...host, header, 'Connection: close', 'Authorization: Basic x']),
        )
        expect([method, path, answer.status]).toEqual([method, path, 403])
        expect(JSON.parse(answer.body).code).toBeOneOf(['host_not_allowed', 'origin_not_allowed'])
      }
    }
  }, 120_000)

  test('another spelling is another path, and never a weaker rule', async () => {
    const before = keptState(hub)
    for (const { method, path, open } of routes) {
      if (path === '/') continue
      const spellings = [
        `${path}/`,
        path.toUpperCase(),
        `${path}%20`,
        `${path};x`,
        `/${path}`,
        path.replace('/', '/%2e/'),
      ]
      for (const spelling of spellings) {
        const anonymous = await patient(() => send(hub.url, method, spelling))
        expect([method, spelling, anonymous.status < 500]).toEqual([method, spelling, true])
        if (open || anonymous.status === 400) continue
        const status = path.startsWith('/api') ? 401 : 404
        expect([method, spelling, anonymous.status]).toEqual([method, spelling, status])
      }
    }
    expect(keptState(hub)).toEqual(before)
    await expectWell(hub)
  }, 120_000)

  test('every answer has the security headers, and every refusal is a problem or has the form of OAuth, as documented', async () => {
    const inOAuthForm: string[] = []
    for (const { method, path, plainRefusals } of routes) {
      if (path === '/api/stream') continue
      const answer = await patient(() => alice.request(method, path, method === 'GET' ? undefined : '{"x":'))
      expectHardened(answer)
      if (plainRefusals.includes(answer.status)) {
        expectOAuthRefusal(answer)
        inOAuthForm.push(path)
      } else if (answer.status >= 400) expectProblem(answer, { method, path })
      if (path === '/api/auth/logout') alice = await hub.signIn('alice')
    }
    expect(inOAuthForm.sort()).toEqual([
      '/.well-known/oauth-protected-resource/thing',
      '/register',
      '/revoke',
      '/token',
    ])
  }, 120_000)
})
