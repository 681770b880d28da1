import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import type { HubError } from '../../../core/contract/errors.ts'
import type { AddressRights } from '../../../core/domain/address.ts'
import { type OutboundProxy, parseProxy, proxyFor } from '../../../core/domain/outbound/proxy.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { createGuardedConnect } from '../../../core/outbound/websocket.ts'
import { Authority } from '../../support/certificates.ts'
import { type ForwardProxy, startForwardProxy } from '../../support/forward-proxy.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

const post = { method: 'POST', headers: { 'x-a': '1' }, body: 'é body' }
const unknown = async (): Promise<readonly string[]> => []
let folder = ''
let authority: Authority
let upstream: ReturnType<typeof Bun.serve>
let secure: ReturnType<typeof Bun.serve>

beforeAll(async () => {
  folder = await makeTemp('proxy')
  authority = new Authority(folder)
  const answer = async (request: Request, server: Bun.Server<undefined>) => {
    if (request.headers.get('upgrade') && server.upgrade(request)) return undefined
    const proxied = request.headers.get('proxy-authorization') ?? 'none'
    return new Response(
      `${request.headers.get('host')} ${new URL(request.url).pathname} ${proxied} ${await request.text()}`,
    )
  }
  const websocket = {
    message: (socket: Bun.ServerWebSocket, text: string | Buffer) => void socket.send(`echo ${text}`),
  }
  upstream = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer, websocket })
  const tls = authority.issue('up', 'DNS:mcp.example.test,IP:127.0.0.1')
  secure = Bun.serve({ hostname: '127.0.0.1', port: 0, tls, fetch: answer, websocket })
})
afterAll(async () => {
  await upstream?.stop(true)
  await secure?.stop(true)
  await removeTemp(folder)
})

function rights(proxy: ForwardProxy, admin: boolean, more: Partial<OutboundProxy> = {}, user = ''): AddressRights {
  const url = `http://${user}${proxy.authority}`
  return { networks: [], admin, proxy: { http: url, https: url, direct: [], names: false, ...more } }
}

function fetchBy(given: AddressRights, lookup = unknown) {
  return createGuardedFetch({ rights: given, instanceId: 'i', lookup, tls: { ca: authority.certificate } })
}

async function failure(work: Promise<unknown>): Promise<HubError> {
  return (await work.then(
    () => undefined,
    (error: unknown) => error,
  )) as HubError
}

