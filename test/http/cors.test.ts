import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'

const PAGE = 'https://app.example:8443'
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } },
}

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ env: { ALLOWED_ORIGINS: `${PAGE},http://127.0.0.1:1` } })
  admin = await hub.setup()
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function preflight(path: string, headers: Record<string, string>, method = 'POST'): Promise<Response> {
  return fetch(hub.url + path, { method: 'OPTIONS', headers: { 'access-control-request-method': method, ...headers } })
}

describe('CORS', () => {
  test.each(['/api/servers', '/mcp', '/mcp/any', '/sse', '/messages', '/health'])(
    'answers a preflight for %s without a credential, for listed origins alone',
    async path => {
      const wanted = 'authorization, content-type, mcp-protocol-version, mcp-session-id, x-own'
      const answer = await preflight(path, { origin: PAGE, 'access-control-request-headers': wanted })
      expect([answer.status, await answer.text()]).toEqual([204, ''])
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(answer.headers.get('access-control-allow-methods')).toContain('DELETE')
      expect(answer.headers.get('access-control-allow-headers')).toBe(wanted)
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      expect(answer.headers.get('vary')).toContain('origin')
      for (const origin of ['https://app.example', 'http://app.example:8443', 'https://evil.example', 'null']) {
        const refused = await preflight(path, { origin })
        expect([origin, refused.status]).toEqual([origin, 403])
        expect(refused.headers.get('access-control-allow-origin')).toBeNull()
        await refused.body?.cancel()
      }
    },
  )

  test('does not echo what is no list of header names', async () => {
    for (const wanted of ['a b', 'x,,y', `x${'y'.repeat(3_000)}`]) {
      const answer = await preflight('/mcp', { origin: PAGE, 'access-control-request-headers': wanted })
      expect([answer.status, answer.headers.get('access-control-allow-headers')]).toEqual([204, null])
    }
  })

  test('lets a page of a listed origin read answers and refusals, with the headers of a session', async () => {
    const key = await admin.mcpKey()
    const send = (authorization: string, origin: string) =>
      fetch(`${hub.url}/mcp`, {
        method: 'POST',
        headers: {
          origin,
          authorization,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(INITIALIZE),
      })
    for (const [authorization, status] of [
      [`Bearer ${key}`, 200],
      ['Bearer wrong', 401],
    ] as const) {
      const answer = await send(authorization, PAGE)
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, PAGE])
      const exposed = answer.headers.get('access-control-expose-headers') ?? ''
      for (const name of ['mcp-session-id', 'mcp-protocol-version', 'www-authenticate']) expect(exposed).toContain(name)
      await answer.body?.cancel()
    }
    const rest = await admin.request('GET', '/api/servers', undefined, { origin: PAGE })
    expect([rest.status, rest.headers.get('access-control-allow-origin')]).toEqual([200, PAGE])
    const missing = await admin.request('GET', '/api/servers/none', undefined, { origin: PAGE })
    expect([missing.status, missing.headers.get('access-control-allow-origin')]).toEqual([404, PAGE])
  })

  test('an origin passes by itself only when scheme, host and port are the hub’s own', async () => {
    const own = new URL(hub.url)
    const answer = await admin.request('GET', '/api/servers', undefined, { origin: own.origin })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, null])
    const others = [`https://${own.host}`, `http://${own.hostname}`, `http://localhost:${own.port}`]
    for (const origin of others) {
      const refused = await admin.request('GET', '/api/servers', undefined, { origin })
      expect([origin, refused.status, refused.json.code]).toEqual([origin, 403, 'origin_not_allowed'])
    }
  })
})
