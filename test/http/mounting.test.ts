import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Hub, startHub } from '../support/hub.ts'

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
    for (const path of ['/health', '/api/servers', '/hubb/health', '/HUB/health', '/mcp']) {
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
