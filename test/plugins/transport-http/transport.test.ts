import { describe, expect, test } from 'bun:test'
import { atMost } from '../../support/pace.ts'
import { until } from '../../unit/outbound/raw-server.ts'
import { openLink } from './harness.ts'
import { sdkServer } from './sdk-server.ts'

const echo = (text: string): unknown => ({ name: 'echo', arguments: { text } })

describe('streamable HTTP with a server built on the SDK', () => {
  test.each([
    ['events', {}],
    ['JSON', { json: true }],
    ['events that can be resumed', { resumable: true }],
  ])('shakes hands, calls and ends the session when answers come as %s', async (_what, options) => {
    await using server = await sdkServer(options)
    const open = await openLink(server.url, { Authorization: 'Bearer t', 'Mcp-Session-Id': 'forged', Host: 'forged' })
    await open.initialize()
    const answer = await open.request(2, 'tools/call', echo('grüße'))
    expect(answer.result?.content).toEqual([{ type: 'text', text: 'grüße' }])
    const [sessionId] = server.sessions.keys()
    const [first, ...later] = server.seen
    expect(first?.headers['mcp-session-id']).toBeUndefined()
    expect(first?.headers['mcp-protocol-version']).toBeUndefined()
    expect(first?.headers.authorization).toBe('Bearer t')
    expect(later.length).toBeGreaterThan(1)
    for (const { headers } of later) {
      expect(headers['mcp-session-id']).toBe(sessionId ?? 'none')
      expect(headers['mcp-protocol-version']).toBe('2025-11-25')
      expect(headers.authorization).toBe('Bearer t')
    }
    await open[Symbol.asyncDispose]()
    expect(server.seen.at(-1)?.method).toBe('DELETE')
    expect(server.sessions.size).toBe(0)
    await until(() => server.streams.size === 0, 'all streams to close')
    expect(open.closed).toEqual([])
    expect(open.failures).toEqual([])
  })

  test('delivers progress in order and as related to its call', async () => {
    await using server = await sdkServer()
    await using open = await openLink(server.url)
    await open.initialize()
    const params = { name: 'steps', arguments: { count: 20 }, _meta: { progressToken: 7 } }
    await open.request(2, 'tools/call', params)
    const progress = open.messages.filter(({ message }) => message.method === 'notifications/progress')
    expect(progress.map(({ message }) => message.params?.progress)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    expect(progress.every(({ related }) => related === 2)).toBe(true)
  })

  test('keeps 50 calls at once apart', async () => {
    await using server = await sdkServer()
    await using open = await openLink(server.url)
    await open.initialize()
    const ids = Array.from({ length: 50 }, (_, index) => index + 2)
    const answers = await Promise.all(ids.map(id => open.request(id, 'tools/call', echo(`text ${id}`))))
    expect(answers.map(answer => answer.result?.content)).toEqual(ids.map(id => [{ type: 'text', text: `text ${id}` }]))
  })

  test('receives messages that the server sends on its own, and again after the stream broke', async () => {
    await using server = await sdkServer({ resumable: true, retryMs: 10 })
    await using open = await openLink(server.url)
    await open.initialize()
    const gets = (): number => server.seen.filter(({ method }) => method === 'GET').length
    await until(() => gets() === 1 && server.streams.size === 1, 'the GET stream')
    const [session] = server.sessions.values()
    const heard = (): number =>
      open.messages.filter(({ message }) => message.method === 'notifications/tools/list_changed').length
    session?.server.sendToolListChanged()
    await until(() => heard() === 1, 'the notification')
    expect(open.messages.at(-1)?.related).toBeUndefined()
    session?.transport.closeStandaloneSSEStream()
    await until(() => gets() === 2, 'the second GET stream')
    expect(server.seen.filter(({ method }) => method === 'GET')[1]?.headers['last-event-id']).toBeString()
    session?.server.sendToolListChanged()
    await until(() => heard() === 2, 'the second notification')
  })

  test('has the stream open before the first call on which a server may ask, so that no question is lost', async () => {
    await using server = await sdkServer({ lateStreamMs: 50 })
    await using open = await openLink(server.url)
    await open.initialize({ roots: {} })
    const call = open.request(2, 'tools/call', { name: 'ask', arguments: {} })
    const question = () => open.messages.find(({ message }) => message.method === 'roots/list')?.message
    await until(() => question() !== undefined, 'the question')
    open.link.send(JSON.stringify({ jsonrpc: '2.0', id: question()?.id, result: { roots: [{ uri: 'file:///r' }] } }))
    expect((await call).result?.content).toEqual([{ type: 'text', text: 'file:///r' }])
  })

  test('resumes the stream of a call behind its last event, as late as the server asked', async () => {
    await using server = await sdkServer({ resumable: true, retryMs: 200 })
    await using open = await openLink(server.url)
    await open.initialize()
    const since = performance.now()
    const answer = await open.request(2, 'tools/call', { name: 'cut', arguments: {} })
    expect(performance.now() - since).toBeGreaterThan(190)
    expect(answer.result?.content).toEqual([{ type: 'text', text: 'after' }])
    const logs = open.messages.filter(({ message }) => message.method === 'notifications/message')
    expect(logs.map(({ message, related }) => [message.params?.data, related])).toEqual([
      ['before', 2],
      ['meanwhile', 2],
    ])
  })

  test('stops reading the stream of an abandoned call', async () => {
    await using server = await sdkServer()
    await using open = await openLink(server.url)
    await open.initialize()
    open.link.send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"never","arguments":{}}}', 2)
    await until(() => server.streams.size === 2, 'the stream of the call beside the GET stream')
    open.link.abandoned?.(2)
    await until(() => server.streams.size === 1, 'the stream to close')
    expect(open.failures).toEqual([])
    expect(open.closed).toEqual([])
  })

  test.each([404, 400] as const)(
    'ends the link when the server forgot the session (HTTP %d), and marks the refused calls as not begun',
    async unknownSession => {
      await using server = await sdkServer({ unknownSession })
      await using open = await openLink(server.url)
      await open.initialize()
      await until(() => server.streams.size === 1, 'the GET stream')
      server.sessions.clear()
      for (const id of [2, 3, 4]) {
        open.link.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: echo('x') }), id)
      }
      await until(() => open.closed.length > 0 && open.failures.length === 3, 'the link to end')
      expect(open.closed).toMatchObject([{ code: 'connection_lost' }])
      expect(open.failures.map(({ id, notSent }) => [id, notSent]).sort()).toEqual([
        [2, true],
        [3, true],
        [4, true],
      ])
      open.link.send('{"jsonrpc":"2.0","id":5,"method":"ping"}', 5)
      expect(open.failures.at(-1)).toMatchObject({ id: 5, notSent: true })
      expect(server.seen.some(({ method }) => method === 'DELETE')).toBe(false)
    },
  )

  test('ends the link when a server that answers 400 forgot the session and has closed its own stream', async () => {
    await using server = await sdkServer({ unknownSession: 400 })
    await using open = await openLink(server.url)
    await open.initialize()
    await until(() => server.streams.size === 1, 'the GET stream')
    const [session] = server.sessions.values()
    server.sessions.clear()
    session?.transport.closeStandaloneSSEStream()
    await until(() => open.closed.length > 0, 'the link to end')
    expect(open.closed).toMatchObject([{ code: 'connection_lost' }])
  })

  test('ends the link within 1 s after the server is gone, with calls in flight or without', async () => {
    for (const inFlight of [true, false]) {
      const server = await sdkServer()
      const open = await openLink(server.url)
      await open.initialize()
      await until(() => server.streams.size === 1, 'the GET stream')
      if (inFlight) {
        open.link.send('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"never","arguments":{}}}', 2)
        await until(() => server.streams.size === 2, 'the call')
      }
      server.sessions.clear()
      const since = performance.now()
      await server[Symbol.asyncDispose]()
      await until(() => open.closed.length > 0, 'the link to end')
      expect(performance.now() - since).toBeLessThan(atMost(1_000))
      expect(open.closed).toMatchObject([{ code: 'connection_lost' }])
      if (inFlight) expect(open.failures).toMatchObject([{ id: 2, notSent: false }])
      await open[Symbol.asyncDispose]()
    }
  })

  test('works with a server without sessions', async () => {
    await using server = await sdkServer({ stateless: true })
    const open = await openLink(server.url)
    await open.initialize()
    const answer = await open.request(2, 'tools/call', echo('hi'))
    expect(answer.result?.content).toEqual([{ type: 'text', text: 'hi' }])
    await open[Symbol.asyncDispose]()
    expect(server.seen.some(({ method }) => method === 'DELETE')).toBe(false)
    await until(() => server.streams.size === 0, 'all streams to close')
  })

  test('drops everything at once when the link is aborted', async () => {
    await using server = await sdkServer()
    const open = await openLink(server.url)
    await open.initialize()
    await until(() => server.streams.size === 1, 'the GET stream')
    open.abort.abort()
    await until(() => server.streams.size === 0, 'all streams to close')
    expect(open.closed).toEqual([])
    await open.link.close()
  })
})
