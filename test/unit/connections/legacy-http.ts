import type { JsonObject } from '../../../core/contract/json.ts'
import type { TransportContribution } from '../../../core/contract/points.ts'
import { bothTransports } from './modern-http.ts'

const SSE = new URL('../../../plugins/transport-sse/transport.ts', import.meta.url).href

/** The transports of the hub that speak MCP. */
export function mcpTransports(): ReadonlyMap<string, TransportContribution> {
  return new Map([
    ...bothTransports(),
    ['sse', { label: 'sse', transport: 'sse' as const, configSchema: {}, module: SSE }],
  ])
}

export interface Incoming {
  readonly id?: number
  readonly method: string
  readonly params?: JsonObject
}

type Mode = 'well' | 'hangs' | number

/**
 * A raw server of the earlier era behind one origin: streamable HTTP with sessions at `/mcp`, the older pair at `/sse`, and
 * paths that report its health. It records messages, forgets its sessions on request, and fails as `health` and `ping` say.
 */
export class LegacyHttp implements AsyncDisposable {
  readonly seen: (Incoming & { readonly session: string })[] = []
  /** Requests for other paths than those of MCP. */
  readonly asked: { readonly path: string; readonly headers: Headers }[] = []
  health: Mode = 'well'
  ping: Mode = 'well'
  version = '2025-06-18'
  /** Answers a request before it is read, such as by a redirect. */
  refuse: ((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined
  /** The path to which clients of the older pair send messages. */
  endpoint = '/messages'
  /** False: `/mcp` is an address of the older pair, as `/sse` is. */
  streamable = true
  /** The answer to tools/call; undefined: no answer, for ever. */
  answer: (message: Incoming) => JsonObject | undefined = ({ params }) => ({
    content: [{ type: 'text', text: JSON.stringify(params?.arguments ?? {}) }],
  })
  /** The same for resources/read. */
  reads: (message: Incoming) => JsonObject | undefined = () => ({ contents: [] })
  readonly #sessions = new Set<string>()
  /** The open streams, by session: of the older pair, and of GETs. */
  readonly #streams = new Map<string, ReadableStreamDefaultController<Uint8Array>>()
  #server = this.#listen(0)

  get port(): number {
    return this.#server.port ?? 0
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  of(method: string): typeof this.seen {
    return this.seen.filter(message => message.method === method)
  }

  /** Acts like a restart that keeps the port: sessions are unknown from now on. Streams stay open if `quietly`. */
  forget({ quietly = false } = {}): void {
    this.#sessions.clear()
    if (quietly) return
    for (const stream of this.#streams.values()) stream.close()
    this.#streams.clear()
  }

  /** Sends a message of the server outside of answers, on the stream of one session or of all. */
  tell(message: JsonObject, only?: string): void {
    for (const session of only === undefined ? this.#streams.keys() : [only]) {
      this.#push(session, { jsonrpc: '2.0', ...message })
    }
  }

  /** True when the session has a stream for messages outside of answers. */
  listens(session: string): boolean {
    return this.#streams.has(session)
  }

  /** Nobody listens any more. */
  async down(): Promise<void> {
    this.#streams.clear()
    // It stops listening first: a connection that came while the others are cut would be lost as well.
    void this.#server.stop()
    await this.#server.stop(true)
  }

  /** Listens again where it did. */
  up(port = this.port): void {
    this.#sessions.clear()
    this.#server = this.#listen(port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  #listen(port: number): Bun.Server<undefined> {
    return Bun.serve({ hostname: '127.0.0.1', port, idleTimeout: 0, fetch: request => this.#take(request) })
  }

  async #take(request: Request): Promise<Response> {
    const refused = await this.refuse?.(request)
    if (refused) return refused
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/mcp') return this.#streamable(request)
    if (pathname === '/sse') return this.#open(`sse-${crypto.randomUUID()}`, true)
    if (pathname === '/messages') return this.#message(request, searchParams.get('session') ?? '')
    this.asked.push({ path: pathname, headers: request.headers })
    return await this.#state(this.health, () => new Response('well'))
  }

  async #streamable(request: Request): Promise<Response> {
    if (!this.streamable) {
      const opens = request.method === 'GET'
      return opens ? this.#open(`sse-${crypto.randomUUID()}`, true) : new Response(null, { status: 405 })
    }
    const known = request.headers.get('mcp-session-id') ?? ''
    if (request.method === 'DELETE') return new Response(null, { status: 204 })
    if (request.method === 'GET') {
      return this.#sessions.has(known) ? this.#open(known, false) : new Response(null, { status: 404 })
    }
    const message = (await request.json()) as Incoming
    if (message.method === 'server/discover') return new Response('no such thing', { status: 400 })
    const session = message.method === 'initialize' ? crypto.randomUUID() : known
    if (message.method === 'initialize') this.#sessions.add(session)
    if (!this.#sessions.has(session)) return new Response('who are you?', { status: 404 })
    this.seen.push({ ...message, session })
    if (message.id === undefined) return new Response(null, { status: 202 })
    const answer = await this.#answer(message)
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session }
    return answer instanceof Response ? answer : new Response(JSON.stringify(answer), { headers })
  }

  #open(session: string, named: boolean): Response {
    if (named) this.#sessions.add(session)
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this.#streams.set(session, controller)
        const first = named ? `event: endpoint\ndata: ${this.endpoint}?session=${session}\n\n` : ': open\n\n'
        controller.enqueue(new TextEncoder().encode(first))
      },
      cancel: () => void this.#streams.delete(session),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  async #message(request: Request, session: string): Promise<Response> {
    const message = (await request.json()) as Incoming
    if (!this.#sessions.has(session)) return new Response('who are you?', { status: 404 })
    this.seen.push({ ...message, session })
    if (message.id !== undefined) {
      void this.#answer(message).then(answer => {
        if (!(answer instanceof Response)) this.#push(session, answer)
      })
    }
    return new Response('accepted', { status: 202 })
  }

  #push(session: string, message: JsonObject): void {
    this.#streams
      .get(session)
      ?.enqueue(new TextEncoder().encode(`event: message\ndata: ${JSON.stringify(message)}\n\n`))
  }

  async #answer(message: Incoming): Promise<JsonObject | Response> {
    const { id = 0, method } = message
    const result = (value: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, result: value })
    switch (method) {
      case 'initialize':
        return result({
          protocolVersion: this.version,
          capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
          serverInfo: { name: 'raw', version: '1' },
        })
      case 'tools/list':
        return result({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] })
      case 'resources/list':
        return result({ resources: [{ uri: 'test://one', name: 'one' }] })
      case 'resources/templates/list':
        return result({ resourceTemplates: [] })
      case 'ping':
        return await this.#state(this.ping, () => result({}))
      case 'tools/call':
      case 'resources/read': {
        const answer = method === 'tools/call' ? this.answer(message) : this.reads(message)
        return answer === undefined ? await new Promise<Response>(() => undefined) : result(answer)
      }
      default:
        return result({})
    }
  }

  async #state<T>(mode: Mode, well: () => T): Promise<T | Response> {
    if (mode === 'hangs') return await new Promise<Response>(() => undefined)
    return mode === 'well' ? well() : new Response('ill', { status: mode })
  }
}
