import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { ElicitResultSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

export interface SdkServer extends AsyncDisposable {
  readonly url: string
  /** Method, session header and status-relevant headers of each request, in the order of arrival. */
  readonly seen: { readonly method: string; readonly headers: IncomingMessage['headers'] }[]
  /** The sessions that exist. */
  readonly sessions: Map<string, { readonly server: McpServer; readonly transport: StreamableHTTPServerTransport }>
  /** Responses that are being written. */
  readonly streams: Set<ServerResponse>
}

export interface SdkServerOptions {
  readonly json?: boolean
  readonly stateless?: boolean
  readonly resumable?: boolean
  /** Milliseconds that the server asks clients to wait before taking a stream up again. */
  readonly retryMs?: number
  /** Status for a session that is not known: 404 as the specification wants it (default), or 400 as many servers do. */
  readonly unknownSession?: 404 | 400
  /** Milliseconds until a GET is handled: requests travel on connections of their own and may overtake each other. */
  readonly lateStreamMs?: number
}

/** An MCP server as most are written: the SDK's transport with a session per client. */
export async function sdkServer(options: SdkServerOptions = {}): Promise<SdkServer> {
  const seen: SdkServer['seen'] = []
  const sessions: SdkServer['sessions'] = new Map()
  const streams = new Set<ServerResponse>()

  const connect = async (): Promise<StreamableHTTPServerTransport> => {
    const server = makeServer()
    const transport = new StreamableHTTPServerTransport({
      ...(options.stateless ? {} : { sessionIdGenerator: () => randomUUID() }),
      enableJsonResponse: options.json ?? false,
      ...(options.resumable ? { eventStore: memoryStore() } : {}),
      ...(options.retryMs === undefined ? {} : { retryInterval: options.retryMs }),
      onsessioninitialized: id => {
        sessions.set(id, { server, transport })
      },
      onsessionclosed: id => {
        sessions.delete(id)
      },
    })
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<McpServer['connect']>[0])
    return transport
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push({ method: request.method ?? '', headers: request.headers })
    streams.add(response)
    response.on('close', () => streams.delete(response))
    if (request.method === 'GET' && options.lateStreamMs) await Bun.sleep(options.lateStreamMs)
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (id !== undefined && !known) {
      const status = options.unknownSession ?? 404
      const error =
        status === 404 ? [-32001, 'Session not found'] : [-32000, 'Bad Request: No valid session ID provided']
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: error[0], message: error[1] }, id: null }))
      return
    }
    await (known?.transport ?? (await connect())).handleRequest(request, response)
  }
  const http = createServer((request, response) => void handle(request, response))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    seen,
    sessions,
    streams,
    async [Symbol.asyncDispose]() {
      for (const { transport } of sessions.values()) await transport.close()
      http.closeAllConnections()
      await new Promise<void>(resolve => http.close(() => resolve()))
    },
  }
}

function makeServer(): McpServer {
  const server = new McpServer({ name: 'fixture', version: '1' }, { capabilities: { logging: {}, tools: {} } })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  server.registerTool('steps', { inputSchema: { count: z.number() } }, async ({ count }, extra) => {
    for (let progress = 1; progress <= count; progress++) {
      const progressToken = extra._meta?.progressToken ?? 0
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress } })
    }
    return { content: [{ type: 'text', text: 'done' }] }
  })
  server.registerTool('cut', { inputSchema: {} }, async (_args, extra) => {
    await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'before' } })
    // The connection closes, and the call continues.
    extra.closeSSEStream?.()
    await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'meanwhile' } })
    return { content: [{ type: 'text', text: 'after' }] }
  })
  server.registerTool('ask', { inputSchema: {} }, async () => {
    // The request is sent outside of the call's stream, as by servers that do not know which call they ask for.
    const { roots } = await server.server.listRoots()
    return { content: [{ type: 'text', text: roots.map(({ uri }) => uri).join() }] }
  })
  server.registerTool('elicit', { inputSchema: {} }, async (_args, extra) => {
    const requestedSchema = { type: 'object' as const, properties: { email: { type: 'string' as const } } }
    const params = { message: 'Who?', requestedSchema }
    const answer = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema)
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
  })
  server.registerTool('never', { inputSchema: {} }, (_args, extra) => {
    return new Promise(resolve => extra.signal.addEventListener('abort', () => resolve({ content: [] })))
  })
  return server
}

/** Keeps every event, so that a stream can be taken up again. */
function memoryStore(): EventStore {
  const events: { id: string; stream: string; message: JSONRPCMessage }[] = []
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${events.length}`
      events.push({ id, stream, message })
      return id
    },
    async replayEventsAfter(lastId, { send }) {
      const index = events.findIndex(event => event.id === lastId)
      const stream = events[index]?.stream ?? ''
      for (const event of events.slice(index + 1)) {
        // A priming event is stored without a message.
        if (event.stream === stream && 'jsonrpc' in event.message) await send(event.id, event.message)
      }
      return stream
    },
  }
}
