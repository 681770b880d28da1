/** A hub that clients and pages reach without a proxy: origins, addresses, the heads of answers, and what it says of OAuth. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'

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
  hub = await startHub({
    settings: { mcpServers: {}, plugins: [{ use: 'oauth-server', enabled: false }] },
    env: {
      ...{ ALLOWED_ORIGINS: `${PAGE},http://127.0.0.1:1` },
      ...{ ADMIN_ADDRESSES: '127.0.0.1', PUBLIC_URL: 'https://hub.example/below' },
    },
  })
  admin = await hub.setup()
  await admin.ok('POST', '/api/groups', { name: 'g' })
  for (let at = 0; at < 5; at += 1)
    await admin.ok('POST', '/api/servers', {
      ...{ name: `s${at}`, url: 'https://mcp.example/', enabled: false, visibility: 'public' },
    })
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

describe('without a trusted proxy', () => {
  test('forwarding headers have no effect, and make nobody local', async () => {
    expect((await admin.request('GET', '/api/admin/users')).status).toBe(200)
    for (const headers of [
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
      { 'x-real-ip': '127.0.0.1' },
    ]) {
      const answer = await admin.request('GET', '/api/admin/users', undefined, headers as Record<string, string>)
      expect([answer.status, answer.json.code]).toEqual([403, 'address_not_allowed'])
    }
  })

  test('addresses are those of PUBLIC_URL, whose host and origin are served', async () => {
    expect((await admin.ok('GET', '/api/groups/g')).endpoint).toBe('https://hub.example/below/mcp/g')
    const head = [
      'Host: hub.example',
      'Origin: https://hub.example',
      `Authorization: Bearer ${admin.token}`,
      'Connection: close',
    ]
    expect((await rawRequest(hub.url, rawText('GET /api/servers HTTP/1.1', head))).status).toBe(200)
    expect(
      (
        await rawRequest(
          hub.url,
          rawText('GET /api/servers HTTP/1.1', [
            'Origin: https://hub.example.evil',
            ...head.filter(line => !line.startsWith('Origin')),
          ]),
        )
      ).status,
    ).toBe(403)
  })
})

describe('an answer', () => {
  /** As it is on the wire: a client would unpack it. */
  const raw = async (path: string, accept: string) => {
    const head = [
      `Host: ${new URL(hub.url).host}`,
      `Authorization: Bearer ${admin.token}`,
      `Accept-Encoding: ${accept}`,
      'Connection: close',
    ]
    return (await rawRequest(hub.url, rawText(`GET ${path} HTTP/1.1`, head))).text
  }
  const header = (text: string, name: string) => new RegExp(`^${name}: (.*)\\r$`, 'im').exec(text)?.[1]

  test('over 1,024 bytes is packed when asked for, and says that it depends on that', async () => {
    const packed = await raw('/api/servers', 'gzip, br')
    expect([header(packed, 'content-encoding'), header(packed, 'vary')]).toEqual(['gzip', 'Accept-Encoding'])
    for (const accept of ['br', 'gzip;q=0', 'identity']) {
      const plain = await raw('/api/servers', accept)
      expect([header(plain, 'content-encoding'), header(plain, 'vary')]).toEqual([undefined, 'Accept-Encoding'])
    }
    const direct = await fetch(`${hub.url}/api/servers`, { headers: { authorization: `Bearer ${admin.token}` } })
    expect((await direct.json()).items.length).toBe(5)
  })

  test('that is short, or a stream, is never packed', async () => {
    for (const path of ['/api/auth/me', '/health', '/api/stream'])
      expect(header(await raw(path, 'gzip'), 'content-encoding')).toBeUndefined()
  })

  test('is not stored by anybody, but for the public list', async () => {
    for (const path of ['/api/servers', '/health', '/api/openapi.json', '/api/public/info', '/api/none', '/none'])
      expect([path, header(await raw(path, ''), 'cache-control')]).toEqual([path, 'no-store'])
    expect(header(await raw('/api/public/servers', ''), 'cache-control')).toBe('public, max-age=60')
  })

  test('has an id that no other has, and that the problem in it names', async () => {
    const ids = new Set<string>()
    for (const path of [
      '/health',
      '/api/servers',
      '/api/none',
      '//x',
      '/mcp/none',
      '/.well-known/oauth-protected-resource/mcp',
    ]) {
      const text = await raw(path, '')
      const id = header(text, 'x-request-id')
      expect([path, typeof id]).toEqual([path, 'string'])
      ids.add(id as string)
      if (text.includes('requestId')) expect(text).toContain(`"requestId":"${id}"`)
    }
    expect(ids.size).toBe(6)
  })
})

describe('without the plugin of sign-in by clients', () => {
  test.each([
    ['GET', '/.well-known/oauth-protected-resource', 404],
    ['GET', '/.well-known/oauth-protected-resource/mcp/any', 404],
    ['GET', '/.well-known/oauth-authorization-server', 404],
    ['GET', '/.well-known/oauth-authorization-server/mcp/any', 404],
    ['GET', '/.well-known/openid-configuration', 404],
    ['POST', '/register', 403],
    ['POST', '/token', 403],
    ['GET', '/authorize', 403],
  ])('%s %s says in OAuth’s error form that keys are wanted', async (method, path, status) => {
    const answer = await fetch(hub.url + path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json'])
    const body = (await answer.json()) as Record<string, string>
    expect(Object.keys(body)).toEqual(['error', 'error_description'])
    expect(body.error_description).toContain('This hub takes access keys')
  })

  test('a 401 names no metadata, and the API has no route of it', async () => {
    const answer = await fetch(`${hub.url}/mcp/g`, { method: 'POST', headers: { authorization: 'Bearer pb_wrong' } })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="patchbay", error="invalid_token"',
    ])
    await answer.body?.cancel()
    for (const path of ['/api/oauth/grants', '/api/admin/oauth/clients'])
      expect((await admin.request('GET', path)).json.code).toBe('route_not_found')
    expect((await admin.ok('GET', '/api/openapi.json')).paths).not.toHaveProperty('/token')
  })

  test('a client that tries OAuth after a 401 tells its user that the key is not known', async () => {
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', hub.url), {
      requestInit: { headers: { authorization: 'Bearer pb_wrong' } },
      authProvider: {
        redirectUrl: 'http://127.0.0.1:1/callback',
        clientMetadata: { redirect_uris: ['http://127.0.0.1:1/callback'] },
        clientInformation: () => undefined,
        saveClientInformation: () => {},
        tokens: () => undefined,
        saveTokens: () => {},
        redirectToAuthorization: () => {
          throw new UnauthorizedError('The client was sent to a sign-in page that the hub does not have')
        },
        saveCodeVerifier: () => {},
        codeVerifier: () => '',
      },
    })
    const client = new McpClient({ name: 'oauth', version: '1' })
    await expect(client.connect(transport as Transport)).rejects.toThrow('the one sent is not known')
  })
})
