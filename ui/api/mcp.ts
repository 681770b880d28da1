import { createParser } from 'eventsource-parser'
import { problemOf, send } from './client.ts'
import { ApiError } from './problem.ts'

/** The newest version of MCP with sessions. */
const VERSION = '2025-11-25'

/** An error that a server answered instead of a result. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Handlers of an MCP client for messages that arrive while its requests run. */
export interface McpHandlers {
  /** Answers a request of the server with a result. If it rejects, the server gets an error. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown>
  notification(method: string, params: Readonly<Record<string, unknown>>): void
}

/** Options of {@link McpSession.request}: abort signal and progress. */
export interface McpRequestOptions {
  readonly signal?: AbortSignal
  /** Called with the hub's id of the request as soon as it is known. */
  readonly started?: (requestId: string | undefined) => void
}

/**
 * A session of the hub's MCP endpoint for one server or group, like that of any client. The REST API cannot answer requests of a server,
 * receive its notifications, or use prompts and resources. It uses the sign-in of this tab.
 */
export class McpSession {
  readonly #path: string
  readonly #handlers: McpHandlers
  readonly #listening = new AbortController()
  #id: string | undefined
  #next = 1

  /** `owner` and `name` of the server or group. */
  constructor(owner: string, name: string, handlers: McpHandlers) {
    this.#path = `/mcp/@${encodeURIComponent(owner)}/${encodeURIComponent(name)}`
    this.#handlers = handlers
  }

  /** Throws ApiError, such as `group_not_found` or `hub_unreachable`. */
  async open(): Promise<void> {
    const params = {
      protocolVersion: VERSION,
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {} },
      clientInfo: { name: 'Patchbay console', version: '1' },
    }
    await this.request('initialize', params)
    await this.#post({ method: 'notifications/initialized' })
    void this.#listen().catch(() => {})
  }

  /** Ends the session; a server that ran for it alone ends with it. */
  close(): void {
    this.#listening.abort()
    if (this.#id !== undefined) void send('DELETE', this.#path, { headers: this.#headers() }).catch(() => {})
    this.#id = undefined
  }

  /** Result of a request. Throws RpcError for the server's own errors, ApiError for the hub's, AbortError when cancelled. */
  async request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { signal, started }: McpRequestOptions = {},
  ): Promise<unknown> {
    const id = this.#next++
    const cancel = (): void =>
      void this.#post({ method: 'notifications/cancelled', params: { requestId: id } }).catch(() => {})
    signal?.addEventListener('abort', cancel, { once: true })
    try {
      const response = await this.#post({ id, method, params }, signal)
      this.#id ??= response.headers.get('mcp-session-id') ?? undefined
      started?.(response.headers.get('x-request-id') ?? undefined)
      for await (const message of messagesOf(response)) {
        if (message.id !== id || message.method !== undefined) this.#receive(message)
        else if (message.error) throw failure(message.error, response)
        else return message.result
      }
      throw new ApiError(502, { code: 'connection_lost', detail: 'The connection ended before the answer came' })
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Messages that belong to no request arrive on a separate stream. */
  async #listen(): Promise<void> {
    const headers = { ...this.#headers(), accept: 'text/event-stream' }
    const response = await send('GET', this.#path, { headers, signal: this.#listening.signal })
    if (response.ok) for await (const message of messagesOf(response)) this.#receive(message)
  }

  #receive({ id, method, params = {} }: Message): void {
    if (method === undefined) return
    if (id === undefined) return this.#handlers.notification(method, params)
    const answer = method === 'ping' ? Promise.resolve({}) : this.#handlers.request(method, params)
    void answer
      .then(
        result => this.#post({ id, result }),
        error =>
          this.#post({ id, error: { code: -32601, message: error instanceof Error ? error.message : String(error) } }),
      )
      .catch(() => {})
  }

  #headers(): Record<string, string> {
    return this.#id === undefined ? {} : { 'mcp-session-id': this.#id, 'mcp-protocol-version': VERSION }
  }

  async #post(message: Message, signal?: AbortSignal): Promise<Response> {
    const headers = { ...this.#headers(), accept: 'application/json, text/event-stream' }
    const response = await send('POST', this.#path, { body: { jsonrpc: '2.0', ...message }, headers, signal })
    if (response.ok) return response
    const body = (await response
      .clone()
      .json()
      .catch(() => ({}))) as Message
    if (body.error) throw failure(body.error, response)
    throw await problemOf(response)
  }
}

/** The hub's own errors have a stable code in their data; all others are the server's. */
function failure(error: NonNullable<Message['error']>, response: Response): Error {
  const data = error.data as { readonly code?: unknown; readonly hint?: unknown } | undefined
  if (typeof data?.code !== 'string') return new RpcError(error)
  const requestId = response.headers.get('x-request-id')
  return new ApiError(response.status, { ...data, detail: error.message, ...(requestId ? { requestId } : {}) })
}

async function* messagesOf(response: Response): AsyncGenerator<Message> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    if (text !== '') yield JSON.parse(text) as Message
    return
  }
  for await (const { data } of eventsOf(response)) if (data !== '') yield JSON.parse(data) as Message
}

/** One event of a stream. */
export interface StreamEvent {
  readonly event: string
  readonly data: string
}

/** Events of a response as they arrive. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  const reader = response.body?.getReader()
  if (!reader) return
  const ready: StreamEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => ready.push({ event: event ?? 'message', data }) })
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(decoder.decode(value, { stream: true }))
      yield* ready.splice(0)
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
