import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { SessionBinding, UpstreamReply, UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { bothTransports, failure, httpRecord, type Listener, ModernHttp } from './modern-http.ts'
import { type Rig, serverRecord, startRig, textOf, until } from './support.ts'

const KEY = 'io.modelcontextprotocol/'
/** Longer than the time between two readings, so that a superfluous reading would show. */
const READING_MS = 350
const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** A hub with one modern server, connected. `prepare` sets the server up before that. */
async function start(
  prepare: (server: ModernHttp) => void = () => undefined,
  change: Parameters<typeof httpRecord>[2] = {},
): Promise<{ readonly rig: Rig; readonly server: ModernHttp }> {
  const server = new ModernHttp()
  running.push(server)
  prepare(server)
  const rig = await startRig([httpRecord('m', server.url, change)], { transports: bothTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  expect((await rig.connections.settled('m', 60_000)).era).toBe('modern')
  return { rig, server }
}

function toolCall(more: Partial<UpstreamRequest> = {}, params: JsonObject = {}): UpstreamRequest {
  return { method: 'tools/call', params: { name: 'echo', arguments: {}, ...params }, ...more }
}

const session: SessionBinding = {
  id: 's-1',
  userId: 'user-1',
  kind: 'session',
  capabilities: { sampling: {}, roots: { listChanged: true } },
  protocolVersion: '2025-11-25',
}

describe('a call', () => {
  test('carries the hub as client, the capabilities and level of the caller, and headers that repeat it', async () => {
    const { rig, server } = await start()
    const progress = (): void => undefined
    const ask = async (): Promise<{ result: null }> => ({ result: null })
    const passthroughHeaders = { 'x-tenant': 'a', 'mcp-name': 'forged' }
    const params = { _meta: { traceparent: '00-1', [`${KEY}logLevel`]: 'debug' }, requestState: 'forged' }
    const request = toolCall({ session, progress, ask, notification: progress, passthroughHeaders }, params)
    await rig.connections.request('m', request).reply
    const [seen] = server.of('tools/call')
    const { name, version } = (seen?.params._meta[`${KEY}clientInfo`] ?? {}) as JsonObject
    expect([name, typeof version]).toEqual(['patchbay', 'string'])
    expect(seen?.params).toEqual({
      name: 'echo',
      arguments: {},
      _meta: {
        traceparent: '00-1',
        progressToken: seen?.id ?? 0,
        [`${KEY}protocolVersion`]: '2026-07-28',
        [`${KEY}clientInfo`]: { name: 'patchbay', version: version ?? '' },
        [`${KEY}clientCapabilities`]: { sampling: {}, roots: {} },
        [`${KEY}logLevel`]: 'info',
      },
    })
    const header = (key: string): string | null | undefined => seen?.headers.get(key)
    expect([header('mcp-protocol-version'), header('mcp-method'), header('mcp-name'), header('x-tenant')]).toEqual([
      '2026-07-28',
      'tools/call',
      'echo',
      'a',
    ])
    expect(server.of('server/discover')[0]?.headers.get('x-tenant')).toBeNull()
  })

  test('of nobody in particular offers nothing and gets no log messages', async () => {
    const { rig, server } = await start()
    await rig.call('m', 'echo')
    const meta = server.of('tools/call')[0]?.params._meta
    expect(meta?.[`${KEY}clientCapabilities`]).toEqual({})
    expect(meta).not.toHaveProperty(`${KEY}logLevel`)
  })

  test('takes no connection of its own, whatever its client can be asked', async () => {
    const { rig, server } = await start()
    const ask = async (): Promise<{ result: null }> => ({ result: null })
    await rig.connections.request('m', toolCall({ session, ask })).reply
    expect(server.of('server/discover')).toHaveLength(2)
  })

  test('that is cancelled ends its exchange within a second', async () => {
    const { rig, server } = await start(one => {
      one.answers['tools/call'] = () => new Promise(() => undefined)
    })
    const call = rig.connections.request('m', toolCall())
    await until('the call', () => server.of('tools/call').length === 1)
    call.cancel()
    expect((await call.reply).kind).toBe('cancelled')
    await until('its end', () => server.of('tools/call')[0]?.dropped === true, 1_000)
    expect(server.of('notifications/cancelled')).toEqual([])
  })

  test('that runs out of time ends its exchange too', async () => {
    const hang = (one: ModernHttp): void => {
      one.answers['tools/call'] = () => new Promise(() => undefined)
    }
    const { rig, server } = await start(hang, { timeoutMs: 200 })
    expect(await rig.call('m', 'echo')).toMatchObject({ kind: 'failed', code: 'upstream_timeout' })
    await until('its end', () => server.of('tools/call')[0]?.dropped === true)
  })

  test('gets the result in the form of the earlier era, and as written when its caller is modern', async () => {
    const { rig } = await start(server => {
      server.answers['tools/call'] = ({ id }) =>
        new Response(
          `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","n":12345678901234567890,"content":[]}}`,
          { headers: { 'content-type': 'application/json' } },
        )
    })
    const reply = async (more: Partial<UpstreamRequest>): Promise<UpstreamReply> =>
      rig.connections.request('m', toolCall(more)).reply
    expect(await reply({})).toEqual({ kind: 'result', isError: false, text: '{"n":12345678901234567890,"content":[]}' })
    expect(await reply({ modern: { capabilities: {} } })).toEqual({
      kind: 'result',
      isError: false,
      text: '{"resultType":"complete","n":12345678901234567890,"content":[]}',
    })
  })

  test('with a result of a type that nobody offered fails with upstream_protocol', async () => {
    const { rig } = await start(server => {
      server.answers['tools/call'] = () => ({ resultType: 'task', taskId: '1' })
    })
    expect(await rig.call('m', 'echo')).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
  })

  const data = { requiredCapabilities: { sampling: {} } }
  test.each([
    [-32021, { kind: 'failed', code: 'client_capability_missing' }],
    [-32022, { kind: 'failed', code: 'upstream_protocol' }],
    [-32602, { kind: 'error', error: { code: -32602, message: 'no', data } }],
  ] as const)('that the server refuses with %d', async (code, expected) => {
    const { rig } = await start(server => {
      server.answers['tools/call'] = ({ id }) => failure(id, code, 'no', 400, data)
    })
    expect(await rig.call('m', 'echo')).toMatchObject(expected)
    const modern = await rig.connections.request('m', toolCall({ modern: { capabilities: {} } })).reply
    expect(modern).toEqual({ kind: 'error', error: { code, message: 'no', data } })
    expect(rig.connections.status('m').state).toBe('online')
  })

  test('a request of the server on the stream of a call is a fault of the server and nothing more', async () => {
    const { rig } = await start(server => {
      server.answers['tools/call'] = ({ id }) => {
        const ask = { jsonrpc: '2.0', id: 9, method: 'sampling/createMessage', params: {} }
        const answer = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } }
        const text = `data: ${JSON.stringify(ask)}\n\ndata: ${JSON.stringify(answer)}\n\n`
        return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
      }
    })
    expect(textOf(await rig.call('m', 'echo'))).toBe('done')
    await until('the log', () => rig.logs.some(({ message }) => message.includes('must not send')))
  })
})

describe('marked arguments', () => {
  const marked = (name: string): JsonObject => ({
    name: 'echo',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': name } } },
  })

  test('go out as headers, and a tool with an unusable mark is left out with a warning', async () => {
    const { rig, server } = await start(one => {
      one.tools = [marked('Region'), { ...marked('Bad name'), name: 'bad' }]
    })
    expect(rig.connections.catalog('m')?.tools.map(({ key }) => key)).toEqual(['echo'])
    expect(rig.connections.catalog('m')?.warnings.join()).toContain('"bad" is left out')
    expect(rig.logs.some(({ level, message }) => level === 'warn' && message.includes('"bad"'))).toBe(true)
    await rig.connections.request('m', toolCall({}, { arguments: { region: 'Zürich' } })).reply
    expect(server.of('tools/call')[0]?.headers.get('mcp-param-region')).toBe('=?base64?WsO8cmljaA==?=')
  })

  test('that have changed are read again, and the call goes out once more under a new id', async () => {
    const { rig, server } = await start(one => {
      one.tools = [marked('Region')]
      one.answers['tools/call'] = ({ id, headers, params }) =>
        headers.get('mcp-param-area') === 'eu'
          ? { content: [{ type: 'text', text: String((params.arguments as JsonObject).region) }] }
          : failure(id, -32020, 'Mcp-Param-Area is missing')
    })
    server.tools = [marked('Area')]
    const reply = await rig.connections.request('m', toolCall({}, { arguments: { region: 'eu' } })).reply
    expect(textOf(reply)).toBe('eu')
    const ids = server.of('tools/call').map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
    expect(JSON.stringify(rig.connections.catalog('m')?.tools)).toContain('Area')
  })

  test('that the server refuses again fail the call, which is not sent a third time', async () => {
    const { rig, server } = await start(one => {
      one.answers['tools/call'] = ({ id }) => failure(id, -32020, 'never right')
    })
    const reply = await rig.call('m', 'echo')
    expect(reply).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
    expect(reply.kind === 'failed' && reply.message).toContain('never right')
    expect(server.of('tools/call')).toHaveLength(2)
  })
})

describe('the listen stream', () => {
  const current = async (server: ModernHttp): Promise<Listener> => {
    await until('one listener', () => server.listening.length === 1)
    return server.listening[0] as Listener
  }

  test('is one, wants what the server tells, and a changed list is read again and announced', async () => {
    const { rig, server } = await start()
    const listener = await current(server)
    expect(listener.filter).toEqual({ toolsListChanged: true })
    server.tools = [...server.tools, { name: 'more', inputSchema: { type: 'object' } }]
    listener.tell('notifications/tools/list_changed')
    await until('the event', () =>
      rig.events.some(({ name, data }) => {
        return (
          name === 'catalog.changed' &&
          JSON.stringify(data).includes('"tools"') &&
          rig.connections.catalog('m')?.tools.length === 2
        )
      }),
    )
    expect(server.listeners).toHaveLength(1)
  })

  test('that ends is opened again, and the lists are read again, since changes could be missed meanwhile', async () => {
    const { rig, server } = await start()
    const listener = await current(server)
    server.tools = [...server.tools, { name: 'more', inputSchema: { type: 'object' } }]
    listener.end()
    await until('the second stream', () => server.listeners.length === 2)
    await until('the new list', () => rig.connections.catalog('m')?.tools.length === 2)
    expect(rig.connections.status('m').state).toBe('online')
  })

  test('follows subscriptions: a new stream with all of them, and only then the end of the old one', async () => {
    const { rig, server } = await start()
    const first = await current(server)
    const subscribe = (method: string, uri: string): Promise<UpstreamReply> =>
      rig.connections.request('m', { method, params: { uri } }).reply
    const replies = await Promise.all(['test://a', 'test://b'].map(uri => subscribe('resources/subscribe', uri)))
    expect(replies).toEqual([
      { kind: 'result', isError: false, text: '{}' },
      { kind: 'result', isError: false, text: '{}' },
    ])
    const second = await current(server)
    expect(first.open).toBe(false)
    expect(second.filter).toEqual({ toolsListChanged: true, resourceSubscriptions: ['test://a', 'test://b'] })
    second.tell('notifications/resources/updated', { uri: 'test://a' })
    await until('the update', () => rig.events.some(({ name }) => name === 'upstream.notification'))
    expect(rig.events.find(({ name }) => name === 'upstream.notification')?.data).toEqual({
      serverId: 'm',
      method: 'notifications/resources/updated',
      params: { uri: 'test://a' },
    })
    await subscribe('resources/unsubscribe', 'test://a')
    await until('the third stream', () => server.listeners.length === 3)
    expect((await current(server)).filter.resourceSubscriptions).toEqual(['test://b'])
  })

  test('a subscription that the server leaves out is refused', async () => {
    const { rig, server } = await start(one => {
      one.honours = ({ resourceSubscriptions: _, ...rest }) => rest
    })
    await current(server)
    const reply = await rig.connections.request('m', { method: 'resources/subscribe', params: { uri: 'test://a' } })
      .reply
    expect(reply).toMatchObject({ kind: 'error', error: { code: -32002, data: { uri: 'test://a' } } })
  })

  test('that the server does not offer is not asked for again, and subscriptions are refused', async () => {
    const { rig, server } = await start(one => {
      one.capabilities = { tools: {}, resources: { subscribe: true } }
      one.refuse = async request => {
        const { id, method } = (await request.json()) as { id: number; method: string }
        return method === 'subscriptions/listen' ? failure(id, -32601, 'no such method', 404) : undefined
      }
    })
    const subscribe = (): Promise<UpstreamReply> =>
      rig.connections.request('m', { method: 'resources/subscribe', params: { uri: 'test://a' } }).reply
    expect((await subscribe()).kind).toBe('error')
    expect((await subscribe()).kind).toBe('error')
    expect(server.listeners).toEqual([])
    expect(rig.connections.status('m').state).toBe('online')
  })

  test('methods that this era has no more are answered without the server', async () => {
    const { rig, server } = await start()
    for (const method of ['ping', 'logging/setLevel']) {
      const reply = await rig.connections.request('m', { method, params: { level: 'debug' } }).reply
      expect(reply).toMatchObject({ kind: 'result', text: '{}' })
      expect(server.of(method)).toEqual([])
    }
  })
})

describe('lists', () => {
  test('keep what the server said about caching, the least of all pages', async () => {
    const { rig } = await start(server => {
      server.answers['tools/list'] = ({ params }) =>
        params.cursor === undefined
          ? { tools: server.tools, nextCursor: '2', ttlMs: 9_000, cacheScope: 'public' }
          : { tools: [], ttlMs: 3_000, cacheScope: 'private' }
    })
    expect(rig.connections.catalog('m')?.caching).toMatchObject({
      discover: { ttlMs: 1_000, cacheScope: 'public' },
      tools: { ttlMs: 3_000, cacheScope: 'private' },
    })
  })

  test('of a server without change notices are read again when they have expired and somebody asks, once a minute', async () => {
    const { rig, server } = await start(one => {
      one.capabilities = { tools: {} }
      one.caching = { ttlMs: 30, cacheScope: 'private' }
    })
    await Bun.sleep(60)
    expect(server.of('tools/list')).toHaveLength(1)
    rig.connections.listed('m')
    await until('the second reading', () => server.of('tools/list').length === 2)
    await Bun.sleep(60)
    rig.connections.listed('m')
    await Bun.sleep(READING_MS)
    expect(server.of('tools/list')).toHaveLength(2)
  })

  test('of a server with change notices are not read again for their age', async () => {
    const { rig, server } = await start(one => {
      one.caching = { ttlMs: 0, cacheScope: 'private' }
    })
    await Bun.sleep(20)
    rig.connections.listed('m')
    await Bun.sleep(READING_MS)
    expect(server.of('tools/list')).toHaveLength(1)
  })
})

describe('a program', () => {
  const startProgram = async (): Promise<Rig> => {
    const config = { command: process.execPath, args: [join(import.meta.dir, 'fixtures', 'modern-server.ts')] }
    const rig = await startRig([serverRecord('s', { config })], { transports: bothTransports })
    running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
    expect((await rig.connections.settled('s', 60_000)).era).toBe('modern')
    return rig
  }

  test('learns of a cancelled call by a notification', async () => {
    const rig = await startProgram()
    const call = rig.connections.request('s', toolCall({}, { name: 'never' }))
    await rig.call('s', 'echo')
    call.cancel()
    const told = JSON.parse(textOf(await rig.call('s', 'cancelled'))) as unknown[]
    expect(told).toHaveLength(1)
  })

  test('tells of changed lists under the id of the listen request', async () => {
    const rig = await startProgram()
    const changes = (): number => rig.events.filter(({ name }) => name === 'catalog.changed').length
    const before = changes()
    await rig.call('s', 'change')
    await until('the event', () => changes() > before)
  })

  test('asks in its answer, and gets its state back byte for byte', async () => {
    const rig = await startProgram()
    const ask: UpstreamRequest['ask'] = async () => ({ result: { action: 'accept', content: { name: 'ann' } } })
    const client = { ...session, capabilities: { elicitation: {} } }
    const reply = await rig.connections.request('s', toolCall({ ask, session: client }, { name: 'ask' })).reply
    expect(JSON.parse(textOf(reply))).toEqual([{ q: { action: 'accept', content: { name: 'ann' } } }, 'a "b"\u2028'])
  })
})
