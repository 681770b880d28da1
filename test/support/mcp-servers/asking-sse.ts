/**
 * HTTP with SSE, built on the SDK: one server per stream, with tools that send requests to their client. Prints `listening on
 * URL`.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'

const transports = new Map<string, SSEServerTransport>()

function build(): McpServer {
  const server = new McpServer({ name: 'asking-sse', version: '1' }, { capabilities: { tools: {} } })
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
  server.registerTool('sample', {}, async () => {
    const content = { type: 'text' as const, text: 'hi' }
    return text(await server.server.createMessage({ messages: [{ role: 'user', content }], maxTokens: 10 }))
  })
  server.registerTool('elicit', {}, async () => {
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
    return text(await server.server.elicitInput({ mode: 'form', message: 'Who?', requestedSchema }))
  })
  server.registerTool('roots', {}, async () => text(await server.server.listRoots()))
  return server
}

const http = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  if (request.method === 'GET' && url.pathname === '/sse') {
    const transport = new SSEServerTransport('/messages', response)
    transports.set(transport.sessionId, transport)
    response.on('close', () => transports.delete(transport.sessionId))
    void build().connect(transport as Parameters<McpServer['connect']>[0])
    return
  }
  const transport = url.pathname === '/messages' ? transports.get(url.searchParams.get('sessionId') ?? '') : undefined
  if (transport) void transport.handlePostMessage(request, response)
  else response.writeHead(404).end('Not found')
})
http.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`)
})
