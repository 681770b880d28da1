import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { catalog, groupRecord, type Hub, member, serverRecord, startHub, textReply, tool, until } from './support.ts'

const time = serverRecord('time')
const notes = serverRecord('notes')

function hubWith(
  handler: (request: UpstreamRequest, signal: AbortSignal) => Promise<void>,
  capabilities?: JsonObject,
): Hub {
  return startHub((world, upstreams) => {
    world.servers.push(time, notes)
    world.groups.push(groupRecord('work', [member(time), member(notes)]))
    const lists = catalog({ tools: [tool('run')], ...(capabilities ? { capabilities } : {}) })
    upstreams.add(time.id, lists, async (request, signal) => {
      if (request.method !== 'tools/call') return { kind: 'result', text: '{}', isError: false }
      await handler(request, signal)
      return textReply('done')
    })
    upstreams.add(notes.id, catalog({ tools: [tool('other')] }))
  })
}

const run = (more: JsonObject = {}) => ({ name: 'run', ...more })

test('progress comes back one by one with the client’s own token on the stream of its call (P-08, P-11, P-13)', async () => {
  const gate = Promise.withResolvers<void>()
  let late: UpstreamRequest | undefined
  await using hub = hubWith(async request => {
    late = request
    request.progress?.({ progressToken: 99, progress: 1, total: 2 })
    await gate.promise
    request.progress?.({ progressToken: 99, progress: 2, total: 2 })
  })
  for (const token of [0, '', 'x']) {
    const client = await new RawClient(hub, '/mcp/work').open()
    const response = await client.send('tools/call', run({ _meta: { progressToken: token, trace: 'kept' } }), 1)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const reader = new SseReader(response)
    expect(await reader.message()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: token, progress: 1, total: 2 },
    })
    expect(hub.upstreams.seen.at(-1)?.request.params).toEqual(run({ _meta: { trace: 'kept' } }))
    gate.resolve()
    expect(await reader.message()).toMatchObject({ params: { progressToken: token, progress: 2 } })
    expect(await reader.message()).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } })
    late?.progress?.({ progressToken: 99, progress: 3 })
    expect(await reader.next()).toBeUndefined()
  }
})

test('without a token there is no progress, and the answer is plain JSON', async () => {
  await using hub = hubWith(async request => {
    expect(request.progress).toBeUndefined()
  })
  const client = await new RawClient(hub, '/mcp/work').open()
  const response = await client.send('tools/call', run({ _meta: {} }))
  expect(response.headers.get('content-type')).toBe('application/json')
  await response.text()
})

test('after five seconds of silence an answer begins as a stream', async () => {
  const gate = Promise.withResolvers<void>()
  await using hub = hubWith(() => gate.promise)
  const client = await new RawClient(hub, '/mcp/work').open()
  const pending = client.send('tools/call', run(), 5)
  await until(() => hub.upstreams.seen.length === 1)
  hub.clock.skewMs = 5_000
  const response = await pending
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const reader = new SseReader(response)
  expect(await reader.next()).toEqual({ comment: 'ok' })
  expect((await reader.next())?.id).toBeString()
  hub.clock.skewMs = 25_000
  expect(await reader.next()).toEqual({ comment: 'ok' })
  gate.resolve()
  expect(await reader.message()).toMatchObject({ id: 5, result: {} })
})

test('a GET stream opens at once, primed from 2025-11-25 on (P-08)', async () => {
  await using hub = hubWith(async () => {})
  for (const [version, first] of [
    ['2025-11-25', true],
    ['2025-06-18', false],
  ] as const) {
    const client = await new RawClient(hub, '/mcp/work').open(version)
    const started = performance.now()
    const response = await client.get()
    expect(performance.now() - started).toBeLessThan(100)
    const reader = new SseReader(response)
    expect(await reader.next()).toEqual({ comment: 'ok' })
    if (first) expect(await reader.next()).toMatchObject({ id: expect.any(String) })
    await reader.close()
  }
})

