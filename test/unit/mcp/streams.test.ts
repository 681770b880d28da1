import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import type { UpstreamRequest } from '../../../core/connections/api.ts'
import { atMost } from '../../support/pace.ts'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { until } from './support.ts'
import { hubWith, run, time } from './work-group.ts'

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
    expect(performance.now() - started).toBeLessThan(atMost(100))
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

test('messages sent between two GET streams come with the next', async () => {
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
  await until(() => hub.calls.length === 1)
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

/** The id with which a stream begins. */
async function primed(reader: SseReader): Promise<string> {
  await reader.next()
  return (await reader.next())?.id ?? ''
}

test('the latest open one of several GET streams gets messages, and each change is announced once', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const [first, second] = [new SseReader(await client.get()), new SseReader(await client.get())]
  const [firstId, secondId] = [await primed(first), await primed(second)]
  const streams = (count: number) => until(() => hub.mcp.sessions()[0]?.streams === count)
  const changed = (kind: 'tools' | 'prompts' | 'resources') =>
    hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: [kind] })
  changed('tools')
  expect((await second.message())?.method).toBe('notifications/tools/list_changed')
  await second.close()
  await streams(1)
  changed('prompts')
  expect((await first.message())?.method).toBe('notifications/prompts/list_changed')
  // A client that resumes the other stream continues there, behind everything that was sent on either.
  const resumed = new SseReader(await client.get({ 'last-event-id': secondId }))
  expect((await resumed.message())?.method).toBe('notifications/tools/list_changed')
  changed('resources')
  expect((await resumed.message())?.method).toBe('notifications/resources/list_changed')
  await first.close()
  await resumed.close()
  await streams(0)
  const again = new SseReader(await client.get({ 'last-event-id': firstId }))
  expect((await again.message())?.method).toBe('notifications/prompts/list_changed')
  await again.close()
})

test('changes while no GET stream was open are announced once, whichever stream the client resumes', async () => {
  await using hub = hubWith(async () => {})
  const client = await new RawClient(hub, '/mcp/work').open()
  const readers = [new SseReader(await client.get()), new SseReader(await client.get())]
  const ids: string[] = []
  for (const reader of readers) ids.push(await primed(reader))
  for (const reader of readers) await reader.close()
  await until(() => hub.mcp.sessions()[0]?.streams === 0)
  const witness = new SseReader(await (await new RawClient(hub, '/mcp/work').open()).get())
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['tools'] })
  expect(await witness.message()).toMatchObject({ method: 'notifications/tools/list_changed' })
  const back: SseReader[] = []
  for (const id of ids) back.push(new SseReader(await client.get({ 'last-event-id': id })))
  expect((await back[0]?.message())?.method).toBe('notifications/tools/list_changed')
  hub.bus.emit('catalog.changed', 'u-alice', { serverId: time.id, name: 'time', kinds: ['prompts'] })
  expect((await back[1]?.message())?.method).toBe('notifications/prompts/list_changed')
  for (const reader of [witness, ...back]) await reader.close()
})

test('streams of calls leave room for a GET stream', async () => {
  const gate = Promise.withResolvers<void>()
  await using hub = hubWith(async request => {
    request.progress?.({ progress: 1 })
    await gate.promise
  })
  const client = await new RawClient(hub, '/mcp/work').open()
  const calls: Response[] = []
  for (let id = 1; id <= 8; id++) calls.push(await client.send('tools/call', run({ _meta: { progressToken: id } }), id))
  expect(hub.mcp.sessions()[0]?.streams).toBe(8)
  const stream = await client.get()
  expect(stream.status).toBe(200)
  gate.resolve()
  for (const call of calls) expect(await call.text()).toContain('done')
  await stream.body?.cancel()
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
