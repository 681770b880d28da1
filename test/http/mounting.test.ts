import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { rawRequest, rawText } from '../support/raw-http.ts'

describe('behind a proxy that is trusted, below a path', () => {
  let hub: Hub
  let token: string
  let origin: string

  beforeAll(async () => {
    hub = await startHub({
      env: {
        BASE_PATH: '/hub',
        TRUSTED_PROXIES: '127.0.0.1',
        ALLOWED_HOSTS: 'hub.example,127.0.0.1',
        ADMIN_ADDRESSES: '192.0.2.0/24',
        ADMIN_USERNAME: 'root-of-it',
        ADMIN_PASSWORD: 'a long enough passphrase 1',
      },
    })
    origin = new URL(hub.url).origin
    token = (
      await (
        await send(
          'POST',
          '/hub/api/auth/login',
          {},
          { username: 'root-of-it', password: 'a long enough passphrase 1' },
        )
      ).json()
    ).token
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
    fetch(origin + path, {
      method,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        'content-type': 'application/json',
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })

  test('everything is below the path, and nothing beside it', async () => {
    expect(hub.url).toEndWith('/hub')
    for (const path of ['/hub/health', '/hub/api/servers', '/hub/api/docs', '/hub/api/openapi.json'])
      expect((await send('GET', path)).status).toBe(200)
    for (const path of ['/health', '/api/servers', '/hubb/health', '/hub', '/HUB/health', '/mcp']) {
      const answer = await send('GET', path)
      expect([path, answer.status]).toEqual([path, 404])
    }
    for (const start of ['/hub', '/hub/']) {
      const page = await send('GET', start, { accept: 'text/html' })
      // The console; 503 where it is not built.
      expect([200, 503]).toContain(page.status)
      expect([page.url, page.headers.get('content-type')]).toEqual([
        `${new URL(hub.url).origin}${start}`,
        'text/html; charset=utf-8',
      ])
    }
    expect((await send('POST', '/hub/mcp', { authorization: '' }, {})).status).toBe(401)
    expect((await send('POST', '/hub/api/servers?token=x', {}, {})).status).toBe(400)
  })

  test('addresses are those that clients of the proxy see', async () => {
    const forwarded = { host: 'hub.example', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'hub.example' }
    const made = await send('POST', '/hub/api/servers', forwarded, {
      name: 'a b',
      url: 'https://mcp.example/',
      enabled: false,
    })
    expect(made.headers.get('location')).toBe('https://hub.example/hub/api/servers/root-of-it~a%20b')
    await send('POST', '/hub/api/groups', {}, { name: 'g g', members: ['a b'] })
    const { endpoint } = await (await send('GET', '/hub/api/groups/g%20g', forwarded)).json()
    expect(endpoint).toBe('https://hub.example/hub/mcp/g%20g')
    const foreign = await (await send('GET', '/hub/api/groups/g%20g', { 'x-forwarded-host': 'evil.example' })).json()
    expect(foreign.endpoint).toBe(`${origin}/hub/mcp/g%20g`)
  })

  test('administration is open to the listed networks alone, by what the proxy says', async () => {
    const status = async (headers: Record<string, string>) =>
      (await send('GET', '/hub/api/admin/users', headers)).status
    expect(await status({ 'x-forwarded-for': '192.0.2.9' })).toBe(200)
    expect(await status({ 'x-forwarded-for': '203.0.113.1, 192.0.2.9, 127.0.0.1' })).toBe(200)
    expect(await status({ 'x-forwarded-for': '::ffff:192.0.2.9' })).toBe(200)
    expect(await status({})).toBe(403)
    expect(await status({ 'x-forwarded-for': '192.0.2.9, 203.0.113.1' })).toBe(403)
    expect(await status({ 'x-forwarded-for': 'unknown' })).toBe(403)
    expect(await status({ 'x-real-ip': '192.0.2.9' })).toBe(403)
    const refused = await (await send('GET', '/hub/api/admin/users')).json()
    expect(refused.code).toBe('address_not_allowed')
    expect((await send('GET', '/hub/api/servers')).status).toBe(200)
  })
})

describe('without a trusted proxy', () => {
  let hub: Hub
  let admin: Client

  beforeAll(async () => {
    hub = await startHub({ env: { ADMIN_ADDRESSES: '127.0.0.1', PUBLIC_URL: 'https://hub.example/below' } })
    admin = await hub.setup()
    await admin.ok('POST', '/api/groups', { name: 'g' })
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

  test('what forwarding headers say counts for nothing, and makes nobody local', async () => {
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
  let hub: Hub
  let admin: Client

  beforeAll(async () => {
    hub = await startHub()
    admin = await hub.setup()
    for (let at = 0; at < 5; at += 1)
      await admin.ok('POST', '/api/servers', {
        name: `s${at}`,
        url: 'https://mcp.example/',
        enabled: false,
        visibility: 'public',
      })
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

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
