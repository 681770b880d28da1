/** Real nginx and Caddy, with the files of `deploy/`, before a real hub: at the root and below a path. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { Client as NewerClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { below, Client } from '../support/client.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { type Hub, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atMost } from '../support/pace.ts'
import { HEADERS } from '../support/raw-mcp.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { caddyBefore, nginxBefore, type RunningProxy } from './proxies.ts'

const API_KEY = 'the-key-of-every-endpoint'
const STREAM_MS = 300
const MB_2 = 2 * 1024 * 1024

const trusting = process.env.NODE_TLS_REJECT_UNAUTHORIZED
beforeAll(() => {
  // The certificates are the tests' own; verification by clients is not tested here.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
})
afterAll(() => {
  if (trusting === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  else process.env.NODE_TLS_REJECT_UNAUTHORIZED = trusting
})

/** A request from another address of this machine than 127.0.0.1. Returns the whole answer. */
function requestFrom(address: string, url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const plain = connectTcp({ host: hostname, port: Number(port), localAddress: address }, () => {
    const socket = connectTls({ socket: plain, rejectUnauthorized: false }, () => socket.write(text))
    let seen = ''
    socket.on('data', chunk => {
      seen += chunk.toString('latin1')
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(seen))
  })
  plain.on('error', reject)
  return promise
}

function signInText(url: string, username: string, password: string): string {
  const { host, pathname } = new URL(below(url, '/api/auth/login'))
  const body = JSON.stringify({ username, password })
  return `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nX-Forwarded-For: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** Milliseconds until the first byte of a body, and a reader of the rest. */
async function firstByte(response: Promise<Response>): Promise<{ ms: number; text: () => Promise<string> }> {
  const startedAt = performance.now()
  const reader = (await response).body?.getReader()
  const first = await reader?.read()
  const ms = performance.now() - startedAt
  return {
    ms,
    async text() {
      const decoder = new TextDecoder()
      let text = decoder.decode(first?.value, { stream: true })
      for (;;) {
        const next = await reader?.read()
        if (!next || next.done) return text
        text += decoder.decode(next.value, { stream: true })
      }
    },
  }
}

test('Caddy’s log of requests has no token of a query', async () => {
  const token = `canary-${crypto.randomUUID()}`
  // Nothing listens there: the request fails too.
  await using proxy = await caddyBefore(`http://127.0.0.1:${await freePort()}`, '5s', 'log')
  const answer = await fetch(below(proxy.url, `/api/assistant/ws?endpoint=kitchen&token=${token}`))
  expect(answer.status).toBe(502)
  const log = await until(async () => {
    const text = await readFile(join(proxy.folder, 'caddy.log'), 'utf8')
    return text.includes('endpoint=kitchen') ? text : undefined
  })
  expect(log).toContain('token=REDACTED')
  expect(log).not.toContain(token)
}, 120_000)

