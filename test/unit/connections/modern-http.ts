import type { JsonObject } from '../../../core/contract/json.ts'
import type { TransportContribution } from '../../../core/contract/points.ts'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { stdioTransport } from '../../../plugins/transport-stdio/plugin.ts'
import { serverRecord } from './support.ts'

const TRANSPORT = new URL('../../../plugins/transport-http/transport.ts', import.meta.url).href
const KEY = 'io.modelcontextprotocol/'

/** The transports of the hub that need no other plugin. */
export function bothTransports(): ReadonlyMap<string, TransportContribution> {
  const http: TransportContribution = {
    label: 'http',
    transport: 'streamable-http',
    modern: true,
    configSchema: {},
    module: TRANSPORT,
  }
  return new Map([
    ['stdio', stdioTransport],
    ['streamable-http', http],
  ])
}

export function httpRecord(id: string, url: string, change: Partial<ServerRecord> = {}): ServerRecord {
  return serverRecord(id, { transport: 'streamable-http', config: { url }, ...change })
}

export interface Message {
  readonly id?: number
  readonly method: string
  readonly params: JsonObject & { readonly _meta: JsonObject }
}

export interface Seen extends Message {
  readonly headers: Headers
  /** True once the client has dropped the exchange. */
  dropped: boolean
}

/** A stream of `subscriptions/listen` that a client holds. */
export interface Listener {
  readonly id: number
  readonly filter: JsonObject
  open: boolean
  tell(method: string, params?: JsonObject): void
  /** Ends it as a server that stops does. */
  end(): void
}

export type Answer = JsonObject | Response | Promise<JsonObject | Response>

/** A raw server of 2026-07-28 over HTTP, which remembers what it saw. `answers` by method come before its own. */
export class ModernHttp implements AsyncDisposable {
  readonly seen: Seen[] = []
  readonly listeners: Listener[] = []
  readonly answers: Record<string, (message: Seen) => Answer> = {}
  tools: JsonObject[] = [{ name: 'echo', inputSchema: { type: 'object' } }]
  capabilities: JsonObject = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} }
  caching: JsonObject = { ttlMs: 1_000, cacheScope: 'public' }
  /** Answers a request before it is read; undefined: the usual answer. */
  refuse: ((request: Request) => Response | undefined | Promise<Response | undefined>) | undefined
  /** The part of a filter that it honours. */
  honours: (filter: JsonObject) => JsonObject = filter => filter
  readonly #server: Bun.Server<undefined>

  /** `port`: 0 for any that is free. */
  constructor(port = 0) {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port, fetch: request => this.#take(request) })
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/mcp`
  }

  of(method: string): Seen[] {
    return this.seen.filter(message => message.method === method)
  }

  get listening(): Listener[] {
    return this.listeners.filter(({ open }) => open)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }

  async #take(request: Request): Promise<Response> {
    this.#server.timeout(request, 0)
    const refused = await this.refuse?.(request.clone())
    if (refused) return refused
    if (request.method !== 'POST') return new Response('Method not allowed', { status: 405 })
    const message = (await request.json()) as Message
    const seen: Seen = { ...message, headers: request.headers, dropped: false }
    this.seen.push(seen)
    request.signal.addEventListener('abort', () => {
      seen.dropped = true
    })
    if (message.method === 'subscriptions/listen') return this.#listen(seen)
    const answer = (await this.answers[message.method]?.(seen)) ?? this.#answer(seen)
    return answer instanceof Response ? answer : reply(message.id, answer)
  }

  #answer({ method, params, id }: Seen): JsonObject | Response {
    if (method === 'server/discover') {
      return {
        supportedVersions: ['2026-07-28'],
        capabilities: this.capabilities,
        resultType: 'complete',
        ...this.caching,
        _meta: { [`${KEY}serverInfo`]: { name: 'raw', version: '1' } },
      }
    }
    if (method === 'tools/list') return { tools: this.tools, resultType: 'complete', ...this.caching }
    if (method.endsWith('/list')) {
      const kind = method === 'resources/templates/list' ? 'resourceTemplates' : (method.split('/')[0] ?? '')
      return { [kind]: [], resultType: 'complete', ...this.caching }
    }
    if (method === 'tools/call') {
      return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }], resultType: 'complete' }
    }
    return failure(id, -32601, 'no such method', 404)
  }

  #listen({ id = 0, params, ...seen }: Seen): Response {
    const encoder = new TextEncoder()
    const filter = params.notifications as JsonObject
    let controller: ReadableStreamDefaultController<Uint8Array>
    const write = (value: JsonObject): void => {
      controller.enqueue(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', ...value })}\n\n`))
    }
    const tag = { [`${KEY}subscriptionId`]: id }
    const listener: Listener = {
      id,
      filter,
      open: true,
      tell: (method, more = {}) => write({ method, params: { ...more, _meta: tag } }),
      end: () => {
        listener.open = false
        write({ id, result: { resultType: 'complete', _meta: tag } })
        controller.close()
      },
    }
    const body = new ReadableStream<Uint8Array>({
      start: made => {
        controller = made
        write({
          method: 'notifications/subscriptions/acknowledged',
          params: { notifications: this.honours(filter), _meta: tag },
        })
      },
      cancel: () => {
        listener.open = false
        seen.dropped = true
      },
    })
    this.listeners.push(listener)
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

export function reply(id: number | undefined, result: JsonObject): Response {
  return Response.json({ jsonrpc: '2.0', id: id ?? null, result })
}

export function failure(
  id: number | undefined,
  code: number,
  message: string,
  status = 400,
  data?: JsonObject,
): Response {
  return Response.json(
    { jsonrpc: '2.0', id: id ?? null, error: { code, message, ...(data ? { data } : {}) } },
    { status },
  )
}
