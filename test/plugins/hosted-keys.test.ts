/** Keys of hosted platforms: servers that get them, servers that never do, and the effect of a change. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { platformOf } from '../../plugins/hosted-keys/platforms.ts'
import { Authority } from '../support/certificates.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

/** A loopback address of its own, so that nothing else uses its port 443. */
const HOST = '127.0.0.2'

describe('the platform of an address', () => {
  const platforms = {
    one: { label: 'One', hosts: ['mcp.example.net', '.below.example.org'] },
    two: { label: 'Two', hosts: ['both.example.com'] },
    three: { label: 'Three', hosts: ['both.example.com'] },
  }
  test.each([
    ['https://mcp.example.net/mcp', 'one'],
    ['https://MCP.Example.NET:443/x?host=evil', 'one'],
    ['https://mcp.example.net./mcp', 'one'],
    ['https://a.below.example.org/', 'one'],
    ['https://a.b.below.example.org/', 'one'],
    ['https://below.example.org/', undefined],
    ['https://abelow.example.org/', undefined],
    ['https://sub.mcp.example.net/', undefined],
    ['https://badmcp.example.net/', undefined],
    ['https://mcp.example.net.evil.example/', undefined],
    ['https://evil.example/mcp.example.net', undefined],
    ['https://evil.example#@mcp.example.net', undefined],
    ['https://mcp.example.net@evil.example/', undefined],
    ['https://user@mcp.example.net/', undefined],
    ['https://mcp.example.net:8443/', undefined],
    ['http://mcp.example.net/', undefined],
    ['http://mcp.example.net:443/', undefined],
    ['wss://mcp.example.net/', undefined],
    ['not an address', undefined],
  ])('%s: %p', (address, name) => {
    expect(platformOf(platforms, address)).toEqual(name === undefined ? undefined : { name })
  })

  test('is none where two list the host', () => {
    expect(platformOf(platforms, 'https://both.example.com/')).toEqual({ claimedBy: ['two', 'three'] })
  })
})

