/**
 * Rights that end while a request is on its way, access keys whose old secret works for a while beside the new one, and the
 * last events of all kinds of streams when their credential ends.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import type { Answer } from '../support/client.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { Client, type Hub, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { HEADERS, RawClient, SseReader } from '../support/raw-mcp.ts'
import { noteCodes } from '../support/seen-codes.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

let hub: Hub
let admin: Client
let nina: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { slow: stdioFixture('slow') } } })
  admin = await hub.setup()
  admin.patient = true
  nina = await hub.user('nina')
  await admin.ok('POST', '/api/servers', { name: 'echo', visibility: 'public', ...stdioFixture('echo') })
  await online(admin, ['echo', 'slow'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

interface Begun {
  /** Sends the last byte of the body; the answer’s head and what came with it. */
  finish(): Promise<string>
}

/** Sends a request but for the last byte of its body. */
async function begin(method: string, path: string, token: string, body: object, more = {}): Promise<Begun> {
  const { hostname, port, host } = new URL(hub.url)
  const text = JSON.stringify(body)
  const headers = { ...HEADERS, authorization: `Bearer ${token}`, 'content-length': text.length, ...more }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const socket = connect({ host: hostname, port: Number(port) })
  let seen = ''
  socket.on('data', chunk => {
    seen += chunk.toString('latin1')
  })
  socket.write([`${method} ${path} HTTP/1.1`, `host: ${host}`, ...lines, '', text.slice(0, -1)].join('\r\n'))
  // These are answered after it: the hub has checked the credential by then.
  for (let round = 0; round < 3; round += 1) await admin.ok('GET', '/api/auth/me')
  return {
    async finish() {
      socket.write(text.slice(-1))
      await until(() => seen.includes('"requestId"') || /^HTTP\/1\.1 2/.test(seen), { what: 'an answer' })
      socket.destroy()
      noteCodes(seen)
      return seen
    },
  }
}

const told = ({ status, json }: Answer) => `${status} ${json.code ?? ''}`.trim()

async function keyOf(person: Client, scopes: readonly unknown[]): Promise<{ id: string; by: Client }> {
  const made = await person.ok('POST', '/api/keys', { label: 'k', scopes })
  return { id: made.id, by: new Client(hub.url, person.name, made.secret) }
}

test('a body that ends after its sender’s role was taken away makes no account', async () => {
  const boss = await hub.user('boss', 'admin')
  const body = { username: 'backdoor', password: PASSWORD, role: 'admin' }
  const begun = await begin('POST', '/api/admin/users', boss.token, body)
  await admin.ok('PATCH', '/api/admin/users/boss', { role: 'user' })
  expect(await begun.finish()).toStartWith('HTTP/1.1 401 ')
  expect(told(await admin.request('GET', '/api/admin/users/backdoor'))).toBe('404 user_not_found')
})

test.each([
  ['deleted', (id: string): Promise<unknown> => admin.ok('DELETE', `/api/keys/${id}`)],
  ['rotated', (id: string): Promise<unknown> => admin.ok('POST', `/api/keys/${id}/rotate`)],
] as const)('a body that ends after its access key was %s makes no other key', async (_how, end) => {
  const { id, by } = await keyOf(admin, ['api', 'mcp'])
  const begun = await begin('POST', '/api/keys', by.token, { label: 'again', scopes: ['mcp'] })
  await end(id)
  expect(await begun.finish()).toStartWith('HTTP/1.1 401 ')
  const { items } = await admin.ok('GET', '/api/keys')
  expect(items.map(({ label }: { label: string }) => label)).not.toContain('again')
})

test('a bundle that ends after its sender was disabled is not kept', async () => {
  const tom = await hub.user('tom')
  const octets = { 'content-type': 'application/octet-stream' }
  const begun = await begin('POST', '/api/bundles', tom.token, { no: 'bundle' }, octets)
  await admin.ok('PATCH', '/api/admin/users/tom', { disabled: true })
  expect(await begun.finish()).toContain('"token_revoked"')
})

