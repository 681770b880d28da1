/**
 * A server of SDK 1 on every wire (`WIRE`: stdio, sse, http), one instance per connection, whose requests to the client name no call:
 * `ask` (after `delayMs`) answers with the client's answer, `later` answers first and sends a request afterwards (when `url` has answered), `answers` lists the answers to those, `slow`
 * answers after `ms`, `roots` lists the client's answers right after `initialized` and after each change of its roots, `shout`
 * sends a notification that is not MCP's own, `held` answers with its key once `url` has answered, `key` at once: the header
 * `x-key` of its connection, else the variable KEY. Prints `listening on URL` unless it uses stdio.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { RootsListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const { WIRE = 'stdio' } = process.env
type Transport = Parameters<McpServer['connect']>[0]

function build(key: unknown = process.env.KEY): McpServer {
  const mcp = new McpServer({ name: 'questions', version: '1' }, { capabilities: { logging: {} } })
  const { server } = mcp
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
  const answers: unknown[] = []
  const roots: unknown[] = []
  const ask = (kind: string, mark: string): Promise<unknown> => {
    if (kind === 'roots') return server.listRoots()
    const content = { type: 'text' as const, text: mark }
    if (kind === 'sampling') return server.createMessage({ messages: [{ role: 'user', content }], maxTokens: 10 })
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
    return server.elicitInput({ mode: 'form', message: mark, requestedSchema })
  }
  const readRoots = () => {
    if (server.getClientCapabilities()?.roots === undefined) return
    server.listRoots().then(
      list => roots.push(list.roots.map(({ uri }) => uri)),
      (error: unknown) => roots.push(String(error)),
    )
  }
  server.oninitialized = readRoots
  server.setNotificationHandler(RootsListChangedNotificationSchema, readRoots)
  const question = { kind: z.string(), mark: z.string().default(''), delayMs: z.number().default(0) }
  mcp.registerTool('ask', { inputSchema: question }, async ({ kind, mark, delayMs }) => {
    await new Promise(resolve => setTimeout(resolve, delayMs))
    return text(await ask(kind, mark).catch((error: unknown) => ({ refused: String(error) })))
  })
  mcp.registerTool('later', { inputSchema: { ...question, url: z.string().optional() } }, ({ kind, mark, url }) => {
    // By then the answer has passed the hub.
    const passed = url === undefined ? new Promise(resolve => setTimeout(resolve, 300)) : fetch(url)
    passed
      .then(() => ask(kind, mark))
      .then(
        answer => answers.push(answer),
        (error: unknown) => answers.push({ refused: String(error) }),
      )
    return text('soon')
  })
  mcp.registerTool('answers', {}, () => text(answers))
  mcp.registerTool('roots', {}, () => text(roots))
  mcp.registerTool('slow', { inputSchema: { ms: z.number() } }, async ({ ms }) => {
    await new Promise(resolve => setTimeout(resolve, ms))
    return text(ms)
  })
  mcp.registerTool('held', { inputSchema: { url: z.string() } }, async ({ url }) => {
    await fetch(url)
    return text(key)
  })
  mcp.registerTool('key', {}, () => text(key))
  mcp.registerTool('shout', { inputSchema: { word: z.string() } }, async ({ word }) => {
    await server.transport?.send({ jsonrpc: '2.0', method: 'vendor/shouted', params: { word } })
    return text('sent')
  })
  return mcp
}

const streams = new Map<string, SSEServerTransport>()
const sessions = new Map<string, StreamableHTTPServerTransport>()

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost')
  if (url.pathname === '/mcp') {
    const known = sessions.get(String(request.headers['mcp-session-id']))
    if (known) return known.handleRequest(request, response)
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => {
        sessions.set(id, transport)
      },
    })
    await build(request.headers['x-key']).connect(transport as Transport)
    return transport.handleRequest(request, response)
  }
  if (request.method === 'GET' && url.pathname === '/sse') {
    const transport = new SSEServerTransport('/messages', response)
    streams.set(transport.sessionId, transport)
    response.on('close', () => streams.delete(transport.sessionId))
    return build(request.headers['x-key']).connect(transport as Transport)
  }
  const stream = url.pathname === '/messages' ? streams.get(url.searchParams.get('sessionId') ?? '') : undefined
  if (stream) return stream.handlePostMessage(request, response)
  response.writeHead(404).end('Not found')
}

if (WIRE === 'stdio') await build().connect(new StdioServerTransport())
else {
  const http = createServer((request, response) => void serve(request, response))
  http.listen(0, '127.0.0.1', () => {
    const { port } = http.address() as AddressInfo
    console.log(`listening on http://127.0.0.1:${port}/${WIRE === 'sse' ? 'sse' : 'mcp'}`)
  })
}
