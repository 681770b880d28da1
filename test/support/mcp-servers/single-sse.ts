/**
 * HTTP with SSE, built on the SDK as many published examples are: one server object for all streams. `server.connect` throws
 * at a second stream, and the process ends. With the argument `keyed` messages go to the transport of their session, as in
 * mcp-server-kubernetes; without it to the last one. With `asks` it has a tool that requests roots. Listens on `PORT`, or on a
 * free port. Prints `listening on URL`.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { z } from 'zod'

const isKeyed = process.argv.includes('keyed')
const server = new McpServer({ name: 'single-sse', version: '1' }, { capabilities: { tools: {} } })
const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: String(value) }] })
let connects = 0
let running = 0
server.registerTool('where', {}, () => text(process.pid))
server.registerTool('connects', {}, () => text(connects))
server.registerTool('running', {}, () => text(running))
server.registerTool('sleep', { inputSchema: { ms: z.number() } }, async ({ ms }) => {
  running += 1
  await new Promise(resolve => setTimeout(resolve, ms))
  running -= 1
  return text('slept')
})
if (process.argv.includes('asks')) {
  server.registerTool('roots', {}, async () => text((await server.server.listRoots()).roots[0]?.uri))
}

const transports: SSEServerTransport[] = []
const http = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  if (request.method === 'GET' && url.pathname === '/sse') {
    const transport = new SSEServerTransport('/messages', response)
    transports.push(transport)
    connects += 1
    server.connect(transport as Parameters<McpServer['connect']>[0]).catch(error => {
      console.error(error)
      process.exit(1)
    })
    return
  }
  const session = url.searchParams.get('sessionId')
  const transport = isKeyed ? transports.find(({ sessionId }) => sessionId === session) : transports.at(-1)
  if (transport && url.pathname === '/messages') void transport.handlePostMessage(request, response)
  else response.writeHead(404).end('Not found')
})
http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`)
})
