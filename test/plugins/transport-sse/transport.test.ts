import { describe, expect, test } from 'bun:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { PluginContext, TransportContribution } from 'patchbay/contract'
import plugin from '../../../plugins/transport-sse/plugin.ts'
import transport from '../../../plugins/transport-sse/transport.ts'
import { until } from '../../unit/outbound/raw-server.ts'
import { openLink } from '../transport-http/harness.ts'
import { type SseServer, sseServer } from './sse-server.ts'

const open = (server: SseServer, headers?: Record<string, string>) => openLink(server.url, headers, transport)

/** The error that opening a link to this server ends with. */
async function refusalOf(server: SseServer): Promise<unknown> {
  return await open(server).then(
    () => 'opened',
    (error: unknown) => error,
  )
}

test('transport-sse contributes a transport whose module and schema can be used', async () => {
  let found: TransportContribution | undefined
  const contribute = (_point: string, _id: string, contribution: TransportContribution) => {
    found = contribution
  }
  await plugin.setup({ contribute } as unknown as PluginContext<undefined>)
  expect(found?.transport).toBe('sse')
  expect((await import(found?.module ?? '')).default.kind).toBe('messages')
  const valid = new Ajv2020({ strict: false, validateFormats: false }).compile(found?.configSchema ?? false)
  expect(valid({ url: 'https://example.com/sse', headers: { a: 'b' } })).toBe(true)
  expect(valid({ command: 'x' })).toBe(false)
})

