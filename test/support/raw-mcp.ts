import type { JsonObject } from '../../core/contract/json.ts'
import { noteCodes, notingFetch } from './seen-codes.ts'

export const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A legacy client made only of fetch, so that the test controls every header and byte. */
export class RawClient {
  readonly #url: string
  readonly headers: Record<string, string>
  sessionId = ''
  #id = 0

  constructor(hub: { readonly url: string }, path: string, token = 'alice') {
    this.#url = `${hub.url}${path}`
    this.headers = { ...HEADERS, authorization: `Bearer ${token}` }
  }

  async open(version = '2025-11-25', capabilities: JsonObject = {}): Promise<this> {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'raw', version: '1' } }
    const response = await this.post({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
    if (response.status !== 200) throw new Error(`initialize: ${response.status} ${await response.text()}`)
    this.sessionId = response.headers.get('mcp-session-id') ?? ''
    this.headers['mcp-session-id'] = this.sessionId
    this.headers['mcp-protocol-version'] = version
    await response.text()
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return this
  }

  post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return notingFetch(this.#url, { method: 'POST', headers: { ...this.headers, ...headers }, body: text })
  }

  send(method: string, params?: unknown, id: unknown = ++this.#id): Promise<Response> {
    return this.post({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) })
  }

  /** The whole answer to a request, if it is JSON. */
  async call(method: string, params?: unknown): Promise<Answer> {
    const response = await this.send(method, params)
    return (await response.json()) as Answer
  }

  get(headers: Record<string, string> = {}): Promise<Response> {
    return notingFetch(this.#url, { headers: { ...this.headers, accept: 'text/event-stream', ...headers } })
  }

  delete(): Promise<Response> {
    return notingFetch(this.#url, { method: 'DELETE', headers: this.headers })
  }
}

export interface Answer {
  readonly jsonrpc: string
  readonly id?: unknown
  // biome-ignore lint/suspicious/noExplicitAny: results of many shapes, which each test checks by expect
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject }
  readonly method?: string
  readonly params?: JsonObject
}

export interface SseEvent {
  readonly id?: string
  readonly data?: string
  readonly comment?: string
}

/** Reads server-sent events one by one. */
export class SseReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''

  constructor(response: Response) {
    if (!response.body) throw new Error(`no body: ${response.status}`)
    this.#reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  }

  /** The next event of any kind; undefined at the end. */
  async next(): Promise<SseEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end >= 0) {
        const block = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        noteCodes(block)
        return parseEvent(block)
      }
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  /** The next JSON-RPC message, comments and priming events left out. */
  async message(): Promise<Answer | undefined> {
    const event = await this.event()
    return event?.data ? (JSON.parse(event.data) as Answer) : undefined
  }

  async event(): Promise<SseEvent | undefined> {
    for (;;) {
      const event = await this.next()
      if (!event || event.data) return event
    }
  }

  close(): Promise<void> {
    return this.#reader.cancel()
  }
}

function parseEvent(block: string): SseEvent {
  const event: { id?: string; data?: string; comment?: string } = {}
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) event.comment = line.slice(1).trim()
    else if (line.startsWith('id: ')) event.id = line.slice(4)
    else if (line.startsWith('data: ')) event.data = line.slice(6)
  }
  return event
}