test.each(['2025-11-25', '2026-07-28'])(
  'a call of MCP %s that ends after its key was deleted is not made',
  async era => {
    const { id, by } = await keyOf(admin, ['mcp'])
    const session = await new RawSession(by).open(era)
    const begun = await begin('POST', '/mcp/echo', by.token, session.call('echo'), session.headers)
    await admin.ok('DELETE', `/api/keys/${id}`)
    expect(await begun.finish()).toStartWith('HTTP/1.1 401 ')
  },
)

/** The part of a client that one call needs. */
class RawSession {
  readonly #client: Client
  headers: Record<string, string> = {}
  #meta: object | undefined

  constructor(client: Client) {
    this.#client = client
  }

  async open(version: string): Promise<this> {
    this.headers = { 'mcp-protocol-version': version }
    const clientInfo = { name: 'slow', version: '1' }
    if (version >= '2026') {
      this.headers = { ...this.headers, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
      const prefix = 'io.modelcontextprotocol/'
      this.#meta = {
        [`${prefix}protocolVersion`]: version,
        [`${prefix}clientInfo`]: clientInfo,
        [`${prefix}clientCapabilities`]: {},
      }
      return this
    }
    const params = { protocolVersion: version, capabilities: {}, clientInfo }
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
    const answer = await this.#client.request('POST', '/mcp/echo', message, HEADERS)
    this.headers['mcp-session-id'] = answer.headers.get('mcp-session-id') ?? ''
    return this
  }

  call(name: string): object {
    const meta = this.#meta ? { _meta: this.#meta } : {}
    return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { text: 'x' }, ...meta } }
  }
}

