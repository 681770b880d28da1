import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
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

/** What is wrong with the server, by the word in the reason. */
const FAULTS: Readonly<Record<string, string>> = {
  expired: 'expired',
  'self-signed': 'self-signed',
  'another-name': 'another name',
  untrusted: 'not trusted',
  plain: 'plain http',
}

let folder = ''
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
  const stranger = new Authority(join(folder, 'stranger'))
  const here = 'IP:127.0.0.1'
  const shown: Record<string, Certificate | undefined> = {
    good: trusted.issue('good', here),
    expired: trusted.issue('expired', here, -1),
    'self-signed': trusted.selfSigned('self-signed', here),
    'another-name': trusted.issue('another-name', `DNS:${CANARY}.example`),
    untrusted: stranger.issue('untrusted', here),
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
          Object.entries(urls).map(([name, url]) => [name, { url, headers: { Authorization: `Bearer ${SECRET}` } }]),
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
  const server = certificate ? createServer(certificate, answer) : createPlain(answer)
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
    // Neither by plain http at the same port, nor without the check.
    expect(came[name]).toBe(0)
  })
}
