/**
 * An MCP server of the official package over WebSocket (subprotocol `mcp`), one session for each connection. With
 * `TOKEN` it wants `Authorization: Bearer TOKEN`. Prints `listening on URL`.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js'
import type { ServerWebSocket } from 'bun'
import { z } from 'zod'

const { TOKEN } = process.env

interface Session {
  transport?: Transport
}

function build(): McpServer {
  const server = new McpServer({ name: 'websocket', version: '1.0.0' })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text: `ws: ${text}` }],
  }))
  server.registerTool('long', { inputSchema: { bytes: z.number() } }, ({ bytes }) => ({
    content: [{ type: 'text', text: 'x'.repeat(bytes) }],
  }))
  server.registerTool('hang-up', {}, () => process.exit(0))
  return server
}

/** The official package has no server side for WebSocket; this is its interface. */
function transportOf(socket: ServerWebSocket<Session>): Transport {
  return {
    async start() {},
    async send(message) {
      socket.send(JSON.stringify(message))
    },
    async close() {
      socket.close(1000)
    },
  }
}

const server = Bun.serve<Session>({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, serving) {
    if (TOKEN !== undefined && request.headers.get('authorization') !== `Bearer ${TOKEN}`)
      return new Response('no', { status: 401 })
    if (!request.headers.get('sec-websocket-protocol')?.includes('mcp')) return new Response('no', { status: 400 })
    const upgraded = serving.upgrade(request, { data: {}, headers: { 'sec-websocket-protocol': 'mcp' } })
    return upgraded ? undefined : new Response('no', { status: 400 })
  },
  websocket: {
    async open(socket) {
      const transport = transportOf(socket)
      socket.data.transport = transport
      await build().connect(transport)
    },
    message(socket, data) {
      socket.data.transport?.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(String(data))))
    },
    close(socket) {
      socket.data.transport?.onclose?.()
    },
  },
})
console.log(`listening on ws://127.0.0.1:${server.port}/mcp`)