test('Last-Event-ID replays what that stream sent since, once and in order, and nothing of another session (P-09, P-10)', async () => {
  const gate = Promise.withResolvers<void>()
  await using hub = hubWith(async request => {
    request.progress?.({ progress: 1 })
    await gate.promise
    request.progress?.({ progress: 2 })
  })
  const client = await new RawClient(hub, '/mcp/work').open()
  const dropped = new SseReader(await client.send('tools/call', run({ _meta: { progressToken: 1 } }), 1))
  const seen = await dropped.event()
  const lastEventId = seen?.id ?? ''
  await dropped.close()
  gate.resolve()
  await until(() => hub.calls.length === 1)
  expect(hub.upstreams.cancelled).toEqual([])
  const other = await new RawClient(hub, '/mcp/work').open()
  const foreign = new SseReader(await other.get({ 'last-event-id': lastEventId }))
  const resumed = new SseReader(await client.get({ 'last-event-id': lastEventId }))
  expect(await resumed.message()).toMatchObject({ params: { progress: 2 } })
  const last = await resumed.event()
  expect(JSON.parse(last?.data ?? '')).toMatchObject({ id: 1, result: {} })
  expect(await resumed.next()).toBeUndefined()
  expect((await client.get({ 'last-event-id': last?.id ?? '' })).status).toBe(204)
  expect(await foreign.next()).toEqual({ comment: 'ok' })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await foreign.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  await foreign.close()
})

test('what was sent between two GET streams comes with the next', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const first = new SseReader(await client.get())
  await first.next()
  await first.close()
  await until(() => hub.mcp.sessions()[0]?.streams === 0)
  const witness = new SseReader(await (await new RawClient(hub, '/mcp/work').open()).get())
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await witness.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  await witness.close()
  const second = new SseReader(await client.get())
  expect(await second.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  await second.close()
})

test('a cancelled call reaches the upstream, and its stream closes without an answer', async () => {
  await using hub = hubWith((_, signal) => {
    return new Promise(resolve => signal.addEventListener('abort', () => resolve()))
  })
  const client = await new RawClient(hub, '/mcp/work').open()
  const pending = client.send('tools/call', run(), 'c')
  await until(() => hub.upstreams.seen.length === 1)
  const cancel = (requestId: unknown) =>
    client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'enough' } })
  expect((await cancel('unknown')).status).toBe(202)
  expect(hub.upstreams.cancelled).toEqual([])
  expect((await cancel('c')).status).toBe(202)
  expect(hub.upstreams.cancelled).toEqual(['enough'])
  expect(await (await pending).text()).not.toContain('"id":"c"')
  expect(hub.mcp.sessions()[0]?.callsInFlight).toBe(0)
  expect((await client.send('ping', undefined, 'c')).status).toBe(200)
})

const asking = { name: 'run' }

