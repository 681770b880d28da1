import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { createServer as createPlain } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Authority, type Certificate } from '../support/certificates.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { watchFor } from '../support/unharmed.ts'
import { until } from '../support/wait.ts'
import { known } from './fixtures/known.ts'

const CANARY = 'canary-of-the-other-side'
const SECRET = 'canary-that-was-for-the-right-server'

/** Faults of the servers, with the word in the reason. */
const FAULTS: Readonly<Record<string, string>> = {
  expired: 'expired',
  'self-signed': 'self-signed',
  'another-name': 'another name',
  untrusted: 'not trusted',
  plain: 'plain http',
}

let folder = ''
let stranger: Authority
let client: Certificate
let other: Certificate
const servers: Server[] = []
/** Requests that came, by server. */
const came: Record<string, number> = {}
let hub: Hub
let admin: Client
let unharmed: () => Promise<void>
const urls: Record<string, string> = {}

beforeAll(async () => {
  folder = await makeTemp('tls')
  const trusted = new Authority(folder)
  await mkdir(join(folder, 'stranger'))
  stranger = new Authority(join(folder, 'stranger'))
  client = stranger.issue('client', 'DNS:client')
  other = stranger.issue('other', 'DNS:other')
  const here = 'IP:127.0.0.1'
  const shown: Record<string, Certificate | undefined> = {
    good: trusted.issue('good', here),
    expired: trusted.issue('expired', here, -1),
    'self-signed': trusted.selfSigned('self-signed', here),
    'another-name': trusted.issue('another-name', `DNS:${CANARY}.example`),
    untrusted: stranger.issue('untrusted', here),
    mutual: stranger.issue('mutual', 'DNS:inner.example'),
    plain: undefined,
  }
  for (const [name, certificate] of Object.entries(shown)) urls[name] = await listen(name, certificate)
  hub = await startHub({
    countTimers: true,
    env: { NODE_EXTRA_CA_CERTS: trusted.file },
    settings: {
      mcpServers: {
        echo: known('echo'),
        ...Object.fromEntries(
          Object.entries(urls)
            .filter(([name]) => name !== 'mutual')
            .map(([name, url]) => [name, { url, headers: { Authorization: `Bearer ${SECRET}` } }]),
        ),
      },
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo', 'good'])
  unharmed = await watchFor(hub, admin, { canaries: [CANARY, SECRET] })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  for (const server of servers) server.close()
  await removeTemp(folder)
}, 120_000)

afterEach(() => unharmed(), 120_000)

async function listen(name: string, certificate: Certificate | undefined): Promise<string> {
  came[name] = 0
  const answer: Parameters<typeof createPlain>[1] = (request, response) => {
    came[name] = (came[name] ?? 0) + 1
    let text = ''
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      const message = text === '' ? undefined : JSON.parse(text)
      if (message?.id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end()
      const tools = [{ name: 'hello', inputSchema: { type: 'object' } }]
      const results: Record<string, unknown> = {
        initialize: {
          ...{ protocolVersion: message.params?.protocolVersion, capabilities: { tools: {} } },
          serverInfo: { name: CANARY, version: '1' },
        },
        'tools/list': { tools },
        'tools/call': { content: [{ type: 'text', text: 'hello' }] },
      }
      const result = results[message.method]
      response.setHeader('content-type', 'application/json')
      const error = { code: -32601, message: 'Method not found' }
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }))
    })
  }
  const asks = name === 'mutual' ? { ca: stranger.certificate, requestCert: true, rejectUnauthorized: true } : {}
  const server = certificate ? createServer({ ...certificate, ...asks }, answer) : createPlain(answer)
  server.on('tlsClientError', () => {})
  servers.push(server as Server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('a certificate that the machine trusts and that fits is taken', async () => {
  expect(await callText(await admin.mcp('/mcp/good'), 'hello')).toBe('hello')
})

for (const [name, word] of Object.entries(FAULTS)) {
  test(`${name}: offline with upstream_tls_error and the reason, tried again, and nothing was ever sent`, async () => {
    const status = await until(async () => {
      const now = await statusOf(admin, name)
      return now.state === 'offline' ? now : undefined
    })
    expect(status.reason?.code).toBe('upstream_tls_error')
    expect(status.reason?.message).toContain(word)
    expect(status.reason?.message).not.toContain(CANARY)
    expect(status.nextAttemptAt).toBeDefined()
    const trial = await admin.ok('POST', '/api/servers/test', { name: 'x', url: urls[name] })
    expect(trial.error.code).toBe('upstream_tls_error')
    // The hub tried neither plain http at the same port, nor a connection without the check.
    expect(came[name]).toBe(0)
  })
}

/** A line of the key that nothing else holds. */
const keyText = ({ key }: Certificate): string => key.split('\n')[1] ?? 'no key'

describe('tls of a server', () => {
  const at = (name: string): string => urls[name] ?? ''

  test('trusts the authority that it names, checks another name, and shows the client’s certificate', async () => {
    const { key, cert } = client
    const joined = key.replaceAll('\n', ' ')
    const tls = { ca: stranger.certificate, serverName: 'inner.example', cert, key: joined }
    await admin.ok('POST', '/api/servers', { name: 'mutual', url: at('mutual'), tls })
    await online(admin, ['mutual'])
    expect(await callText(await admin.mcp('/mcp/mutual'), 'hello')).toBe('hello')
    const shown = await admin.ok('GET', '/api/servers/mutual')
    expect([shown.tls.serverName, shown.tls.cert, shown.tls.key.slice(0, 4)]).toEqual(['inner.example', cert, '••••'])
    await admin.ok('PATCH', '/api/servers/mutual', { description: 'kept', tls: shown.tls })
    await online(admin, ['mutual'])
    const without = await admin.ok('POST', '/api/servers/test', {
      name: 'x',
      url: at('mutual'),
      tls: { ...tls, key: '', cert: '' },
    })
    expect(without.ok).toBe(false)
  })

  test.each(['expired', 'self-signed', 'another-name', 'untrusted'])(
    'insecure takes a certificate that is %s, with a warning',
    async name => {
      const body = { name: `any-${name}`, url: at(name), tls: { insecure: true } }
      await admin.ok('POST', '/api/servers', body)
      await online(admin, [body.name])
      const { status } = await admin.ok('GET', `/api/servers/${body.name}`)
      expect(status.warnings.map((warning: { code: string }) => warning.code)).toContain('tls_unchecked')
      await admin.ok('DELETE', `/api/servers/${body.name}`)
      came[name] = 0
    },
  )

  test('insecure is for administrators, and takes no server that speaks no TLS', async () => {
    const body = { name: 'any', url: 'https://mcp.example.com/', tls: { insecure: true } }
    const refused = await (await hub.user('una')).request('POST', '/api/servers', body)
    expect([refused.status, refused.json.code]).toEqual([403, 'field_forbidden'])
    const trial = await admin.ok('POST', '/api/servers/test', { name: 'x', url: at('plain'), tls: { insecure: true } })
    expect(trial.error.code).toBe('upstream_tls_error')
    expect(came.plain).toBe(0)
  })

  test.each([
    ['no certificate', { ca: 'nonsense' }, '/tls/ca'],
    ['a certificate without its key', () => ({ cert: client.cert }), '/tls/key'],
    ['the key of another certificate', () => ({ cert: client.cert, key: other.key }), '/tls/key'],
    ['a key that is none', () => ({ cert: client.cert, key: client.cert }), '/tls/key'],
    ['an unknown field', { verify: false }, '/tls/verify'],
  ])('%s is refused when it is saved', async (_, tls, pointer) => {
    const body = { name: 'bad', url: 'https://mcp.example.com/', tls: typeof tls === 'function' ? tls() : tls }
    const answer = await admin.request('POST', '/api/servers', body)
    expect([answer.status, answer.json.errors?.[0]?.pointer]).toEqual([400, `#${pointer}`])
    expect(answer.text).not.toContain(keyText(client))
    expect(answer.text).not.toContain(keyText(other))
  })

  test('is refused for programs', async () => {
    const answer = await admin.request('POST', '/api/servers', {
      ...known('echo'),
      name: 'bad',
      tls: { insecure: true },
    })
    expect(answer.json.errors?.[0]).toMatchObject({ code: 'field_not_for_transport', pointer: '#/tls' })
  })
})
