import type { EventStore, JSONRPCMessage, McpServer } from '@modelcontextprotocol/server'
import { isInitializeRequest, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

interface Session {
  readonly server: McpServer
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly subscriptions: Set<string>
}

/** Events of all streams of one session, kept for a client that reconnects with `Last-Event-ID`. */
class MemoryEvents implements EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: JSONRPCMessage }[] = []

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const id = `${stream}_${this.#events.length + 1}`
    this.#events.push({ id, stream, message })
    return id
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find(event => event.id === id)?.stream
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const from = this.#events.findIndex(event => event.id === lastEventId)
    const stream = this.#events[from]?.stream
    if (stream === undefined) throw new Error(`Unknown event "${lastEventId}"`)
    for (const event of this.#events.slice(from + 1)) {
      // A priming event has no message of its own.
      if (event.stream === stream && 'jsonrpc' in event.message) await send(event.id, event.message)
    }
    return stream
  }
}

/** Streamable HTTP with sessions, as the protocol versions up to 2025-11-25 have it: one server object per session. */
export class LegacySessions {
  readonly #sessions = new Map<string, Session>()
  readonly #build: () => McpServer
  readonly #takeSubscriptions: (server: McpServer) => Set<string>

  /** `takeSubscriptions` answers the requests of subscribers, and returns the subscribed resources. */
  constructor(build: () => McpServer, takeSubscriptions = subscriptionsOf) {
    this.#build = build
    this.#takeSubscriptions = takeSubscriptions
  }

  async fetch(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id !== null) {
      const session = this.#sessions.get(id)
      if (!session) return refuse(404, -32001, 'Session not found')
      return session.transport.handleRequest(request)
    }
    if (request.method !== 'POST') return refuse(400, -32000, 'Bad Request: Mcp-Session-Id header is required')
    const body: unknown = await request
      .clone()
      .json()
      .catch(() => undefined)
    if (body === undefined) return refuse(400, -32700, 'Parse error')
    if (!isInitializeRequest(body)) return refuse(400, -32000, 'Bad Request: Mcp-Session-Id header is required')
    return this.#open(request)
  }

  /** Returns the number of notified sessions. */
  async resourceUpdated(uri: string): Promise<number> {
    const interested = [...this.#sessions.values()].filter(session => session.subscriptions.has(uri))
    for (const session of interested) await session.server.server.sendResourceUpdated({ uri })
    return interested.length
  }

  async #open(request: Request): Promise<Response> {
    const server = this.#build()
    const subscriptions = this.#takeSubscriptions(server)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      eventStore: new MemoryEvents(),
      retryInterval: 100,
      onsessioninitialized: id => {
        this.#sessions.set(id, { server, transport, subscriptions })
      },
      onsessionclosed: id => {
        this.#sessions.delete(id)
      },
    })
    await server.connect(transport)
    return transport.handleRequest(request)
  }
}

export function subscriptionsOf({ server }: McpServer): Set<string> {
  const subscriptions = new Set<string>()
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscriptions.add(params.uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscriptions.delete(params.uri)
    return {}
  })
  return subscriptions
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