test('the old secret of a key ends with its overlap, with its streams, and no second overlap keeps it longer', async () => {
  const { id, by } = await keyOf(nina, ['api', 'mcp'])
  const stream = await openStream(by)
  const begunMs = Date.now()
  const overlapSeconds = atLeast(2)
  const next = await nina.ok('POST', `/api/keys/${id}/rotate`, { overlapSeconds })
  // The key ends earlier than it said when the stream was opened.
  await until(() => stream.ended(), { what: 'the stream of the old secret to end' })
  await stream.close()
  expect(told(await by.request('GET', '/api/auth/me'))).toBe('200')
  const again = await openStream(by)
  const third = await by.request('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 3_600 })
  expect(Date.parse(third.json.expiresAt) - begunMs).toBeLessThan(overlapSeconds * 1_000 + atMost(2_000))
  await until(async () => (await by.request('GET', '/api/auth/me')).status === 401, { what: 'the old secret to end' })
  expect(Date.now() - begunMs).toBeGreaterThanOrEqual(overlapSeconds * 1_000)
  await until(() => again.ended(), { what: 'the second stream of the old secret to end' })
  await again.close()
  for (const { token } of [by, new Client(hub.url, 'nina', third.json.secret)])
    expect(told(await new Client(hub.url, 'nina', token).request('GET', '/api/auth/me'))).toBe('401 token_expired')
  const now = new Client(hub.url, 'nina', next.secret)
  expect(told(await now.request('GET', '/api/auth/me'))).toBe('200')
  const { items } = await nina.ok('GET', '/api/keys')
  expect(items.find((key: { id: string }) => key.id === next.id).scopes).toEqual(['api', 'mcp'])
})

beyondCore(() => {
  test('rotating with an overlap again and again ends at the number of keys', async () => {
    const otto = await hub.user('otto')
    otto.patient = true
    let { id } = await keyOf(otto, ['mcp'])
    let answer: Answer
    let made = 1
    for (;;) {
      answer = await otto.request('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 2_592_000 })
      if (answer.status !== 200) break
      id = answer.json.id
      made += 1
    }
    expect([told(answer), made]).toEqual(['409 quota_keys', 50])
  })
})

test('an administrator’s key does not rotate the key of somebody else, though it may delete it', async () => {
  const theirs = await keyOf(nina, ['mcp'])
  const { by } = await keyOf(admin, ['api', 'mcp'])
  for (const body of [{}, { overlapSeconds: 60 }])
    expect(told(await by.request('POST', `/api/keys/${theirs.id}/rotate`, body))).toBe('403 insufficient_scope')
  expect((await by.request('DELETE', `/api/keys/${theirs.id}`)).status).toBe(204)
  const { items } = await admin.ok('GET', '/api/admin/audit?action=key.delete&limit=1')
  expect(items).toMatchObject([{ user: 'admin', target: theirs.id, detail: { label: 'k' } }])
})

test('during an overlap neither secret outlives the account', async () => {
  const { id, by } = await keyOf(nina, ['api', 'mcp'])
  const { secret } = await nina.ok('POST', `/api/keys/${id}/rotate`, { overlapSeconds: 600 })
  const both = [by, new Client(hub.url, 'nina', secret)]
  const answers = () => Promise.all(both.map(async one => told(await one.request('GET', '/api/auth/me'))))
  expect(await answers()).toEqual(['200', '200'])
  await admin.ok('PATCH', '/api/admin/users/nina', { disabled: true })
  expect(await answers()).toEqual(['401 token_revoked', '401 token_revoked'])
  await admin.ok('PATCH', '/api/admin/users/nina', { disabled: false })
  expect(await answers()).toEqual(['200', '200'])
  await admin.ok('DELETE', '/api/admin/users/nina')
  expect(await answers()).toEqual(['401 token_revoked', '401 token_revoked'])
})

/** Longer than opening one stream of each kind takes. */
const OPENED_MS = Math.max(10_000, atLeast(5_000))

/** Everything that comes until the stream ends. */
async function lastEvent(response: Response): Promise<string> {
  const text = await response.text()
  return text.trim().split('\n\n').at(-1) ?? ''
}

// Streams end when their key expires, in the same way as when the key is removed.
const REMOVED = ['token_revoked', 'is removed'] as const
test.each(extent([REMOVED], [['token_expired', 'expires'] as const, REMOVED]))(
  '%s is the last that a stream says whose key %s',
  async (code, _what) => {
    const expiresAt = code === 'token_expired' ? new Date(Date.now() + OPENED_MS).toISOString() : undefined
    const { id, secret } = await admin.ok('POST', '/api/keys', { label: 'short', scopes: ['api', 'mcp'], expiresAt })
    const headers = { ...HEADERS, authorization: `Bearer ${secret}` }
    const person = new Client(hub.url, 'admin', secret)

    const live = await fetch(`${hub.url}/api/stream`, { headers })
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/stream`, { headers } as never)
    const closed = new Promise<string>(resolve => socket.addEventListener('close', ({ reason }) => resolve(reason)))
    const client = await new RawClient(hub, '/mcp/slow', secret).open()
    const get = await client.get()
    const pair = await fetch(`${hub.url}/sse/slow`, { headers: { ...headers, accept: 'text/event-stream' } })
    const listen = await new RawModern(hub, '/mcp/slow', secret).send('subscriptions/listen', { notifications: {} })
    const call = client.send('tools/call', { name: 'wait', arguments: { ms: 60_000 } })
    const rest = person.request('POST', '/api/servers/slow/tools/wait/call', { arguments: { ms: 60_000 } })
    const reader = new SseReader(live)
    await reader.next()
    if (code === 'token_revoked') await admin.ok('DELETE', `/api/keys/${id}`)

    const end = `event: stream.end\ndata: {"code":"${code}"}`
    const lastLive = async () => {
      let last: string | undefined
      for (let event = await reader.event(); event; event = await reader.event()) last = event.data
      return last
    }
    expect({
      live: await lastLive(),
      socket: await closed,
      get: await lastEvent(get),
      pair: await lastEvent(pair),
      listen: await lastEvent(listen),
      call: (await (await call).text()).includes(`"code":"${code}"`),
      rest: (await rest).json.code,
    }).toEqual({
      live: `{"code":"${code}"}`,
      socket: `{"code":"${code}"}`,
      get: end,
      pair: end,
      listen: end,
      call: true,
      rest: code,
    })
  },
)
