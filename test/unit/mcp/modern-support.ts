import type { JsonObject } from '../../../core/contract/json.ts'
import { type Answer, HEADERS, SseReader } from '../../support/raw-mcp.ts'
import { notingFetch } from '../../support/seen-codes.ts'
import type { Hub } from './support.ts'

export const VERSION = '2026-07-28'
export const META = 'io.modelcontextprotocol/'
export const ALL_CAPABILITIES: JsonObject = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }

export interface Sent {
  readonly id?: unknown
  readonly capabilities?: JsonObject
  /** Further members of `_meta`. */
  readonly meta?: JsonObject
  /** Replaces headers; `null` leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>
  readonly signal?: AbortSignal
}

/** A client of 2026-07-28 made of fetch alone, so that every header and byte is the test's own. */
export class RawModern {
  readonly #url: string
  readonly #token: string
  #id = 0

  constructor(hub: Pick<Hub, 'url'>, path: string, token = 'alice') {
    this.#url = `${hub.url}${path}`
    this.#token = token
  }

  envelope(capabilities: JsonObject = {}, meta: JsonObject = {}): JsonObject {
    return {
      [`${META}protocolVersion`]: VERSION,
      [`${META}clientInfo`]: { name: 'raw', version: '1' },
      [`${META}clientCapabilities`]: capabilities,
      ...meta,
    }
  }

  /** Sends one request with correct envelope and headers, except for the changes in `sent`. */
  send(method: string, params: JsonObject = {}, sent: Sent = {}): Promise<Response> {
    this.#id += 1
    const _meta = this.envelope(sent.capabilities, sent.meta)
    return this.post({ jsonrpc: '2.0', id: sent.id ?? this.#id, method, params: { ...params, _meta } }, sent)
  }

  post(body: unknown, { headers = {}, signal }: Sent = {}): Promise<Response> {
    const all: Record<string, string | null> = {
      ...HEADERS,
      authorization: `Bearer ${this.#token}`,
      'mcp-protocol-version': VERSION,
      ...mirrored(body),
      ...headers,
    }
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return notingFetch(this.#url, { method: 'POST', headers: given, body: text, ...(signal ? { signal } : {}) })
  }

  /** The answer, whether it came as JSON or at the end of a stream. */
  async call(method: string, params: JsonObject = {}, sent: Sent = {}): Promise<Answer & { readonly status: number }> {
    return read(await this.send(method, params, sent))
  }
}

export async function read(response: Response): Promise<Answer & { readonly status: number }> {
  const { status } = response
  if (response.headers.get('content-type') !== 'text/event-stream')
    return { status, ...((await response.json()) as Answer) }
  const reader = new SseReader(response)
  for (;;) {
    const message = await reader.message()
    if (!message) throw new Error('the stream ended without an answer')
    if (message.method === undefined) return { status, ...message }
  }
}

const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

function mirrored(body: unknown): Record<string, string> {
  if (typeof body !== 'object' || body === null) return {}
  const { method, params } = body as { method?: unknown; params?: Record<string, unknown> }
  if (typeof method !== 'string') return {}
  const name = params?.[NAMED[method] ?? '']
  const named = typeof name === 'string'
  return { 'mcp-method': method, ...(named ? { 'mcp-name': name } : {}) }
}