describe('a hub', () => {
  let folder: string
  let hub: Hub
  let admin: Client
  let platform: ReturnType<typeof Bun.serve>
  let seen: string[] = []
  /** The next calls are answered after it. */
  let held: { readonly arrived: () => void; readonly until: Promise<void> } | undefined

  beforeAll(async () => {
    folder = await makeTemp('hosted')
    const authority = new Authority(folder)
    const { cert, key } = authority.issue('platform', `IP:${HOST}`)
    platform = Bun.serve({ hostname: HOST, port: 443, tls: { cert, key }, fetch: answer })
    const platforms = { own: { label: 'Own', hosts: [HOST] } }
    hub = await startHub({
      env: { ...LOOPBACK, NODE_EXTRA_CA_CERTS: authority.file },
      settings: { plugins: [{ use: 'hosted-keys', config: { platforms } }] },
    })
    admin = await hub.setup()
  }, 120_000)
  beforeEach(() => {
    seen = []
  })
  afterAll(async () => {
    await hub?.stop()
    await platform?.stop(true)
    await removeTemp(folder)
  }, 120_000)

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    seen.push(`${pathname} ${request.headers.get('authorization')}`)
    if (pathname === '/moved') return new Response(null, { status: 307, headers: { location: '/there' } })
    if (request.method !== 'POST') return new Response(null, { status: 405 })
    const { id, method } = (await request.json()) as { readonly id?: number; readonly method: string }
    if (id === undefined) return new Response(null, { status: 202 })
    if (method === 'tools/call') held?.arrived()
    if (method === 'tools/call') await held?.until
    const results: Readonly<Record<string, object>> = {
      initialize: {
        ...{ protocolVersion: '2025-11-25', capabilities: { tools: {} } },
        serverInfo: { name: 'hosted', version: '1' },
      },
      'tools/list': { tools: [{ name: 'good', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'done' }] },
    }
    const result = results[method]
    return Response.json({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) })
  }
  const setKey = (user: Client, key: string | null) => user.ok('PATCH', '/api/settings', { hostedKeys: { own: key } })
  const testKey = (user: Client) => user.ok('POST', '/api/plugins/hosted-keys/test', { platform: 'own' })
  const platforms = async (user: Client) =>
    (await user.ok('GET', '/api/plugins/hosted-keys/platforms')).items.find(
      ({ name }: { name: string }) => name === 'own',
    )
  const keysAt = (path: string): string[] => [
    ...new Set(seen.filter(line => line.startsWith(`${path} `)).map(line => line.slice(path.length + 1))),
  ]

  test('sends its owner’s key with every request of any caller, and another key within 2 s of the change', async () => {
    await setKey(admin, 'first-key-canary')
    const body = { name: 'hosted', url: `https://${HOST}/mcp`, visibility: 'public' }
    await admin.ok('POST', '/api/servers', body)
    await admin.ok('POST', '/api/servers', {
      name: 'manual',
      url: `https://${HOST}/manual`,
      headers: { AUTHORIZATION: 'Bearer mine' },
    })
    await online(admin, ['hosted', 'manual'])
    const ada = await hub.user('ada')
    await setKey(ada, 'key-of-ada')
    const client = await ada.mcp('/mcp/@admin/hosted')
    await client.callTool({ name: 'good' })
    expect(keysAt('/mcp')).toEqual(['Bearer first-key-canary'])
    expect(keysAt('/manual')).toEqual(['Bearer mine'])
    expect(await platforms(admin)).toMatchObject({
      ...{ key: { from: 'own', last4: 'nary' }, servers: ['hosted'], overridden: ['manual'] },
    })
    const tested = await testKey(admin)
    expect(tested).toEqual({
      ...{
        platform: 'own',
        server: 'hosted',
        ok: true,
        code: 'answered',
        status: 200,
        detail: 'The platform answered with HTTP 200',
      },
    })
    expect(await testKey(ada)).toMatchObject({ ok: false, code: 'no_server', detail: 'You have no server there' })
    const nameless = await admin.request('POST', '/api/plugins/hosted-keys/test', { platform: 'toString' })
    expect([nameless.status, nameless.json.code]).toEqual([400, 'validation_failed'])
    const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    held = { arrived: arrived.resolve, until: release.promise }
    const underWay = client.callTool({ name: 'good' })
    await arrived.promise
    held = undefined
    seen = []
    const changedAtMs = performance.now()
    await setKey(admin, 'second-key-canary')
    await until(() => keysAt('/mcp').includes('Bearer second-key-canary'))
    expect(performance.now() - changedAtMs).toBeLessThan(atMost(2_000))
    await online(admin, ['hosted'])
    await client.callTool({ name: 'good' })
    expect(keysAt('/mcp').at(-1)).toBe('Bearer second-key-canary')
    // A call that was under way ends as it began.
    release.resolve()
    expect((await underWay).content).toEqual([{ type: 'text', text: 'done' }])
    // The other connection was not touched by it.
    expect(keysAt('/manual')).toEqual([])
    const shown = await Promise.all(
      [
        '/api/servers',
        '/api/servers/hosted',
        '/api/settings',
        '/api/admin/plugins',
        '/api/logs/search',
        '/api/admin/audit',
      ].map(async path => (await admin.request('GET', path)).text),
    )
    for (const text of [...shown, hub.log()]) expect(text).not.toContain('key-canary')
  }, 120_000)

  test('sends the configured key where the owner has none, and none at all when there is none', async () => {
    await setKey(admin, null)
    await until(() => keysAt('/mcp').includes('null'))
    expect((await platforms(admin)).key).toEqual({ from: 'none' })
    expect(await testKey(admin)).toMatchObject({ ok: false, code: 'no_key', detail: 'There is no key' })
    const own = { label: 'Own', hosts: [HOST] }
    await admin.ok('PATCH', '/api/admin/plugins/hosted-keys', {
      config: { platforms: { own }, keys: { own: 'system-key-canary' } },
    })
    await until(() => keysAt('/mcp').includes('Bearer system-key-canary'))
    expect((await platforms(admin)).key).toEqual({ from: 'system' })
    expect((await admin.request('GET', '/api/admin/plugins')).text).not.toContain('key-canary')
  }, 120_000)

  test('follows no redirect with a key', async () => {
    await setKey(admin, 'third-key-canary')
    await admin.ok('POST', '/api/servers', { name: 'moved', url: `https://${HOST}/moved`, type: 'streamable-http' })
    const status = await until(async () => {
      const now = await statusOf(admin, 'moved')
      return now.state === 'offline' && now.reason ? now : undefined
    })
    expect(status.reason?.code).toBe('redirect_blocked')
    await admin.ok('DELETE', '/api/servers/hosted')
    seen = []
    expect(await testKey(admin)).toMatchObject({ server: 'moved', ok: false })
    expect(keysAt('/there')).toEqual([])
    expect([keysAt('/moved'), keysAt('/there')]).toEqual([['Bearer third-key-canary'], []])
    expect(JSON.stringify(status)).not.toContain('key-canary')
  }, 120_000)

  test('sends none to another port of the host, and none for a document of OpenAPI', async () => {
    using other = Bun.serve({ hostname: HOST, port: 0, fetch: answer })
    await admin.ok('POST', '/api/servers', { name: 'plain', url: `http://${HOST}:${other.port}/plain` })
    await online(admin, ['plain'])
    expect(keysAt('/plain')).toEqual(['null'])
    await admin.ok('POST', '/api/servers', { name: 'api', openapi: { url: `https://${HOST}/document` } })
    await until(() => keysAt('/document').length > 0)
    expect(keysAt('/document')).toEqual(['null'])
  }, 120_000)
})
