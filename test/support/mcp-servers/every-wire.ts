/**
 * One server of the official package on every wire: `WIRE` (stdio, http, sse) and `ERA` (legacy, modern; SSE is always legacy).
 * `VERSION` is the only one that a legacy server supports, whatever `initialize` requests. Prints `listening on URL` unless it
 * uses stdio.
 */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { createMcpHandler, createRequestStateCodec, McpServer, type Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type RoundState, registerAskingTools } from './reference/asking.ts'
import { registerDocuments } from './reference/documents.ts'
import { LegacySessions } from './reference/legacy-sessions.ts'
import { Watched } from './reference/watched.ts'

const { WIRE = 'stdio', ERA = 'legacy', NAME = 'every-wire', VERSION } = process.env
const codec = createRequestStateCodec<RoundState>({ key: randomBytes(32) })

function build(watched: Watched): McpServer {
  const listChanged = { listChanged: true }
  const server = new McpServer(
    { name: NAME, version: '1.0.0' },
    {
      capabilities: {
        tools: listChanged,
        prompts: listChanged,
        resources: { ...listChanged, subscribe: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: codec.verify },
      ...(VERSION === undefined ? {} : { supportedProtocolVersions: [VERSION] }),
    },
  )
  watched.register(server)
  registerAskingTools(server, codec)
  registerDocuments(server)
  return server
}

function serveHttp(answer: (request: Request) => Promise<Response>): void {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request, serving) {
      // Streams stay silent for longer than Bun's default limit of 10 s.
      serving.timeout(request, 0)
      return answer(request)
    },
  })
  console.log(`listening on http://127.0.0.1:${server.port}/mcp`)
}

function serveSse(): void {
  const watched = new Watched()
  const transports = new Map<string, SSEServerTransport>()
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (request.method === 'GET' && url.pathname === '/sse') {
      const transport = new SSEServerTransport('/messages', response)
      transports.set(transport.sessionId, transport)
      response.on('close', () => transports.delete(transport.sessionId))
      const server = build(watched)
      watched.serve(server)
      // The class is from the older package, whose interface differs from the newer one's only in optional members.
      void server.connect(transport as unknown as Transport)
      return
    }
    const transport = url.pathname === '/messages' ? transports.get(url.searchParams.get('sessionId') ?? '') : undefined
    if (transport) void transport.handlePostMessage(request, response)
    else response.writeHead(404).end('Not found')
  })
  http.listen(0, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`)
  })
}

if (WIRE === 'sse') {
  serveSse()
} else if (WIRE === 'http' && ERA === 'modern') {
  const watched = new Watched({
    lists: () => {
      handler.notify.toolsChanged()
      handler.notify.promptsChanged()
      handler.notify.resourcesChanged()
    },
    updated: uri => handler.notify.resourceUpdated(uri),
  })
  const handler = createMcpHandler(() => build(watched), { legacy: 'reject' })
  serveHttp(request => handler.fetch(request))
} else if (WIRE === 'http') {
  const watched = new Watched()
  const sessions = new LegacySessions(
    () => build(watched),
    server => watched.serve(server),
  )
  serveHttp(request => sessions.fetch(request))
} else {
  const watched = new Watched()
  const server = build(watched)
  if (ERA === 'modern') {
    serveStdio(
      () => {
        watched.serveListeners(server)
        return server
      },
      { legacy: 'reject' },
    )
  } else {
    watched.serve(server)
    await server.connect(new StdioServerTransport())
  }
}