/** In the suite at the root alone; `failure/behind-proxy` has a hub below a path. */
describe.each(extent([''], ['', '/hub']))('a hub at "%s"', basePath => {
  let hub: Hub
  let direct: Client

  beforeAll(async () => {
    hub = await startHub({
      settings: {
        mcpServers: { echo: stdioFixture('echo'), slow: stdioFixture('slow') },
        groups: [{ name: 'g', servers: ['echo', 'slow'] }],
      },
      env: {
        ...{ ADMIN_USERNAME: 'root', ADMIN_PASSWORD: PASSWORD, TRUSTED_PROXIES: '127.0.0.1' },
        ...{ ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: API_KEY, ENABLE_REQUEST_LOGS: 'true' },
        ...(basePath === '' ? {} : { BASE_PATH: basePath }),
      },
    })
    direct = await hub.signIn('root')
    await online(direct, ['echo', 'slow'])
    // Written at the first request, which takes long on a busy machine.
    await direct.ok('GET', '/api/openapi.json')
    const endpoint = { name: 'kitchen', direction: 'inbound', group: 'g' }
    await direct.ok('POST', '/api/assistant/endpoints', endpoint)
  }, 120_000)
  afterAll(() => hub?.stop(), 120_000)

  describe.each(['nginx', 'Caddy'])('behind %s', name => {
    // Behaviour that Caddy and nginx share is tested at nginx only, except in the long form.
    const alsoHere = name === 'nginx' ? (define: () => void) => define() : beyondCore
    let proxy: RunningProxy
    let outside: Client

    beforeAll(async () => {
      proxy = await (name === 'nginx' ? nginxBefore(hub.url, '5s') : caddyBefore(hub.url, '5s'))
      outside = new Client(proxy.url, 'root', direct.token)
    }, 120_000)
    afterAll(async () => {
      await outside?.close()
      await proxy?.[Symbol.asyncDispose]()
    }, 120_000)

    test('MCP of both eras, and the older pair of SSE and messages', async () => {
      for (const sse of [false, true]) {
        const client = await outside.mcp(sse ? '/sse/g' : '/mcp/g', { sse })
        expect(await callText(client, 'echo', { text: 'through' })).toBe('through')
      }
      const newer = new NewerClient(
        { name: 'newer', version: '1' },
        { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      )
      const authorization = `Bearer ${await outside.mcpKey()}`
      await newer.connect(
        new StreamableHTTPClientTransport(new URL(below(proxy.url, '/mcp/g')), {
          requestInit: { headers: { authorization } },
        }),
      )
      const { content } = await newer.callTool({ name: 'echo', arguments: { text: 'newer' } })
      expect(content).toEqual([{ type: 'text', text: 'newer' }])
      await newer.close()
    }, 120_000)

    alsoHere(() => {
      test('the first event of a stream comes at once, and progress comes during the call', async () => {
        const stream = new AbortController()
        const live = await firstByte(
          fetch(below(proxy.url, '/api/stream'), {
            headers: { authorization: `Bearer ${outside.token}` },
            signal: stream.signal,
          }),
        )
        expect(live.ms).toBeLessThan(atMost(STREAM_MS))
        stream.abort()
        const message = {
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name: 'wait', arguments: { ms: 2_500 }, _meta: { progressToken: 1 } },
        }
        const key = await outside.mcpKey()
        const initialize = await fetch(below(proxy.url, '/mcp/g'), {
          method: 'POST',
          headers: { ...HEADERS, authorization: `Bearer ${key}` },
          body: JSON.stringify({
            ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
            params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
          }),
        })
        const session = initialize.headers.get('mcp-session-id') ?? ''
        await initialize.text()
        const call = await firstByte(
          fetch(below(proxy.url, '/mcp/g'), {
            method: 'POST',
            headers: { ...HEADERS, authorization: `Bearer ${key}`, 'mcp-session-id': session },
            body: JSON.stringify(message),
          }),
        )
        expect(call.ms).toBeLessThan(atMost(STREAM_MS))
        expect(await call.text()).toMatch(/notifications\/progress[\s\S]*waited 2500/)
      }, 120_000)

      test('events by SSE and by WebSocket, and an assistant by WebSocket', async () => {
        const events = await openStream(outside)
        const socket = new WebSocket(below(proxy.url, '/api/stream').href.replace('http', 'ws'), {
          headers: { authorization: `Bearer ${outside.token}` },
          tls: { rejectUnauthorized: false },
        } as never)
        const said: string[] = []
        socket.onmessage = event => said.push(String(event.data))
        await until(() => said.length > 0, { what: 'a word over the WebSocket' })
        await direct.ok('POST', '/api/groups', { name: `told-${name}`, members: ['echo'] })
        await events.next(({ event }) => event.startsWith('group.'))
        await until(() => said.some(text => text.includes('group.')), { what: 'the event over the WebSocket' })
        socket.close()
        // The test does not wait here: Bun ends an aborted read over TLS only with the next bytes.
        void events.close()

        const assistant = new WebSocket(
          below(proxy.url, '/api/assistant/ws?endpoint=root~kitchen').href.replace('http', 'ws'),
          {
            headers: { authorization: `Bearer ${API_KEY}` },
            tls: { rejectUnauthorized: false },
          } as never,
        )
        const heard: string[] = []
        assistant.onmessage = event => heard.push(String(event.data))
        await until(() => assistant.readyState === WebSocket.OPEN, { what: 'the assistant to be connected' })
        assistant.send(
          JSON.stringify({ jsonrpc: '2.0', id: 5, method: 'initialize', params: { protocolVersion: '2024-11-05' } }),
        )
        await until(() => heard.some(text => text.includes('"id":5')), { what: 'an answer to the assistant' })
        assistant.close()
      }, 120_000)

      test('bodies of 2 MB go through, both ways', async () => {
        const client = await outside.mcp('/mcp/echo')
        const text = 'x'.repeat(MB_2)
        expect((await callText(client, 'echo', { text })) === text).toBe(true)
      }, 120_000)

      test('answers of more than 1,024 bytes are compressed, streams are not; nothing dynamic is cached', async () => {
        const fetched = (path: string, accept = 'gzip') =>
          fetch(below(proxy.url, path), {
            headers: { authorization: `Bearer ${outside.token}`, 'accept-encoding': accept },
            decompress: false,
          } as RequestInit)
        const large = await fetched('/api/openapi.json')
        expect([large.status, large.headers.get('content-encoding')]).toEqual([200, 'gzip'])
        const small = await fetched('/health')
        expect([small.status, small.headers.get('content-encoding')]).toEqual([200, null])
        const list = await fetched('/api/servers')
        expect(list.headers.get('cache-control')).toBe('no-store')
        for (const { headers } of [large, small, list])
          expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains')
        await Promise.all([large, small, list].map(answer => answer.arrayBuffer()))
        const open = await fetched('/api/public/servers')
        expect(open.headers.get('cache-control')).toBe('public, max-age=60')
        await open.text()
        const stop = new AbortController()
        const stream = await fetch(below(proxy.url, '/api/stream'), {
          headers: { authorization: `Bearer ${outside.token}`, 'accept-encoding': 'gzip' },
          signal: stop.signal,
        })
        expect(stream.headers.get('content-encoding')).toBeNull()
        stop.abort()
      }, 120_000)

      test('the client’s own address is logged, audited and slowed down, whatever it says of itself', async () => {
        // Each proxy has addresses of its own, since the tests of one use up the allowance of an address.
        const [guesser, honest] = name === 'nginx' ? ['127.0.0.2', '127.0.0.3'] : ['127.0.0.4', '127.0.0.5']
        const text = signInText(proxy.url, 'root', 'not the passphrase')
        const guesses: string[] = []
        for (let n = 0; n < 8; n += 1) guesses.push(await requestFrom(guesser, proxy.url, text))
        expect(guesses.map(guess => guess.slice(9, 12))).toContain('401')
        expect(guesses.at(-1)).toStartWith('HTTP/1.1 429')
        expect(guesses.at(-1)?.toLowerCase()).toContain('retry-after: ')
        const right = await requestFrom(honest, proxy.url, signInText(proxy.url, 'root', PASSWORD))
        expect(right).toStartWith('HTTP/1.1 200')
        for (const address of [guesser, honest]) await hub.logged(`"client":"${address}"`)
        const { items } = await direct.ok('GET', '/api/admin/audit?limit=100')
        const audited = items.map(({ action, address }: { action: string; address: string }) => `${action} ${address}`)
        expect(audited).toEqual(
          expect.arrayContaining([`auth.login_failed ${guesser}`, `auth.login ${honest}`, 'group.create 127.0.0.1']),
        )
      }, 120_000)
    })

    if (name === 'nginx')
      test('more than ten requests a second are refused with 429 and a time to wait', async () => {
        const answers = await Promise.all(Array.from({ length: 60 }, () => outside.request('GET', '/api/auth/me')))
        const refused = answers.filter(({ status }) => status === 429)
        expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(20)
        expect(refused.length).toBeGreaterThan(0)
        expect(refused[0]?.json).toMatchObject({ status: 429, code: 'rate_limited' })
        expect(refused[0]?.headers.get('retry-after')).toBe('1')
        // Neither streams nor MCP are counted.
        const client = await outside.mcp('/mcp/echo')
        expect(await callText(client, 'echo', { text: 'still' })).toBe('still')
        await until(async () => (await outside.request('GET', '/api/auth/me')).status === 200)
      }, 120_000)

    alsoHere(() => {
      test('a call that outlasts the proxy’s patience is its 504', async () => {
        const call = () => outside.request('POST', '/api/servers/slow/tools/wait/call', { arguments: { ms: 9_000 } })
        const late = await until(async () => {
          const answer = await call()
          return answer.status === 429 ? undefined : answer
        })
        expect([late.status, late.json.title]).toEqual([504, 'The hub took too long'])
        expect(late.headers.get('retry-after')).toBeNull()
      }, 120_000)
    })

    if (name === 'nginx')
      test('a file of the console that is missing is asked of the hub once a minute', async () => {
        const missing = () => fetch(below(proxy.url, '/assets/none-1a2b3c.js'))
        const states: unknown[] = []
        for (let n = 0; n < 2; n += 1) {
          const { status, headers } = await missing()
          states.push([status, headers.get('x-cache-status')])
        }
        expect(states).toEqual([
          [404, 'MISS'],
          [404, 'HIT'],
        ])
      })

    if (name === 'nginx')
      test('the port without TLS leads to https', async () => {
        const answer = await fetch(`${proxy.plainUrl}/hub/x?y=1`, { redirect: 'manual' })
        expect([answer.status, answer.headers.get('location')]).toEqual([308, 'https://127.0.0.1/hub/x?y=1'])
      })
  })

  test('a hub that is down is 502 with a time to try again', async () => {
    const proxies = await Promise.all([
      nginxBefore(`http://127.0.0.1:9${basePath}`),
      caddyBefore(`http://127.0.0.1:9${basePath}`),
    ])
    for (const { url } of proxies) {
      const answer = await fetch(below(url, '/mcp/g'), { method: 'POST', headers: HEADERS, body: '{}' })
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([502, '2'])
      expect(await answer.json()).toMatchObject({ status: 502, hint: expect.stringContaining('again') })
    }
    await Promise.all(proxies.map(proxy => proxy[Symbol.asyncDispose]()))
  }, 120_000)
})