test('sampling goes to the causing session on the causing stream, and its answer back (P-14)', async () => {
  let answer: unknown
  await using hub = hubWith(async (request, signal) => {
    answer = await request.ask?.('sampling/createMessage', { messages: [], maxTokens: 1 }, signal)
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  const other = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  const standalone = new SseReader(await other.get())
  const reader = new SseReader(await client.send('tools/call', asking, 1))
  const request = await reader.message()
  expect(request).toMatchObject({ method: 'sampling/createMessage', params: { maxTokens: 1 } })
  const reply = { jsonrpc: '2.0', id: request?.id, result: { role: 'assistant', model: 'm', content: [] } }
  expect((await other.post(reply)).status).toBe(202)
  expect(answer).toBeUndefined()
  expect((await client.post(reply)).status).toBe(202)
  expect(await reader.message()).toMatchObject({ id: 1, result: {} })
  expect(answer).toEqual({ result: { role: 'assistant', model: 'm', content: [] } })
  expect(hub.upstreams.seen[0]?.request.session?.capabilities).toEqual({ sampling: {} })
  await standalone.close()
})

test('a client that cannot be asked is not, and the upstream hears so at once', async () => {
  const answers: unknown[] = []
  await using hub = hubWith(async (request, signal) => {
    answers.push(await request.ask?.('elicitation/create', {}, signal), await request.ask?.('other/method', {}, signal))
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  expect((await client.send('tools/call', asking)).headers.get('content-type')).toBe('application/json')
  expect(answers).toMatchObject([{ error: { code: -32601 } }, { error: { code: -32601 } }])
})

test('an upstream that withdraws its request tells the client, and a client’s error reaches the upstream', async () => {
  const answers: unknown[] = []
  const withdraw = new AbortController()
  await using hub = hubWith(async (request, signal) => {
    answers.push(await request.ask?.('roots/list', undefined, withdraw.signal))
    answers.push(await request.ask?.('roots/list', undefined, signal))
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { roots: {} })
  const reader = new SseReader(await client.send('tools/call', asking, 1))
  const first = await reader.message()
  expect(first).toEqual({ jsonrpc: '2.0', id: first?.id, method: 'roots/list' })
  withdraw.abort()
  expect(await reader.message()).toMatchObject({ method: 'notifications/cancelled', params: { requestId: first?.id } })
  const second = await reader.message()
  expect(second?.id).not.toBe(first?.id)
  await client.post({ jsonrpc: '2.0', id: second?.id, error: { code: -1, message: 'no', data: 5 } })
  expect(await reader.message()).toMatchObject({ id: 1 })
  expect(answers).toMatchObject([{ error: { code: -32603 } }, { error: { code: -1, message: 'no', data: 5 } }])
})

test('log messages follow the level of their own session, and the upstream hears the most verbose (P-21)', async () => {
  await using hub = hubWith(
    async request => {
      request.notification?.('notifications/message', { level: 'debug', data: 'd' })
      request.notification?.('notifications/message', { level: 'error', data: 'e' })
    },
    { tools: {}, logging: {} },
  )
  const quiet = await new RawClient(hub, '/mcp/work').open()
  const loud = await new RawClient(hub, '/mcp/work').open()
  expect((await quiet.call('logging/setLevel', { level: 'emergency' })).result).toEqual({})
  expect((await loud.call('logging/setLevel', { level: 'debug' })).result).toEqual({})
  expect((await quiet.call('logging/setLevel', { level: 'shout' })).error?.code).toBe(-32602)
  const told = () =>
    hub.upstreams.seen
      .filter(each => each.request.method === 'logging/setLevel')
      .map(each => each.request.params?.level)
  expect(told()).toEqual(['info', 'debug'])
  expect((await quiet.send('tools/call', run())).headers.get('content-type')).toBe('application/json')
  const reader = new SseReader(await loud.send('tools/call', run(), 1))
  expect(await reader.message()).toMatchObject({ params: { data: 'd' } })
  expect(await reader.message()).toMatchObject({ params: { data: 'e' } })
  expect(await reader.message()).toMatchObject({ id: 1 })
  hub.bus.emit('upstream.connected', 'u-alice', { serverId: time.id, again: true })
  expect(told()).toEqual(['info', 'debug', 'debug'])
})

test('one list_changed of an upstream is one notice to each session that has it, and none to others (P-20)', async () => {
  await using hub = hubWith(async () => {})
  const affected = await new RawClient(hub, '/mcp/work').open()
  const other = await new RawClient(hub, '/mcp/notes').open()
  const streams = [new SseReader(await affected.get()), new SseReader(await other.get())] as const
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  server.catalog = catalog({ tools: [tool('run'), tool('walk')] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await streams[0].message()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  expect((await affected.call('tools/list')).result.tools).toHaveLength(3)
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: notes.id, name: 'notes', kinds: ['prompts'] })
  expect(await streams[1].message()).toMatchObject({ method: 'notifications/prompts/list_changed' })
  expect(await streams[0].message()).toMatchObject({ method: 'notifications/prompts/list_changed' })
  for (const stream of streams) await stream.close()
})

test('an edit of a group reaches its sessions as list_changed, old names work on, hidden ones do not', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const reader = new SseReader(await client.get())
  hub.world.groups[0] = groupRecord('work', [
    member(time, { tools: [{ name: 'run', as: 'go' }] }),
    member(notes, { tools: [] }),
  ])
  hub.bus.emit('group.updated', 'u-alice', { groupId: 'grp-alice-work', name: 'work', revision: 2 })
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  const { tools } = (await client.call('tools/list')).result
  expect(tools.map((each: { name: string }) => each.name)).toEqual(['go'])
  expect((await client.call('tools/call', { name: 'run' })).result).toBeDefined()
  expect((await client.call('tools/call', { name: 'other' })).error?.code).toBe(-32602)
  hub.clock.skewMs = 11 * 60_000
  expect((await client.call('tools/call', { name: 'run' })).error?.code).toBe(-32602)
  await reader.close()
})

test('a member stopped by hand leaves the lists at once, a failing one after ten minutes, and both come back', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const reader = new SseReader(await client.get())
  const names = async () => (await client.call('tools/list')).result.tools.map((each: { name: string }) => each.name)
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  const online = server.status
  const state = (status: Partial<typeof online>) => {
    server.status = { ...online, since: new Date().toISOString(), ...status }
    hub.bus.emit('connection.state', 'u-alice', {
      serverId: time.id,
      name: 'time',
      state: server.status.state,
      attempts: 0,
    })
  }
  state({ state: 'offline', reason: { code: 'stopped', message: '' } })
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['other'])
  state({})
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['run', 'other'])
  state({ state: 'offline', reason: { code: 'crash_loop', message: '' } })
  expect(await names()).toEqual(['run', 'other'])
  hub.clock.skewMs = 10 * 60_000 + 1_000
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  expect(await names()).toEqual(['other'])
  state({})
  expect(await reader.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  await reader.close()
})

test('subscriptions are one upstream, counted, told to subscribers alone and set up again after a loss', async () => {
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    upstreams.add(time.id, catalog({ resources: [{ uri: 'a://1', name: '1' }] }), () => ({
      kind: 'result',
      text: '{}',
      isError: false,
    }))
  })
  const [one, two, none] = [
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/time').open(),
  ]
  const streams = await Promise.all([one, two, none].map(async each => new SseReader(await each.get())))
  const [first, second, third] = streams as [SseReader, SseReader, SseReader]
  for (const client of [one, two])
    expect((await client.call('resources/subscribe', { uri: 'a://1' })).result).toEqual({})
  const methods = () => hub.upstreams.seen.map(each => each.request.method)
  expect(methods()).toEqual(['resources/subscribe'])
  const update = { serverId: time.id, method: 'notifications/resources/updated', params: { uri: 'a://1' } }
  hub.bus.emit('upstream.notification', 'u-alice', update, 'internal')
  expect(await first.message()).toMatchObject({ params: { uri: 'a://1' } })
  expect(await second.message()).toMatchObject({ params: { uri: 'a://1' } })
  await one.call('resources/unsubscribe', { uri: 'a://1' })
  expect(methods()).toHaveLength(1)
  hub.bus.emit('upstream.connected', 'u-alice', { serverId: time.id, again: true }, 'internal')
  expect(methods()).toEqual(['resources/subscribe', 'resources/subscribe'])
  expect(await second.message()).toMatchObject({ method: 'notifications/resources/updated' })
  await two.delete()
  expect(methods().at(-1)).toBe('resources/unsubscribe')
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['resources'] })
  for (const reader of [first, third])
    expect(await reader.message()).toMatchObject({ method: 'notifications/resources/list_changed' })
  for (const reader of streams) await reader.close()
})

