import { afterEach, describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import { type RawServer, rawServer, until } from '../../unit/outbound/raw-server.ts'
import { openLink } from './harness.ts'

const CALL = { name: 'echo', arguments: {} }
const EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'

const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]()
})

function answer(socket: Socket, head: string, body = ''): void {
  socket.write(`HTTP/1.1 ${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

interface Options {
  /** The answer of `/mcp`, by HTTP method. Default: a redirect to `/mcp/`. */
  readonly moved?: (verb: string) => string
  /** Answers a call at `/mcp/`. Default: an empty result. */
  readonly call?: (socket: Socket, id: number) => void
  /** Answers a GET at `/mcp/`. Default: 405. */
  readonly get?: (socket: Socket, head: string) => void
}

/** A server of 2025-11-25 that is mounted at `/mcp/`. */
async function mounted({ moved, call, get }: Options = {}): Promise<RawServer> {
  const server = await rawServer((socket, _index, request) => {
    const [verb = '', path] = request.split(' ')
    if (path === '/mcp') return answer(socket, moved?.(verb) ?? '307 Temporary Redirect\r\nlocation: /mcp/')
    const [head = '', body = ''] = request.split('\r\n\r\n')
    if (verb === 'GET' && get) return get(socket, head)
    if (verb !== 'POST') return answer(socket, verb === 'DELETE' ? '200 OK' : '405 No')
    const { id, method } = JSON.parse(body)
    if (id === undefined) return answer(socket, '202 Accepted')
    if (method === 'tools/call' && call) return call(socket, id)
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'raw', version: '1' } }
    const result = method === 'initialize' ? initialize : { content: [] }
    const fields = 'content-type: application/json\r\nmcp-session-id: s1'
    answer(socket, `200 OK\r\n${fields}`, JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  running.push(server)
  return server
}

const asked = ({ requests }: RawServer): string[] => requests.map(request => request.split(' ').slice(0, 2).join(' '))

describe('a server that is mounted at /mcp/ and configured as /mcp', () => {
  test.each(['307 Temporary Redirect', '308 Permanent Redirect', '301 Moved Permanently', '302 Found'])(
    'works at %s, and calls go there once',
    async head => {
      const server = await mounted({ moved: () => `${head}\r\nlocation: ${server.url}/` })
      const open = await openLink(server.url, { authorization: 'Bearer t0ken' })
      await open.initialize()
      for (let id = 2; id < 6; id += 1)
        expect((await open.request(id, 'tools/call', CALL)).result).toEqual({ content: [] })
      const posts = asked(server).filter(line => line.startsWith('POST'))
      expect(posts).toEqual(['POST /mcp', ...Array(6).fill('POST /mcp/')])
      await until(() => asked(server).includes('GET /mcp/'), 'the stream to be asked for')
      await open[Symbol.asyncDispose]()
      await until(() => asked(server).includes('DELETE /mcp/'), 'the session to be ended')
      for (const request of server.requests) expect(request).toContain('authorization: Bearer t0ken')
      expect(server.requests.find(request => request.startsWith('DELETE /mcp/'))).toContain('mcp-session-id: s1')
      expect([open.failures, open.closed]).toEqual([[], []])
    },
  )

  test('has its own stream, and takes a broken one up behind its last event', async () => {
    let streams = 0
    const server = await mounted({
      get(socket, head) {
        streams += 1
        if (streams > 1) expect(head).toContain('last-event-id: e1')
        const message = JSON.stringify({ jsonrpc: '2.0', method: `notifications/${streams}` })
        socket.write(`${EVENTS}id: e1\nretry: 1\ndata: ${message}\n\n`)
        if (streams === 1) socket.end()
      },
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await until(() => open.messages.some(({ message }) => message.method === 'notifications/2'), 'the second stream')
    expect(asked(server).filter(line => line === 'GET /mcp/')).toHaveLength(2)
  })

  test('has the stream of a call taken up again there', async () => {
    const server = await mounted({
      call(socket) {
        socket.end(`${EVENTS}id: c1\nretry: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n`)
      },
      get(socket, head) {
        if (!head.includes('last-event-id: c1')) return answer(socket, '405 No')
        socket.write(`${EVENTS}data: {"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n\n`)
      },
    })
    await using open = await openLink(server.url)
    await open.initialize()
    expect((await open.request(2, 'tools/call', CALL)).result).toEqual({ content: [] })
  })

  test('that leads GETs elsewhere has no stream of its own, and is not asked again and again', async () => {
    const elsewhere = await mounted()
    const moved = (verb: string): string => {
      if (verb === 'GET') return `302 Found\r\nlocation: ${elsewhere.url}`
      return '307 Temporary Redirect\r\nlocation: /mcp/'
    }
    const server = await mounted({ moved })
    await using open = await openLink(server.url)
    await open.initialize()
    await until(() => open.logs.some(line => line.includes('no stream of its own')), 'the line of the log')
    expect((await open.request(2, 'tools/call', CALL)).result).toEqual({ content: [] })
    expect(asked(server).filter(line => line.startsWith('GET'))).toEqual(['GET /mcp'])
    expect(elsewhere.connections()).toBe(0)
    expect(open.closed).toEqual([])
  })

  test('and moves its stream elsewhere while a call waits on it, fails that call alone', async () => {
    let calls = 0
    const moved = (verb: string): string =>
      verb === 'GET' ? '302 Found\r\nlocation: http://other.example/' : '307 Temporary Redirect\r\nlocation: /mcp/'
    const server = await mounted({
      moved,
      call(socket, id) {
        calls += 1
        const body = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })
        if (calls > 1) return answer(socket, '200 OK\r\ncontent-type: application/json', body)
        socket.end(`${EVENTS}id: c1\nretry: 1\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n`)
      },
    })
    await using open = await openLink(server.url)
    await open.initialize()
    const failure = await open.request(2, 'tools/call', CALL).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'connection_lost' })
    expect((await open.request(3, 'tools/call', CALL)).result).toEqual({ content: [] })
    expect(open.closed).toEqual([])
  })
})

test('a POST that is led elsewhere fails with what to do, and nothing goes there', async () => {
  const elsewhere = await mounted()
  for (const head of [
    `307 x\r\nlocation: ${elsewhere.url}`,
    '302 x\r\nlocation: /other/',
    '303 x\r\nlocation: /mcp/',
  ]) {
    const server = await mounted({ moved: () => head })
    await using open = await openLink(server.url, { authorization: 'Bearer t0ken' })
    const failure = await open.initialize().catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'redirect_blocked' })
    expect((failure as { message: string }).message).toContain('set its final address')
    expect(asked(server)).toEqual(['POST /mcp'])
  }
  expect(elsewhere.connections()).toBe(0)
})
