import { expect, test } from 'bun:test'
import { RawClient, SseReader } from '../../support/raw-mcp.ts'
import { catalog, serverRecord, startHub } from './support.ts'
import { hubWith, run, time } from './work-group.ts'

test('sampling goes to the causing session on the causing stream, and its answer back (P-14)', async () => {
  let answer: unknown
  await using hub = hubWith(async (request, signal) => {
    answer = await request.ask?.('sampling/createMessage', { messages: [], maxTokens: 1 }, signal)
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  const other = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  const standalone = new SseReader(await other.get())
  const reader = new SseReader(await client.send('tools/call', run(), 1))
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

test('a client that cannot be asked is not asked, and the upstream learns it at once', async () => {
  const answers: unknown[] = []
  await using hub = hubWith(async (request, signal) => {
    answers.push(await request.ask?.('elicitation/create', {}, signal), await request.ask?.('other/method', {}, signal))
  })
  const client = await new RawClient(hub, '/mcp/work').open('2025-11-25', { sampling: {} })
  expect((await client.send('tools/call', run())).headers.get('content-type')).toBe('application/json')
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
  const reader = new SseReader(await client.send('tools/call', run(), 1))
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

test('the end of a URL elicitation is announced to the client that was sent there', async () => {
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