describe('createGuardedFetch() behind a proxy', () => {
  test('reaches an https server by CONNECT with its name, which the hub cannot resolve, and reuses the tunnel', async () => {
    await using proxy = await startForwardProxy()
    const fetch = fetchBy(rights(proxy, true))
    const url = `https://mcp.example.test:${secure.port}/mcp`
    for (let index = 0; index < 2; index++)
      expect(await (await fetch(url, { method: 'GET', headers: {} })).text()).toBe(
        `mcp.example.test:${secure.port} /mcp none `,
      )
    expect(proxy.asked).toEqual([`CONNECT mcp.example.test:${secure.port}`])
    expect(await (await fetch(url, post)).text()).toEndWith('é body')
  })

  test('hands requests for http over with their whole URL, and keeps the proxy’s password from the server', async () => {
    await using proxy = await startForwardProxy('ann:p@ss')
    const fetch = fetchBy(rights(proxy, true, {}, 'ann:p%40ss@'))
    const url = `http://mcp.example.test:${upstream.port}/a?b=1`
    expect(await (await fetch(url, post)).text()).toBe(`mcp.example.test:${upstream.port} /a none é body`)
    const bytes = await fetch(url, { ...post, body: Buffer.from('binary') })
    expect(await bytes.text()).toEndWith('binary')
    expect(proxy.asked).toEqual([`POST ${url}`, `POST ${url}`])
  })

  test.each(['http', 'https'])(
    'says that the proxy of %s refuses the credentials, and that nothing was sent',
    async scheme => {
      await using proxy = await startForwardProxy('ann:right')
      const port = scheme === 'http' ? upstream.port : secure.port
      const error = await failure(
        fetchBy(rights(proxy, true, {}, 'ann:wrong@'))(`${scheme}://mcp.example.test:${port}/`, post),
      )
      expect([error.code, error.message]).toEqual([
        'proxy_failed',
        `The proxy does not connect to ${scheme}://mcp.example.test:${port}: it asks for another user name or password (407)`,
      ])
      expect(error.data).toEqual({ sent: false })
    },
  )

  test('names the proxy as the fault where it is gone, speaks no HTTP, or hangs up', async () => {
    const gone = await startForwardProxy()
    await gone[Symbol.asyncDispose]()
    const url = `https://mcp.example.test:${secure.port}/`
    expect(await failure(fetchBy(rights(gone, true))(url, post))).toMatchObject({
      code: 'proxy_failed',
      message: expect.stringContaining('cannot be reached'),
    })
    for (const [said, why] of [
      ['220 mail.example ESMTP\r\n\r\n', 'not HTTP'],
      ['', 'closed the connection'],
      ['HTTP/1.1 403 Forbidden\r\n\r\n', 'answered 403'],
      ['HTTP/1.1 200 OK\r\n\r\nunasked', 'before any were asked for'],
      [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`, 'not HTTP'],
    ] as const) {
      const odd = createServer(socket => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.end(said))
      })
      await new Promise<void>(resolve => odd.listen(0, '127.0.0.1', resolve))
      const { port } = odd.address() as { port: number }
      const error = await failure(fetchBy(rights({ authority: `127.0.0.1:${port}` } as ForwardProxy, true))(url, post))
      odd.close()
      expect([error.code, error.message]).toEqual(['proxy_failed', expect.stringContaining(why)])
    }
  })

  test('judges an ordinary user’s addresses, and gives the proxy the address and not the name', async () => {
    await using proxy = await startForwardProxy()
    const user = rights(proxy, false)
    const outside = async (): Promise<readonly string[]> => ['93.184.215.14']
    const url = `https://mcp.example.test:${secure.port}/`
    expect(await (await fetchBy(user, outside)(url, post)).text()).toContain('mcp.example.test')
    const plain = `http://mcp.example.test:${upstream.port}/`
    expect(await (await fetchBy(user, outside)(plain, post)).text()).toContain('mcp.example.test')
    expect(proxy.asked).toEqual([`CONNECT 93.184.215.14:${secure.port}`, `CONNECT 93.184.215.14:${upstream.port}`])
    for (const [address, lookup] of [
      [url, async () => ['10.0.0.1']],
      [url, unknown],
      [`https://127.0.0.1:${secure.port}/`, unknown],
      ['http://169.254.169.254/', unknown],
      ['http://metadata.google.internal/', unknown],
    ] as const)
      expect((await failure(fetchBy(user, lookup)(address, post))).code).toBe('url_address_blocked')
    expect(proxy.asked).toHaveLength(2)
  })

  test('lets the proxy resolve an ordinary user’s names where that is switched on, and still judges what it can', async () => {
    await using proxy = await startForwardProxy()
    const user = rights(proxy, false, { names: true })
    expect(await (await fetchBy(user)(`https://mcp.example.test:${secure.port}/`, post)).text()).toContain('mcp.')
    const inside = async (): Promise<readonly string[]> => ['10.0.0.1']
    const refused = fetchBy(user, inside)(`https://mcp.example.test:${secure.port}/`, post)
    expect((await failure(refused)).code).toBe('url_address_blocked')
    expect(proxy.asked).toEqual([`CONNECT mcp.example.test:${secure.port}`])
  })

  test('goes around the proxy for what NO_PROXY lists', async () => {
    await using proxy = await startForwardProxy()
    const local = async (): Promise<readonly string[]> => ['127.0.0.1']
    const given = rights(proxy, true, { direct: ['example.test'] })
    expect(await (await fetchBy(given, local)(`https://mcp.example.test:${secure.port}/`, post)).text()).toContain(
      'mcp.',
    )
    expect(proxy.asked).toEqual([])
  })
})

test('createGuardedConnect() opens WebSockets through the proxy, over TLS and without', async () => {
  await using proxy = await startForwardProxy('ann:secret')
  for (const [scheme, port] of [
    ['ws', upstream.port],
    ['wss', secure.port],
  ] as const) {
    const connect = createGuardedConnect({
      rights: rights(proxy, true, {}, 'ann:secret@'),
      instanceId: 'i',
      lookup: unknown,
      tls: { ca: authority.certificate },
    })
    const { promise, resolve } = Promise.withResolvers<string>()
    const socket = await connect(`${scheme}://mcp.example.test:${port}/`, { message: resolve, closed: () => undefined })
    socket.send('hi')
    expect(await promise).toBe('echo hi')
    await socket.close()
  }
  expect(proxy.asked).toEqual([`CONNECT mcp.example.test:${upstream.port}`, `CONNECT mcp.example.test:${secure.port}`])
})

describe('proxyFor()', () => {
  const proxy = { https: 'http://proxy.example:3128', http: 'proxy.example', names: false }
  const goes = (url: string, ...direct: string[]) => proxyFor(new URL(url), { ...proxy, direct }) !== undefined

  test.each([
    ['https://api.example.com/', 'example.com', false],
    ['https://example.com/', 'example.com', false],
    ['https://example.com./', '.example.com', false],
    ['https://API.Example.com/', '*.EXAMPLE.com', false],
    ['https://badexample.com/', 'example.com', true],
    ['https://api.example.com/', 'example.com:443', false],
    ['https://api.example.com:8443/', 'example.com:443', true],
    ['https://10.1.2.3/', '10.0.0.0/8', false],
    ['https://11.1.2.3/', '10.0.0.0/8', true],
    ['https://[fd00::5]/', 'fd00::/8', false],
    ['https://[fd00::5]:8443/', '[fd00::5]:8443', false],
    ['https://[fd00::5]/', 'fd00::5', false],
    ['https://10.1.2.3/', '10.1.2.3', false],
    ['https://10.example.com/', '10.0.0.0/8', true],
    ['https://anything.example/', '*', false],
    ['https://anything.example/', 'http://nonsense', true],
    // Another machine's loopback is not this one's.
    ['http://localhost:3001/', '', false],
    ['http://127.0.0.9/', '', false],
    ['ws://[::1]/', '', false],
  ])('%s with NO_PROXY=%s: %p', (url, entry, expected) => {
    expect(goes(url, ...(entry === '' ? [] : [entry]))).toBe(expected)
  })

  test('chooses by scheme, and none where the variable of the scheme is not set', () => {
    expect(proxyFor(new URL('wss://a.example/'), { ...proxy, direct: [] })).toEqual({
      host: 'proxy.example',
      port: 3128,
    })
    expect(proxyFor(new URL('ws://a.example/'), { ...proxy, direct: [] })).toEqual({ host: 'proxy.example', port: 80 })
    expect(proxyFor(new URL('http://a.example/'), { https: 'http://p', direct: [], names: false })).toBeUndefined()
  })

  test('refuses what is no http proxy', () => {
    for (const text of ['https://p.example', 'socks5://p.example', 'http://p/path', 'http://', 'http://a:%ZZ@p', ''])
      expect(parseProxy(text)).toBeUndefined()
  })
})