test('an update is told once by each connection, also where one resource lies in another, and after a loss', async () => {
  const own = serverRecord('own', { session: 'per-session' })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time, own)
    const resources = [
      { uri: 'a://1', name: '1' },
      { uri: 'a://1/part', name: '2' },
    ]
    for (const { id } of [time, own])
      upstreams.add(id, catalog({ resources }), () => ({ kind: 'result', text: '{}', isError: false }))
  })
  const clients = [
    await new RawClient(hub, '/mcp/time').open(),
    await new RawClient(hub, '/mcp/own').open(),
    await new RawClient(hub, '/mcp/own').open(),
  ]
  const readers = await Promise.all(clients.map(async client => new SseReader(await client.get())))
  for (const client of clients)
    for (const uri of ['a://1', 'a://1/part']) await client.call('resources/subscribe', { uri })
  const connected = (serverId: string, sessionId?: string) => {
    const data = { serverId, ...(sessionId === undefined ? {} : { sessionId }), again: true }
    hub.bus.emit('upstream.connected', 'u-alice', data, 'internal')
  }
  const sessions = hub.mcp.sessions().filter(({ scope }) => scope === '/mcp/own')
  const method = 'notifications/resources/updated'
  connected(time.id)
  connected(own.id, sessions[0]?.id)
  // What lies in both is told once under each name by which it was subscribed to.
  const part = { serverId: time.id, method, params: { uri: 'a://1/part' } }
  hub.bus.emit('upstream.notification', 'u-alice', part, 'internal')
  // By the shared connection, which none of these sessions uses.
  const stray = { serverId: own.id, method, params: { uri: 'a://1' } }
  hub.bus.emit('upstream.notification', 'u-alice', stray, 'internal')
  for (const id of [time.id, own.id])
    hub.bus.emit('catalog.changed', 'u-alice', { serverId: id, name: 'x', kinds: ['tools'] })
  const heard = await Promise.all(
    readers.map(async reader => {
      const uris: unknown[] = []
      for (;;) {
        const message = await reader.message()
        if (message?.method !== method) return uris
        uris.push(message.params?.uri)
      }
    }),
  )
  const both = ['a://1', 'a://1/part']
  expect(heard[0]).toEqual([...both, 'a://1/part'])
  expect([heard[1], heard[2]].sort((a, b) => (b?.length ?? 0) - (a?.length ?? 0))).toEqual([both, []])
  for (const reader of readers) await reader.close()
})

