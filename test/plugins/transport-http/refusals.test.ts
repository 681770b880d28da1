import { describe, expect, test } from 'bun:test'
import type { Socket } from 'node:net'
import { atMost } from '../../support/pace.ts'
import { type RawServer, rawServer, until } from '../../unit/outbound/raw-server.ts'
import { openLink } from './harness.ts'

const CALL = { name: 'echo', arguments: {} }

/** The request's method, JSON-RPC method and id. */
function parse(request: string): { verb: string; method: string | undefined; id: number | undefined; head: string } {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const { method, id } = body === '' ? { method: undefined, id: undefined } : JSON.parse(body)
  return { verb: head.slice(0, head.indexOf(' ')), method, id, head }
}

function answer(socket: Socket, head: string, body = ''): void {
  socket.write(`HTTP/1.1 ${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function json(socket: Socket, message: unknown, fields = ''): void {
  answer(socket, `200 OK\r\ncontent-type: application/json; charset=utf-8${fields}`, JSON.stringify(message))
}

/** Shakes hands by itself and leaves calls, GET and DELETE to the test; without a part for them: 405. */
function scripted(
  call: (socket: Socket, id: number, request: string) => void,
  other: (socket: Socket, verb: string, head: string) => void = socket => answer(socket, '405 No'),
  session = true,
): Promise<RawServer> {
  return rawServer((socket, _index, request) => {
    const { verb, method, id, head } = parse(request)
    if (verb !== 'POST') return other(socket, verb, head)
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'raw', version: '1' } }
    if (method === 'initialize')
      return json(socket, { jsonrpc: '2.0', id, result }, session ? '\r\nmcp-session-id: s1' : '')
    if (id === undefined) return answer(socket, '202 Accepted')
    call(socket, id, request)
  })
}

const DATE = 'date: Sat, 21 Nov 2026 20:12:56 GMT'
const SSE = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'

describe('streamable HTTP refusals', () => {
  test.each([
    ['401 Unauthorized', 'authorization_required'],
    ['403 Forbidden', 'authorization_required'],
    ['302 Found\r\nlocation: http://169.254.169.254/', 'redirect_blocked'],
    ['302 Found\r\nlocation: /elsewhere', 'redirect_blocked'],
    ['307 Temporary\r\nlocation: //elsewhere.example/mcp', 'redirect_blocked'],
    ['400 Bad', 'upstream_http_error'],
    ['429 Slow down', 'upstream_http_error'],
    ['500 Oops', 'upstream_http_error'],
    ['200 OK\r\ncontent-type: text/html', 'upstream_protocol'],
    ['202 Accepted', 'upstream_protocol'],
    ['204 No Content', 'upstream_protocol'],
  ])('fails one call at HTTP %s with %s, and only that one', async (head, code) => {
    let calls = 0
    await using server = await scripted((socket, id, request) => {
      if (request.includes('"ping"')) return json(socket, { jsonrpc: '2.0', id, result: {} })
      calls += 1
      if (calls === 1) answer(socket, head, head.startsWith('204') ? '' : '<b>canary</b>')
      else json(socket, { jsonrpc: '2.0', id, result: { content: [] } })
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code })
    expect(open.failures).toMatchObject([{ id: 2, notSent: false }])
    expect(JSON.stringify(open.failures) + open.logs.join()).not.toMatch(/canary|169\.254|elsewhere/)
    expect((await open.request(3, 'tools/call', CALL)).result).toEqual({ content: [] })
    expect(calls).toBe(2)
    expect(open.closed).toEqual([])
  })

  test('keeps status, Retry-After and the code of a JSON-RPC error in the reason', async () => {
    await using server = await scripted(socket => {
      const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"canary"}}'
      answer(socket, '503 Busy\r\nretry-after: 7\r\ncontent-type: application/json', body)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toEqual({
      code: 'upstream_http_error',
      message: 'The server answered with HTTP 503 and asks to wait 7 s',
      data: { status: 503, rpcCode: -32000, retryAfterSeconds: 7 },
    })
  })

  test.each([
    ['Sat, 21 Nov 2026 20:13:56 GMT', 60],
    ['Sat, 21 Nov 2026 20:12:00 GMT', 0],
    ['0', 0],
  ])('reads a Retry-After of %s by the clock of the server', async (said, seconds) => {
    await using server = await scripted(socket => answer(socket, `429 Slow\r\n${DATE}\r\nretry-after: ${said}`))
    await using open = await openLink(server.url)
    await open.initialize()
    await open.request(2, 'tools/call', CALL).catch(() => undefined)
    expect(open.failures[0]?.reason.data?.retryAfterSeconds).toBe(seconds)
  })

  test.each(['-5', 'soon', '1e3', 'Fri, 31 Dec 9999 23:59:59 GMT', '2026-01-02'])(
    'makes nothing of a Retry-After of %s',
    async said => {
      await using server = await scripted(socket => answer(socket, `429 Slow\r\n${DATE}\r\nretry-after: ${said}`))
      await using open = await openLink(server.url)
      await open.initialize()
      await open.request(2, 'tools/call', CALL).catch(() => undefined)
      expect(open.failures).toMatchObject([{ reason: { code: 'upstream_http_error', data: { status: 429 } } }])
      expect(open.failures[0]?.reason.data).not.toHaveProperty('retryAfterSeconds')
    },
  )

  test('compares media types without regard to case', async () => {
    await using server = await scripted((socket, id) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })
      if (id === 2) return answer(socket, '200 OK\r\ncontent-type: Application/JSON;Charset=UTF-8', body)
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: Text/Event-Stream\r\n')
      socket.end(`\r\ndata: ${body}\n\n`)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    for (const id of [2, 3]) expect((await open.request(id, 'tools/call', CALL)).result).toEqual({ content: [] })
  })

  test('passes a JSON-RPC error for the call on, whatever its status', async () => {
    await using server = await scripted((socket, id) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'No such tool' } })
      answer(socket, '400 Bad\r\ncontent-type: application/json', body)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    expect((await open.request(2, 'tools/call', CALL)).error).toEqual({ code: -32602, message: 'No such tool' })
    expect(open.failures).toEqual([])
  })

  test('reads a JSON answer behind a byte order mark', async () => {
    await using server = await scripted((socket, id) => {
      const body = `\uFEFF${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })}`
      answer(socket, '200 OK\r\ncontent-type: application/json', body)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    expect((await open.request(2, 'tools/call', CALL)).result).toEqual({ content: [] })
  })

  test.each([
    ['an answer to another call', '{"jsonrpc":"2.0","id":99,"result":{}}'],
    ['a request', '{"jsonrpc":"2.0","id":2,"method":"ping"}'],
    ['text that is no JSON', '{"jsonrpc":"2.0","id":2,'],
    ['nothing', ''],
  ])('fails a call at once that got %s', async (_what, body) => {
    await using server = await scripted(socket => answer(socket, '200 OK\r\ncontent-type: application/json', body))
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code: 'upstream_protocol' })
  })

  test('holds messages and the GET stream back until the server has taken notifications/initialized', async () => {
    let accept: (() => void) | undefined
    await using server = await rawServer((socket, _index, request) => {
      const { verb, method, id } = parse(request)
      if (verb !== 'POST') return answer(socket, '405 No')
      if (method !== 'notifications/initialized') return json(socket, { jsonrpc: '2.0', id, result: {} })
      accept = () => answer(socket, '202 Accepted')
    })
    await using open = await openLink(server.url)
    await open.initialize()
    const calls = [2, 3].map(id => open.request(id, 'tools/call', CALL))
    await until(() => accept !== undefined, 'the notification')
    // Another link's request passes meanwhile: a request held back would have had time to come.
    await using other = await openLink(server.url)
    await other.request(1, 'ping')
    expect(server.requests.length).toBe(3)
    accept?.()
    await Promise.all(calls)
    await until(() => server.requests.length === 6, 'both calls and the GET')
  })

  test('takes HTTP 404 without a session as an error of that call alone', async () => {
    await using server = await scripted(socket => answer(socket, '404 Not Found'), undefined, false)
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code: 'upstream_http_error' })
    expect(open.closed).toEqual([])
  })

  test('fails a call whose connection broke, never sends it again, and stays', async () => {
    let calls = 0
    await using server = await scripted((socket, id) => {
      calls += 1
      if (calls === 1) socket.destroy()
      else json(socket, { jsonrpc: '2.0', id, result: {} })
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code: 'connection_lost' })
    expect(open.failures).toMatchObject([{ id: 2, notSent: false }])
    await open.request(3, 'tools/call', CALL)
    expect(calls).toBe(2)
    expect(open.closed).toEqual([])
  })

  test('fails a call whose stream ended without an answer and named no event', async () => {
    for (const end of ['0\r\n\r\n', undefined]) {
      await using server = await scripted(socket => {
        const event = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
        socket.write(`${SSE}transfer-encoding: chunked\r\n\r\n${event.length.toString(16)}\r\n${event}\r\n`)
        if (end) socket.write(end)
        else socket.destroy()
      })
      await using open = await openLink(server.url)
      await open.initialize()
      await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code: 'connection_lost' })
      expect(open.failures).toMatchObject([{ id: 2, notSent: false }])
      expect(open.messages.at(-1)).toMatchObject({ related: 2, message: { method: 'notifications/message' } })
    }
  })

  test('reports a server that cannot be reached as not begun, and ends the link', async () => {
    const server = await rawServer(() => {})
    await server[Symbol.asyncDispose]()
    await using open = await openLink(server.url)
    for (const id of [1, 2]) open.link.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }), id)
    await until(() => open.closed.length > 0 && open.failures.length === 2, 'the link to end')
    expect(open.failures.map(({ id, notSent }) => [id, notSent])).toEqual([
      [1, true],
      [2, true],
    ])
    expect(open.closed).toMatchObject([{ code: 'connection_lost' }])
  })

  test('reads a result of 5 MB and one in an unusual shape', async () => {
    const text = 'ü'.repeat(2_500_000)
    await using server = await scripted((socket, id) => {
      const body =
        id === 2
          ? JSON.stringify({ result: { text }, jsonrpc: '2.0', id })
          : ` { "id" : ${id}, "jsonrpc": "2.0", "result" : {} } `
      answer(socket, '200 OK\r\ncontent-type: application/json', body)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    expect(String((await open.request(2, 'tools/call', CALL)).result?.text).length).toBe(2_500_000)
    expect((await open.request(3, 'tools/call', CALL)).result).toEqual({})
  })

  test('lets go of a stream that stays open behind its answer', async () => {
    await using server = await scripted((socket, id) => {
      socket.write(`${SSE}\r\ndata: {"jsonrpc":"2.0","id":${id},"result":{}}\n\n`)
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await open.request(2, 'tools/call', CALL)
    const before = server.open()
    await until(() => server.open() < before, 'the stream to close')
    expect(open.failures).toEqual([])
  })

  test('resumes after a broken resumption, and gives up when the server refuses it', async () => {
    const asked: string[] = []
    await using server = await scripted(
      socket => {
        socket.write(`${SSE}\r\nid: e1\nretry: 1\ndata:\n\n`)
        socket.end()
      },
      (socket, verb, head) => {
        const last = /last-event-id: (.*)/i.exec(head)?.[1]
        if (verb !== 'GET' || last === undefined) return answer(socket, '405 No')
        asked.push(last)
        if (asked.length === 1) socket.end(`${SSE}\r\nid: e2\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n`)
        else if (asked.length === 2) answer(socket, '503 Busy')
        else answer(socket, '400 Unknown event')
      },
    )
    await using open = await openLink(server.url)
    await open.initialize()
    await expect(open.request(2, 'tools/call', CALL)).rejects.toMatchObject({ code: 'connection_lost' })
    expect(asked).toEqual(['e1', 'e2', 'e2'])
  })

  test('asks once for the GET stream of a server that has none', async () => {
    const verbs: string[] = []
    await using server = await scripted(
      (socket, id) => json(socket, { jsonrpc: '2.0', id, result: {} }),
      (socket, verb) => {
        verbs.push(verb)
        answer(socket, '405 Method Not Allowed')
      },
    )
    const open = await openLink(server.url)
    await open.initialize()
    for (const id of [2, 3, 4]) await open.request(id, 'tools/call', CALL)
    await open[Symbol.asyncDispose]()
    expect(verbs).toEqual(['GET', 'DELETE'])
    await until(() => server.open() === 0, 'all connections to close')
  })

  test('closes within 2 s when the server does not answer DELETE', async () => {
    await using server = await scripted(
      (socket, id) => json(socket, { jsonrpc: '2.0', id, result: {} }),
      (socket, verb) => {
        if (verb === 'GET') answer(socket, '405 No')
      },
    )
    const open = await openLink(server.url)
    await open.initialize()
    const since = performance.now()
    await open[Symbol.asyncDispose]()
    expect(performance.now() - since).toBeWithin(1_500, atMost(2_100))
    await until(() => server.open() === 0, 'all connections to close')
  })

  test('lists nothing before the stream stands that reports their changes', async () => {
    const order: string[] = []
    await using server = await scripted(
      (socket, id) => {
        order.push('tools/list')
        json(socket, { jsonrpc: '2.0', id, result: { tools: [] } })
      },
      (socket, verb) => {
        if (verb !== 'GET') return answer(socket, '200 OK')
        setTimeout(() => {
          order.push('stream')
          socket.write(`${SSE}\r\n: ok\n\n`)
        }, 50)
      },
    )
    await using open = await openLink(server.url)
    await open.initialize()
    await open.request(2, 'tools/list')
    expect(order).toEqual(['stream', 'tools/list'])
  })

  test('does not wait for ever for a GET stream whose head is late', async () => {
    await using server = await scripted(
      (socket, id) => json(socket, { jsonrpc: '2.0', id, result: {} }),
      (socket, verb) => {
        if (verb === 'DELETE') answer(socket, '200 OK')
      },
    )
    await using open = await openLink(server.url)
    await open.initialize()
    await open.request(2, 'tools/call', CALL)
  })

  test.each(['bad\u00e9id', 'a b', ''])('ignores a session id that is not visible ASCII: %j', async id => {
    await using server = await rawServer((socket, _index, request) => {
      const { verb, id: requestId } = parse(request)
      if (verb !== 'POST') return answer(socket, '405 No')
      if (requestId === undefined) return answer(socket, '202 Accepted')
      json(
        socket,
        { jsonrpc: '2.0', id: requestId, result: { protocolVersion: '2025-06-18' } },
        `\r\nmcp-session-id: ${id}`,
      )
    })
    await using open = await openLink(server.url)
    await open.initialize()
    await open.request(2, 'ping')
    expect(server.requests.some(request => /^mcp-session-id/im.test(request))).toBe(false)
  })

  test('refuses a configuration without a usable url or with headers that are no texts', async () => {
    await expect(openLink('ftp://8.8.8.8/')).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(openLink('http://127.0.0.1/', { a: 1 } as unknown as Record<string, string>)).rejects.toMatchObject({
      code: 'config_invalid',
    })
  })
})
