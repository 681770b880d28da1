import type { ClientOptions } from '@modelcontextprotocol/sdk/client/index.js'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { noteCodes, notingFetch } from './seen-codes.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; throws if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not so
  readonly json: any
}

export interface McpOptions extends ClientOptions {
  /** HTTP with SSE as of 2024-11-05, for paths such as `/sse/g`. Default: streamable HTTP. */
  readonly sse?: boolean
  /** The credential; default is an access key with scope `mcp`. */
  readonly credential?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Called before the client connects, for handlers of sampling, elicitation and roots. */
  readonly prepare?: (client: McpClient) => void
}

/** One person at the hub: REST by a session token, MCP by an access key. */
export class Client {
  readonly url: string
  readonly name: string
  readonly token: string
  /** True to repeat a request after a rate limit, when the response allows it: for tests of many quick requests. */
  patient = false
  readonly #opened: McpClient[] = []
  #key: Promise<string> | undefined

  constructor(url: string, name: string, token: string) {
    this.url = url
    this.name = name
    this.token = token
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const credential = this.token === '' ? {} : { authorization: `Bearer ${this.token}` }
    for (;;) {
      const answer = await send(this.url, method, path, body, { ...credential, ...headers })
      if (!this.patient || answer.status !== 429 || answer.json.code !== 'rate_limited') return answer
      await new Promise(resolve => setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after'))))
    }
  }

  /** The same, but any status outside 2xx throws with the body in the message. Returns the parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: see Answer.json
  async ok(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.request(method, path, body)
    if (answer.status < 200 || answer.status > 299) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
    }
    return answer.text === '' ? undefined : answer.json
  }

  /** An access key of this person with scope `mcp`; made once. */
  mcpKey(): Promise<string> {
    this.#key ??= this.ok('POST', '/api/keys', { label: 'test', scopes: ['mcp'] }).then(body => body.secret as string)
    return this.#key
  }

  /** A connected client of the official SDK on a path of the hub, such as `/mcp/g`. Closed by `close()` and by the hub's stop. */
  async mcp(path: string, options: McpOptions = {}): Promise<McpClient> {
    const { credential, headers, prepare, sse = false, ...rest } = options
    const client = new McpClient({ name: 'patchbay-test', version: '1.0.0' }, rest)
    prepare?.(client)
    const requestInit = { headers: { authorization: `Bearer ${credential ?? (await this.mcpKey())}`, ...headers } }
    const url = below(this.url, path)
    const transport = sse
      ? new SSEClientTransport(url, { requestInit, fetch: notingFetch })
      : new StreamableHTTPClientTransport(url, { requestInit, fetch: notingFetch })
    // The SDK's own class does not satisfy its interface under exactOptionalPropertyTypes.
    await client.connect(transport as Transport)
    this.#opened.push(client)
    return client
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#opened.splice(0).map(client => client.close()))
  }
}

/** One request without a credential of its own; without `body` none is sent, a string is sent unchanged. */
export async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(below(url, path), {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  noteCodes(text)
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}

/** A path below the hub's address, which may hold a base path. */
export function below(url: string, path: string): URL {
  return new URL(`${url.replace(/\/$/, '')}${path}`)
}