test('files of the console are kept by nginx for a day, and by browsers for as long as the hub says', async () => {
  const kept = 'public, max-age=31536000, immutable'
  let asked = 0
  // This server replaces the hub, whose console is built separately.
  const files = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch() {
      asked += 1
      return new Response('x'.repeat(3_000), {
        headers: { 'content-type': 'text/javascript', 'cache-control': kept },
      })
    },
  })
  for (const start of [nginxBefore, caddyBefore]) {
    await using proxy = await start(`http://127.0.0.1:${files.port}`)
    asked = 0
    for (let n = 0; n < 2; n += 1) {
      const { status, headers } = await fetch(`${proxy.url}/assets/app-1a2b3c.js`)
      expect([status, headers.get('content-encoding')]).toEqual([200, 'gzip'])
      expect(headers.get('cache-control')).toBe(kept)
      expect(headers.get('strict-transport-security')).toBe('max-age=31536000; includeSubDomains')
    }
    expect(asked).toBe(start === nginxBefore ? 1 : 2)
  }
  await files.stop(true)
}, 120_000)

test('the token of an assistant in the query is in no file that nginx writes, also when the hub is down', async () => {
  const token = `pba_${crypto.randomUUID()}`
  const up = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('ok') })
  for (const upstream of [`http://127.0.0.1:${up.port}`, 'http://127.0.0.1:9', 'http://127.0.0.1:9/hub']) {
    await using proxy = await nginxBefore(upstream)
    await (await fetch(below(proxy.url, `/api/assistant/ws?token=${token}`))).text()
    await (await fetch(`${proxy.plainUrl}/api/assistant/ws?token=${token}`, { redirect: 'manual' })).text()
    const lines = () => readFile(join(proxy.folder, 'patchbay.log'), 'utf8')
    await until(async () => (await lines()).split('/api/assistant/ws').length > 2, { what: 'both requests in the log' })
    const files = (await readdir(proxy.folder)).filter(name => name.endsWith('.log'))
    const texts = await Promise.all(files.map(name => readFile(join(proxy.folder, name), 'utf8')))
    expect(texts.join('\n')).not.toContain(token)
    expect(files.length).toBeGreaterThan(1)
  }
  await up.stop(true)
}, 120_000)
