import { describe, expect, test } from 'bun:test'
import type { UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { type Answer, RawClient, SseReader } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool, until } from './support.ts'

const time = serverRecord('time')

function hubWith(handler: (request: UpstreamRequest) => Promise<void> = async () => {}): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(time)
    world.groups.push(groupRecord('work', [member(time)]), groupRecord('other', [member(time)]))
    const lists = catalog({ tools: [tool('run')], capabilities: { tools: {}, logging: {} } })
    upstreams.add(time.id, lists, async request => {
      if (request.method !== 'tools/call') return { kind: 'result', text: '{}', isError: false }
      await handler(request)
      return textReply('done')
    })
  })
}

/** A client of 2024-11-05 made of fetch alone. */
class SseClient {
  readonly hub: Hub
  readonly path: string
  readonly headers: Record<string, string>
  reader!: SseReader
  endpoint = ''
  lastEventId = ''
  #id = 0

  constructor(hub: Hub, path: string, token = 'alice') {
    this.hub = hub
    this.path = path
    this.headers = { authorization: `Bearer ${token}` }
  }

  get(headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.hub.url}${this.path}`, {
      headers: { ...this.headers, accept: 'text/event-stream', ...headers },
    })
  }

  async stream(headers: Record<string, string> = {}): Promise<this> {
    const response = await this.get(headers)
    if (response.status !== 200) throw new Error(`GET answered ${response.status}: ${await response.text()}`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    this.reader = new SseReader(response)
    const first = await this.reader.event()
    this.endpoint = first?.data ?? ''
    this.lastEventId = first?.id ?? ''
    return this
  }

  async open(protocolVersion = '2024-11-05', capabilities: JsonObject = {}): Promise<this> {
    await this.stream()
    const params = { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } }
    expect((await this.post({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })).status).toBe(202)
    const answer = await this.message()
    expect(answer).toMatchObject({ id: 'init', result: { protocolVersion } })
    expect((await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202)
    return this
  }

  post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const all = { ...this.headers, 'content-type': 'application/json', ...headers }
    return fetch(`${this.hub.url}${this.endpoint}`, { method: 'POST', headers: all, body: text })
  }

  send(method: string, params?: JsonObject, id: unknown = ++this.#id): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) })
  }

  async message(): Promise<Answer | undefined> {
    const event = await this.reader.event()
    if (event?.id !== undefined) this.lastEventId = event.id
    // The server sends its address again when other calls are in flight.
    if (event?.data?.startsWith('/')) {
      this.endpoint = event.data
      return this.message()
    }
    return event?.data ? (JSON.parse(event.data) as Answer) : undefined
  }
}

const run: JsonObject = { name: 'run' }

describe('the pair of 2024-11-05', () => {
  test('names its endpoint first, takes messages there with 202, and answers on the stream', async () => {
    await using hub = hubWith()
    for (const path of ['/sse', '/sse/work', '/sse/time', '/sse/@alice/work', '/sse/WORK']) {
      const client = await new SseClient(hub, path).open()
      expect(client.endpoint).toMatch(/^\/messages\?sessionId=[\w-]+$/)
      expect(client.endpoint.length).toBeLessThan(280)
      const taken = await client.send('tools/list', undefined, 'a')
      expect([taken.status, await taken.text()]).toEqual([202, ''])
      expect((await client.message())?.result.tools).toMatchObject([{ name: 'run' }])
      await client.send('tools/call', run, 7)
      expect(await client.message()).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } })
      await client.reader.close()
    }
  })

  test('progress, log messages and what is asked of the client come on the stream, ahead of the answer', async () => {
    await using hub = hubWith(async request => {
      request.progress?.({ progressToken: 1, progress: 1 })
      request.notification?.('notifications/message', { level: 'error', data: 'oh' })
      const answer = await request.ask?.('roots/list', undefined, new AbortController().signal)
      expect(answer).toEqual({ result: { roots: [] } })
    })
    const client = await new SseClient(hub, '/sse/work').open('2025-11-25', { roots: {} })
    await client.send('tools/call', { ...run, _meta: { progressToken: 'p' } }, 1)
    expect(await client.message()).toMatchObject({ params: { progressToken: 'p', progress: 1 } })
    expect(await client.message()).toMatchObject({ method: 'notifications/message' })
    const asked = await client.message()
    expect(asked).toMatchObject({ method: 'roots/list' })
    await client.post({ jsonrpc: '2.0', id: asked?.id, result: { roots: [] } })
    expect(await client.message()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } })
  })

  test('two clients with the same ids get their own answers', async () => {
    await using hub = hubWith()
    const one = await new SseClient(hub, '/sse/work').open()
    const two = await new SseClient(hub, '/sse/work').open()
    await Promise.all([one.send('tools/list', undefined, 1), two.send('tools/call', run, 1)])
    expect((await one.message())?.result.tools).toHaveLength(1)
    expect((await two.message())?.result.content).toHaveLength(1)
  })

  test('a cancelled call gets no answer, and the upstream is notified', async () => {
    const never = Promise.withResolvers<void>()
    await using hub = hubWith(() => never.promise)
    const client = await new SseClient(hub, '/sse/work').open()
    await client.send('tools/call', run, 'slow')
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } })
    await until(() => hub.upstreams.cancelled.length === 1)
    await client.send('ping', undefined, 'after')
    expect(await client.message()).toMatchObject({ id: 'after', result: {} })
  })

  test('an array is taken up to 2025-03-26 and answered message by message', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open('2025-03-26')
    const one = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await client.post([one, { ...one, id: 2 }, 17])).status).toBe(202)
    const answers = [await client.message(), await client.message(), await client.message()]
    expect(answers.map(answer => answer?.id ?? answer?.error?.code)).toEqual([1, 2, -32600])
    const later = await new SseClient(hub, '/sse/work').open('2025-06-18')
    expect((await later.post([one])).status).toBe(400)
  })

  test('a list change is announced on the stream', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open()
    hub.bus.emit('catalog.changed', time.ownerId, { serverId: time.id, name: 'time', kinds: ['tools'] })
    expect(await client.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  })

  test('a client that comes back with its last event continues its session, and misses nothing', async () => {
    const gate = Promise.withResolvers<void>()
    await using hub = hubWith(() => gate.promise)
    const client = await new SseClient(hub, '/sse/work').open()
    const { endpoint } = client
    await client.send('tools/call', run, 1)
    await client.reader.close()
    await until(() => hub.mcp.sessions()[0]?.streams === 0)
    gate.resolve()
    await until(() => hub.mcp.sessions()[0]?.callsInFlight === 0)
    await client.stream({ 'last-event-id': client.lastEventId })
    expect(client.endpoint).toBe(endpoint)
    expect(await client.message()).toMatchObject({ id: 1 })
    await client.send('ping', undefined, 2)
    expect(await client.message()).toMatchObject({ id: 2 })
    expect(hub.mcp.sessions()).toHaveLength(1)
    const other = await new SseClient(hub, '/sse/other').stream({ 'last-event-id': client.lastEventId })
    expect(other.endpoint).not.toBe(endpoint)
    const bob = await new SseClient(hub, '/sse', 'bob').stream({ 'last-event-id': client.lastEventId })
    expect(bob.endpoint).not.toBe(endpoint)
  })

  test('a session whose client does not come back ends after a minute', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open()
    await client.reader.close()
    await until(() => hub.mcp.sessions()[0]?.streams === 0)
    hub.clock.skewMs += 61_000
    await until(() => hub.mcp.sessions().length === 0)
    expect((await client.send('ping')).status).toBe(404)
  })
})

describe('a client that comes back without its last event, as the SDK does', () => {
  const version = { 'mcp-protocol-version': '2025-06-18' }

  /** Makes two calls, of which one is answered, before the stream breaks. */
  async function broken(hub: Hub): Promise<SseClient> {
    const client = await new SseClient(hub, '/sse/work').open('2025-06-18')
    await client.send('tools/call', run, 'lost')
    await client.send('ping', undefined, 'answered')
    expect(await client.message()).toMatchObject({ id: 'answered' })
    client.endpoint = (await client.reader.event())?.data ?? ''
    await client.reader.close()
    await until(() => hub.mcp.sessions()[0]?.streams === 0)
    return client
  }

  test('is asked where it was, and told once of the calls that were in flight there', async () => {
    await using hub = hubWith(() => new Promise(() => {}))
    const client = await broken(hub)
    const before = client.endpoint
    const question = JSON.parse((await new SseClient(hub, '/sse/work').stream(version)).endpoint)
    expect(question).toMatchObject({ method: 'ping', id: expect.any(String) })
    await client.stream(version)
    const asked = JSON.parse(client.endpoint) as { id: string }
    client.endpoint = before
    const answer = { jsonrpc: '2.0', id: asked.id, result: {} }
    const bob = await fetch(`${hub.url}${before}`, {
      method: 'POST',
      headers: { authorization: 'Bearer bob', 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    })
    expect(bob.status).toBe(404)
    expect((await client.post(answer)).status).toBe(202)
    const told = await client.message()
    expect(told).toMatchObject({ id: 'lost', error: { data: { code: 'connection_lost' } } })
    expect(client.endpoint).not.toBe(before)
    await client.send('ping', undefined, 'next')
    expect(await client.message()).toMatchObject({ id: 'next', result: {} })
    client.endpoint = before
    expect((await client.post(answer)).status).toBe(404)
  })

  test('gets a new address when it names no known event', async () => {
    await using hub = hubWith()
    const back = async (headers: Record<string, string>) => {
      const client = await new SseClient(hub, '/sse/work').stream(headers)
      expect(JSON.parse(client.endpoint)).toMatchObject({ method: 'ping' })
      const event = await client.reader.event()
      expect(event?.data).toStartWith('/messages?sessionId=')
    }
    await Promise.all([back(version), back({ 'last-event-id': 'of-another-process.2.1' })])
  })

  test('gets no ping at the start if its kind does not resume', async () => {
    const gate = Promise.withResolvers<void>()
    await using hub = hubWith(() => gate.promise)
    const client = await new SseClient(hub, '/sse/work').stream({ ...version, 'user-agent': 'python-httpx/0.28.1' })
    expect(client.endpoint).toStartWith('/messages?sessionId=')
    await client.send('tools/call', run, 1)
    gate.resolve()
    const event = await client.reader.event()
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ id: 1, result: {} })
  })
})

describe('the pair of 2024-11-05 refuses', () => {
  test('what needs a credential, on every request', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open()
    const get = await fetch(`${hub.url}/sse/work`)
    const post = await client.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: '' })
    expect(get.status).toBe(401)
    expect(get.headers.get('www-authenticate')).toBe('Bearer realm="patchbay"')
    expect(post.status).toBe(401)
  })

  test('another person’s session, one of the other wire, and one that is no more, all alike', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open()
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const streamable = await new RawClient(hub, '/mcp/work').open()
    const bodies: string[] = []
    const verify = async (response: Response): Promise<void> => {
      expect(response.status).toBe(404)
      bodies.push((await response.text()).replace(/"requestId":"[^"]*"/, ''))
    }
    await verify(await client.post(ping, { authorization: 'Bearer bob' }))
    const own = client.endpoint
    client.endpoint = `/messages?sessionId=${streamable.sessionId}`
    await verify(await client.post(ping))
    client.endpoint = '/messages?sessionId=nothing'
    await verify(await client.post(ping))
    client.endpoint = own
    const [session] = hub.mcp.sessions().filter(({ protocolVersion }) => protocolVersion === '2024-11-05')
    hub.mcp.endSession(session?.id ?? '', 'test')
    await verify(await client.post(ping))
    expect(new Set(bodies).size).toBe(1)
    const alive = await new SseClient(hub, '/sse/work').open()
    const id = new URLSearchParams(alive.endpoint.split('?')[1]).get('sessionId') ?? ''
    // The version header would be refused by itself.
    delete streamable.headers['mcp-protocol-version']
    expect((await streamable.post(ping, { 'mcp-session-id': id })).status).toBe(404)
  })

  test('with the statuses of the wire', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').open()
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const at = (path: string, method: string) =>
      fetch(`${hub.url}${path}`, { method, headers: { ...client.headers, 'content-type': 'application/json' } })
    const allow = async (response: Response) => [response.status, response.headers.get('allow')]
    expect(await allow(await at('/sse/work', 'POST'))).toEqual([405, 'GET'])
    expect(await allow(await at('/messages', 'GET'))).toEqual([405, 'POST'])
    expect((await at('/messages', 'POST')).status).toBe(400)
    expect((await new SseClient(hub, '/sse/nowhere').get()).status).toBe(404)
    expect((await new SseClient(hub, '/sse/work', 'bob').get()).status).toBe(404)
    expect((await new SseClient(hub, '/sse/a/b').get()).status).toBe(404)
    expect((await client.get({ accept: 'application/json' })).status).toBe(406)
    expect((await client.post(ping, { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await client.post('{')).status).toBe(400)
    expect((await client.post({ id: 1 })).status).toBe(400)
    expect((await client.post(ping, { 'mcp-protocol-version': '2025-06-18' })).status).toBe(400)
    expect((await client.post(ping, { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400)
    expect((await client.post('x'.repeat(5 * 1024 * 1024))).status).toBe(413)
    const again = await client.send('initialize', { protocolVersion: '2024-11-05' }, 'again')
    expect([again.status, ((await again.json()) as Answer).id]).toEqual([400, 'again'])
  })

  test('an initialize without a version, and one behind other requests', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').stream()
    expect((await client.send('initialize', {}, 'odd')).status).toBe(202)
    expect(await client.message()).toMatchObject({ id: 'odd', error: { code: -32602 } })
    expect((await client.send('tools/list', undefined, 'list')).status).toBe(202)
    expect(await client.message()).toMatchObject({ id: 'list', result: {} })
    expect((await client.send('initialize', {}, 'late')).status).toBe(400)
  })

  test('a request whose id is in flight', async () => {
    const gate = Promise.withResolvers<void>()
    await using hub = hubWith(() => gate.promise)
    const client = await new SseClient(hub, '/sse/work').open()
    await client.send('tools/call', run, 1)
    expect((await client.send('tools/call', run, 1)).status).toBe(400)
    gate.resolve()
    expect(await client.message()).toMatchObject({ id: 1, result: {} })
  })

  test('new sessions while the hub is stopping', async () => {
    await using hub = hubWith()
    hub.draining = true
    const response = await new SseClient(hub, '/sse/work').get()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  })
})

test('of a stopped hub, calls in flight are answered `draining` before their streams end', async () => {
  await using hub = hubWith(() => new Promise(() => {}))
  const older = await new SseClient(hub, '/sse/work').open()
  await older.send('tools/call', run, 1)
  const newer = await new RawClient(hub, '/mcp/work').open()
  const plain = newer.send('tools/call', run)
  await until(() => hub.mcp.sessions().reduce((sum, { callsInFlight }) => sum + callsInFlight, 0) === 2)
  await hub.mcp.drain(20)
  const draining = { error: { data: { code: 'draining' } } }
  expect(await older.message()).toMatchObject({ id: 1, ...draining })
  expect(await older.message()).toBeUndefined()
  expect(await (await plain).json()).toMatchObject(draining)
})

test('a stream of the older pair ends with its credential and with its group', async () => {
  await using hub = hubWith()
  const client = await new SseClient(hub, '/sse/work').open()
  hub.world.groups.splice(0)
  hub.bus.emit('group.removed', 'u-alice', { groupId: 'grp-alice-work', name: 'work' })
  expect(await client.message()).toBeUndefined()
  const second = await new SseClient(hub, '/sse/time').open()
  hub.world.revoked.add('alice')
  hub.bus.emit('user.updated', null, { userId: 'u-alice', name: 'alice' })
  expect(await second.message()).toMatchObject({ code: 'token_revoked' })
  expect(await second.message()).toBeUndefined()
})

describe('a stream of the pair without initialize, as a client opens whose stream broke', () => {
  test('continues as 2024-11-05, or as the version that its header names', async () => {
    await using hub = hubWith()
    for (const [version, header] of [
      ['2024-11-05', undefined],
      ['2025-06-18', '2025-06-18'],
    ] as const) {
      const client = await new SseClient(hub, '/sse/work').stream()
      if (header) client.headers['mcp-protocol-version'] = header
      await client.send('tools/call', run, 'call')
      expect(await client.message()).toMatchObject({ id: 'call', result: {} })
      const sessions = hub.mcp.sessions().filter(({ protocolVersion }) => protocolVersion === version)
      expect(sessions).toHaveLength(1)
      const unlike = await client.post(
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { 'mcp-protocol-version': '2025-11-25' },
      )
      expect(unlike.status).toBe(400)
    }
  })

  test('may ping before it initializes', async () => {
    await using hub = hubWith()
    const client = await new SseClient(hub, '/sse/work').stream()
    await client.send('ping', undefined, 'ping')
    expect(await client.message()).toMatchObject({ id: 'ping', result: {} })
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    await client.send('initialize', params, 'first')
    expect(await client.message()).toMatchObject({ id: 'first', result: { protocolVersion: '2025-06-18' } })
  })
})