describe('HTTP with server-sent events', () => {
  test('posts to the endpoint that the server named, with the configured headers, and reads answers on the stream', async () => {
    await using server = await sseServer()
    const link = await open(server, { Authorization: 'Bearer t', Host: 'forged', 'Mcp-Session-Id': 'forged' })
    await link.initialize()
    const ids = Array.from({ length: 30 }, (_, index) => index + 2)
    const answers = await Promise.all(ids.map(id => link.request(id, 'echo', { text: `text ${id}` })))
    expect(answers.map(answer => answer.result?.text)).toEqual(ids.map(id => `text ${id}`))
    const [get, initialize, initialized, ...calls] = server.seen
    expect(get).toMatchObject({ method: 'GET', url: '/sse' })
    expect(initialize).toMatchObject({ method: 'POST', url: '/messages?sessionId=1' })
    expect(initialized?.body).toContain('notifications/initialized')
    expect(calls).toHaveLength(30)
    for (const { headers } of server.seen) {
      expect(headers.authorization).toBe('Bearer t')
      expect(headers.host).not.toBe('forged')
      expect(headers['mcp-session-id']).toBeUndefined()
    }
    expect(calls[0]?.headers['mcp-protocol-version']).toBe('2024-11-05')
    await link[Symbol.asyncDispose]()
    await until(() => server.streams.size === 0, 'the stream to close')
    expect(link.closed).toEqual([])
  })

  test('nothing overtakes notifications/initialized', async () => {
    const held = Promise.withResolvers<void>()
    await using server = await sseServer({
      post: ({ method }, response) => {
        if (method !== 'notifications/initialized') return false
        void held.promise.then(() => response.writeHead(202).end())
        return true
      },
    })
    await using link = await open(server)
    await link.initialize()
    const answer = link.request(2, 'echo', { text: 'late' })
    await until(() => server.seen.length === 3, 'the notification')
    await Bun.sleep(20)
    expect(server.seen).toHaveLength(3)
    held.resolve()
    expect((await answer).result?.text).toBe('late')
  })

  test.each([
    ['a user name', (origin: string) => `${origin.replace('//', '//user:pass@')}/messages`],
    ['no address at all', () => 'http://'],
    ['no address over HTTP', () => 'file:///etc/passwd'],
    ['JSON without an address', () => '{"session":1}'],
    ['an address that is too long', () => `/${'x'.repeat(10_000)}`],
  ])('refuses an endpoint with %s, and posts nothing', async (_what, endpoint) => {
    await using server = await sseServer({ endpoint: (_session, origin) => endpoint(origin) })
    expect(await refusalOf(server)).toMatchObject({ code: 'upstream_protocol' })
    expect(server.seen.map(({ method }) => method)).toEqual(['GET'])
  })

  test.each([
    ['another port', () => 'http://127.0.0.1:1/messages?sessionId=1'],
    ['another host', () => 'http://example.com/messages?sessionId=1#part'],
    ['a host without a scheme', () => '//example.com/messages?sessionId=1'],
    ['another scheme', (origin: string) => `${origin.replace('http:', 'https:')}/messages?sessionId=1`],
  ])('posts to its own origin where the endpoint has %s', async (_what, endpoint) => {
    await using server = await sseServer({ endpoint: (_session, origin) => endpoint(origin) })
    await using link = await open(server)
    await link.initialize()
    expect(server.seen[1]?.url).toBe('/messages?sessionId=1')
  })

  test('takes an endpoint written as a whole address or relative to the stream', async () => {
    for (const endpoint of [(origin: string) => `${origin}/a?sessionId=1`, () => 'b?sessionId=1']) {
      await using server = await sseServer({ endpoint: (_session, origin) => endpoint(origin) })
      await using link = await open(server)
      await link.initialize()
      expect(server.seen[1]?.url).toMatch(/^\/[ab]\?sessionId=1$/)
    }
  })

  test.each([
    [404, 'upstream_http_error'],
    [401, 'authorization_required'],
    [302, 'redirect_blocked'],
    [200, 'upstream_protocol'],
  ])('a stream refused with HTTP %d cannot be opened: %s', async (status, code) => {
    await using server = await sseServer({
      get: (_request, response) => {
        response.writeHead(status, { 'content-type': 'text/html', location: '/other' }).end('a secret page')
        return true
      },
    })
    const refusal = await refusalOf(server)
    expect(refusal).toMatchObject({ code })
    expect(String(refusal)).not.toContain('secret')
  })

  test('a message refused with 404 was not sent, and the link ends with the session', async () => {
    await using server = await sseServer({
      post: ({ id }, response) => {
        if (id === undefined || id < 2) return false
        response.writeHead(404).end()
        return true
      },
    })
    await using link = await open(server)
    await link.initialize()
    link.link.send('{"jsonrpc":"2.0","id":2,"method":"a"}', 2)
    link.link.send('{"jsonrpc":"2.0","id":3,"method":"b"}', 3)
    await until(() => link.closed.length === 1 && link.failures.length === 2, 'the end of the link')
    expect(link.failures.map(({ id, notSent }) => [id, notSent])).toEqual([
      [2, true],
      [3, true],
    ])
    expect(link.closed).toMatchObject([{ code: 'connection_lost' }])
  })

  test('any other refusal fails that one message alone', async () => {
    await using server = await sseServer({
      post: ({ id }, response) => {
        if (id !== 2) return false
        response.writeHead(500).end()
        return true
      },
    })
    await using link = await open(server)
    await link.initialize()
    const refused = await link.request(2, 'a').catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'upstream_http_error', data: { status: 500 } })
    expect((await link.request(3, 'echo', { text: 'on' })).result?.text).toBe('on')
  })

  test('the end of a stream without ids is the end of the link', async () => {
    await using server = await sseServer()
    await using link = await open(server)
    await link.initialize()
    await until(() => server.seen.length === 3, 'the whole handshake')
    server.streams.get(1)?.end()
    await until(() => link.closed.length === 1, 'the end of the link')
    expect(link.closed).toMatchObject([{ code: 'connection_lost' }])
    expect(server.sessions).toBe(1)
  })

  test('a stream with ids is resumed behind the last event, and calls continue', async () => {
    await using server = await sseServer({ resumable: true })
    await using link = await open(server)
    await link.initialize()
    await until(() => server.seen.length === 3, 'the whole handshake')
    server.streams.get(1)?.end()
    await until(() => server.seen.filter(({ method }) => method === 'GET').length === 2, 'the second GET')
    expect(server.seen.at(-1)?.headers['last-event-id']).toBe('1')
    expect((await link.request(2, 'echo', { text: 'on' })).result?.text).toBe('on')
    expect(link.closed).toEqual([])
  })

  test('a server that begins another session on the second stream has lost the first', async () => {
    let gets = 0
    await using server = await sseServer({
      resumable: true,
      endpoint: session => `/messages?sessionId=${session}&get=${gets++}`,
    })
    await using link = await open(server)
    await link.initialize()
    await until(() => server.seen.length === 3, 'the whole handshake')
    server.streams.get(1)?.end()
    await until(() => link.closed.length === 1, 'the end of the link')
    expect(link.closed).toMatchObject([{ code: 'connection_lost' }])
  })

  test('a refused connection ends the link, and the message counts as not sent', async () => {
    const server = await sseServer({ resumable: true })
    await using link = await open(server)
    await link.initialize()
    await server[Symbol.asyncDispose]()
    link.link.send('{"jsonrpc":"2.0","id":2,"method":"a"}', 2)
    await until(() => link.closed.length === 1, 'the end of the link')
    expect(link.failures.every(({ notSent }) => notSent)).toBe(true)
  })
})