test('an update that comes on the stream of a call reaches everybody who shares the connection', async () => {
  const update = { uri: 'a://1' }
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time)
    const lists = catalog({ tools: [tool('run')], resources: [{ uri: 'a://1', name: '1' }] })
    upstreams.add(time.id, lists, request => {
      if (request.method === 'tools/call') request.notification?.('notifications/resources/updated', update)
      return textReply('done')
    })
  })
  const subscriber = await new RawClient(hub, '/mcp/time').open()
  const reader = new SseReader(await subscriber.get())
  await subscriber.call('resources/subscribe', update)
  await (await new RawClient(hub, '/mcp/time').open()).call('tools/call', run())
  expect(await reader.message()).toMatchObject({ method: 'notifications/resources/updated', params: update })
  await reader.close()
})

test('roots/list_changed goes to connections of that session alone', async () => {
  const own = serverRecord('own', { session: 'per-session' })
  await using hub = startHub((world, upstreams) => {
    world.servers.push(time, own)
    upstreams.add(time.id, catalog())
    upstreams.add(own.id, catalog())
  })
  const client = await new RawClient(hub, '/mcp').open('2025-11-25', { roots: { listChanged: true } })
  await client.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' })
  const id = hub.mcp.sessions()[0]?.id
  expect(hub.upstreams.notified).toEqual([
    { serverId: own.id, sessionId: id, method: 'notifications/roots/list_changed' },
  ])
})

