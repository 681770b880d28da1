/**
 * Streamable HTTP on raw sockets, which fails as a call's `arguments` say: `status` (with `retryAfter` seconds, or `location`
 * for a redirect), `drip` ("head" or "body": one byte each 50 ms, forever), `cut` (the connection ends in the middle of the
 * body), `silent`. Otherwise it answers with the number of requests by method. INIT in the environment does the same to
 * initialize. Each connection ends after its answer; with UNSAID in the environment no header announces that. Prints `listening
 * on URL`.
 */
import { createServer, type Socket } from 'node:net'

interface Fault {
  readonly status?: number
  readonly retryAfter?: number
  readonly location?: string
  readonly drip?: 'head' | 'body'
  readonly cut?: boolean
  readonly silent?: boolean
}

const CLOSES: Record<string, string> = process.env.UNSAID ? {} : { connection: 'close' }
const seen = new Map<string, number>()

function write(socket: Socket, status: number, headers: Record<string, string>, body: string): void {
  const all = { 'content-length': String(Buffer.byteLength(body)), ...CLOSES, ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} x\r\n${head.join('')}\r\n${body}`)
}

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 50)
  socket.on('close', () => clearInterval(timer))
}

/** True when the request was answered, or will never be. */
function fail(socket: Socket, fault: Fault): boolean {
  if (fault.silent) return true
  if (fault.drip === 'head') {
    socket.write('HTTP/1.1 200 OK\r\nx-slow: ')
    drip(socket, 'x')
    return true
  }
  if (fault.drip === 'body') {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{')
    drip(socket, ' ')
    return true
  }
  if (fault.cut) {
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"jsonrpc"')
    return true
  }
  if (fault.status === undefined) return false
  write(
    socket,
    fault.status,
    {
      ...(fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }),
      ...(fault.location === undefined ? {} : { location: fault.location }),
    },
    'canary: nothing of this body may reach a caller',
  )
  return true
}

function answer(socket: Socket, method: string, body: string): void {
  if (method !== 'POST') return write(socket, method === 'DELETE' ? 204 : 405, {}, '')
  const message = JSON.parse(body)
  const key = message.method === 'tools/call' ? `tools/call ${message.params.name}` : String(message.method)
  seen.set(key, (seen.get(key) ?? 0) + 1)
  const fault: Fault =
    message.method === 'initialize' ? JSON.parse(process.env.INIT ?? '{}') : (message.params?.arguments ?? {})
  if (fail(socket, fault)) return
  if (message.id === undefined) return write(socket, 202, {}, '')
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: message.params?.protocolVersion,
      capabilities: { tools: {}, prompts: {} },
      serverInfo: { name: 'faulty-http', version: '1.0.0' },
    },
    'tools/list': { tools: ['fail', 'seen'].map(name => ({ name, inputSchema: { type: 'object' } })) },
    'prompts/list': { prompts: [{ name: 'fail', arguments: [{ name: 'status' }] }] },
    'tools/call': { content: [{ type: 'text', text: JSON.stringify(Object.fromEntries(seen)) }] },
    ping: {},
  }
  const result = results[message.method] ?? {}
  const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, result })
  write(socket, 200, { 'content-type': 'application/json', 'mcp-session-id': 'one' }, text)
}

const server = createServer(socket => {
  let text = ''
  socket.on('error', () => {})
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0)
    if (text.length < end + 4 + length) return
    const body = text.slice(end + 4, end + 4 + length)
    const method = text.slice(0, text.indexOf(' '))
    text = ''
    answer(socket, method, body)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  console.log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`)
})
