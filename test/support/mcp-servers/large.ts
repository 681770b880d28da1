/**
 * A server with answers of a requested size: `WIRE` is stdio, json, events (both streamable HTTP) or sse. Prints `listening on
 * URL` unless it uses stdio. `hold` answers when `release` is called.
 */
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly name?: string
    readonly arguments?: { readonly bytes?: number; readonly idLast?: boolean }
  }
}

const { WIRE = 'stdio' } = process.env
const NAMES = ['big', 'hold', 'release', 'pid']
let release: (() => void) | undefined

function result(id: number, value: string, idLast = false): string {
  return idLast ? `{"result":${value},"jsonrpc":"2.0","id":${id}}` : `{"jsonrpc":"2.0","id":${id},"result":${value}}`
}

function text(value: string): string {
  return `{"content":[{"type":"text","text":"${value}"}]}`
}

async function answer({ id, method, params }: Message): Promise<string | undefined> {
  if (id === undefined) return undefined
  if (method === 'initialize') {
    const info = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'large', version: '1' },
    }
    return result(id, JSON.stringify(info))
  }
  if (method === 'tools/list') {
    return result(id, JSON.stringify({ tools: NAMES.map(name => ({ name, inputSchema: { type: 'object' } })) }))
  }
  if (method !== 'tools/call') return result(id, '{}')
  const { bytes = 0, idLast = false } = params?.arguments ?? {}
  if (params?.name === 'big') return result(id, text('x'.repeat(bytes)), idLast)
  if (params?.name === 'hold') {
    await new Promise<void>(resolve => {
      release = resolve
    })
  }
  if (params?.name === 'release') release?.()
  return result(id, text(params?.name === 'pid' ? String(process.pid) : 'done'))
}

const HEAD = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }
const encoder = new TextEncoder()
const streams = new Map<string, ReadableStreamDefaultController<Uint8Array>>()

function sse(): Response {
  const session = `?session=${crypto.randomUUID()}`
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      streams.set(session, controller)
      controller.enqueue(encoder.encode(`event: endpoint\ndata: /messages${session}\n\n`))
    },
    cancel: () => void streams.delete(session),
  })
  return new Response(body, { headers: HEAD })
}

async function http(request: Request): Promise<Response> {
  if (request.method === 'GET') return WIRE === 'sse' ? sse() : new Response(null, { status: 405 })
  if (request.method !== 'POST') return new Response(null, { status: 405 })
  const message = (await request.json()) as Message
  if (WIRE === 'sse') {
    const { search } = new URL(request.url)
    void answer(message).then(found => found && streams.get(search)?.enqueue(encoder.encode(`data: ${found}\n\n`)))
    return new Response(null, { status: 202 })
  }
  const found = await answer(message)
  if (found === undefined) return new Response(null, { status: 202 })
  if (WIRE === 'json') return new Response(found, { headers: { 'content-type': 'application/json' } })
  return new Response(`data: ${found}\n\n`, { headers: HEAD })
}

if (WIRE === 'stdio') {
  createInterface({ input: process.stdin }).on('line', line => {
    void answer(JSON.parse(line) as Message).then(found => found && process.stdout.write(`${found}\n`))
  })
} else {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: http })
  console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
}