test('the end of a URL elicitation is told to the client that was sent there', async () => {
  await using hub = hubWith(async () => {})
  const server = hub.upstreams.servers.get(time.id)
  if (!server) throw new Error('no server')
  const elicitation = { mode: 'url', elicitationId: 'e1', url: 'https://example.net', message: 'm' }
  server.handler = () => ({
    kind: 'error',
    error: { code: -32042, message: 'URL', data: { elicitations: [elicitation] } },
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { elicitation: { url: {} } })
  const other = await new RawClient(hub, '/mcp/work').open()
  const readers = [new SseReader(await client.get()), new SseReader(await other.get())] as const
  expect((await client.call('tools/call', run())).error).toMatchObject({
    code: -32042,
    data: { elicitations: [elicitation] },
  })
  const method = 'notifications/elicitation/complete'
  hub.bus.emit('upstream.notification', 'u-alice', { serverId: time.id, method, params: { elicitationId: 'e1' } })
  expect(await readers[0].message()).toMatchObject({ method, params: { elicitationId: 'e1' } })
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await readers[1].message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  for (const reader of readers) await reader.close()
})

test('a reader that does not read is cut off, and the upstream is not held up', async () => {
  let sent = 0
  await using hub = hubWith(async request => {
    for (; sent < 1_000; sent++) {
      request.progress?.({ progress: sent, message: 'x'.repeat(20_000) })
      if (sent % 20 === 0) await new Promise(resolve => setTimeout(resolve, 1))
    }
  })
  const client = await new RawClient(hub, '/mcp/work').open()
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: run({ _meta: { progressToken: 1 } }),
  })
  const head = Object.entries({ ...client.headers, host: 'x', 'content-length': String(body.length) })
  const socket = connect(Number(new URL(hub.url).port), '127.0.0.1')
  socket.pause()
  socket.write(`POST /mcp/work HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
  await until(() => hub.calls.length === 1, 5_000)
  expect(sent).toBe(1_000)
  expect(hub.mcp.sessions()).toMatchObject([{ streams: 0, callsInFlight: 0 }])
  let bytes = 0
  const closed = Promise.withResolvers<void>()
  socket.on('data', chunk => {
    bytes += chunk.length
  })
  socket.on('close', () => closed.resolve())
  socket.on('error', () => closed.resolve())
  socket.resume()
  await until(() => bytes > 0)
  socket.end()
  await closed.promise
  expect(bytes).toBeLessThan(1_000 * 20_000)
  expect((await client.send('ping')).status).toBe(200)
})

test('a session has eight GET streams at most, and a user a hundred', async () => {
  await using hub = hubWith(async () => {})
  const responses: Response[] = []
  const statuses: number[] = []
  for (let i = 0; i < 13; i++) {
    const client = await new RawClient(hub, '/mcp/work').open()
    for (let k = 0; k < 9; k++) {
      const response = await client.get()
      responses.push(response)
      statuses.push(response.status)
    }
  }
  expect(statuses.slice(0, 9)).toEqual([...Array(8).fill(200), 409])
  expect(statuses.filter(status => status === 200)).toHaveLength(100)
  expect(statuses.at(-1)).toBe(429)
  for (const response of responses) await response.body?.cancel()
  await until(() => hub.mcp.sessions().every(session => session.streams === 0))
})

test('a user has 256 calls in flight at most', async () => {
  await using hub = hubWith(() => new Promise(() => {}))
  const client = await new RawClient(hub, '/mcp/work').open('2025-03-26')
  const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: run() })
  const arrays = [100, 100, 56].map((length, i) => client.post(Array.from({ length }, (_, k) => call(i * 100 + k))))
  await until(() => hub.upstreams.seen.length === 256)
  const refused = await client.post(call(256))
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await refused.json()).toMatchObject({ id: 256, error: { data: { code: 'quota_calls' } } })
  await client.delete()
  for (const response of await Promise.all(arrays)) await response.text()
  expect(hub.upstreams.cancelled).toHaveLength(256)
  const again = await new RawClient(hub, '/mcp/work').open()
  expect((await again.send('ping')).status).toBe(200)
})
