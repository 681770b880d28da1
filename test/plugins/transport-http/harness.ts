import { createGuardedFetch } from '../../../core/outbound/create.ts'
import type { MessageLink, MessageTransportDefinition } from '../../../core/transport-kit/definition.ts'
import type { WireError } from '../../../core/transport-kit/wire-error.ts'
import transport from '../../../plugins/transport-http/transport.ts'
import { until } from '../../unit/outbound/raw-server.ts'

export interface Heard {
  readonly id: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

/** A link and everything that it reported to the hub's side of MCP. */
export interface OpenLink extends AsyncDisposable {
  readonly link: MessageLink
  readonly messages: { readonly message: Heard; readonly text: string; readonly related: number | undefined }[]
  readonly failures: { readonly id: number; readonly reason: WireError; readonly notSent: boolean }[]
  readonly closed: WireError[]
  readonly logs: string[]
  readonly abort: AbortController
  /** Sends a request and waits for the answer under its id; throws the reason when it fails. */
  request(id: number, method: string, params?: unknown): Promise<Heard>
  notify(method: string, params?: unknown): void
  /** The whole handshake. Default: without capabilities. */
  initialize(capabilities?: object): Promise<Heard>
}

export async function openLink(
  url: string,
  headers?: Record<string, string>,
  definition: MessageTransportDefinition = transport,
): Promise<OpenLink> {
  const abort = new AbortController()
  const messages: OpenLink['messages'] = []
  const failures: OpenLink['failures'] = []
  const closed: WireError[] = []
  const logs: string[] = []
  const fetch = createGuardedFetch({
    rights: { networks: [], admin: true },
    instanceId: 'hub-1',
    signal: abort.signal,
  })
  const link = await definition.open(headers ? { url, headers } : { url }, {
    signal: abort.signal,
    maxResultBytes: 10 * 1024 * 1024,
    tooLong: ({ answers }) => logs.push(`too long: ${answers}`),
    fetch,
    connect: () => Promise.reject(new Error('no WebSocket here')),
    message: (text, related) => messages.push({ message: JSON.parse(text) as Heard, text, related }),
    closed: reason => closed.push(reason),
    // The hub closes the link after the last call in flight; for these tests the loss is the end.
    lost: reason => closed.push(reason),
    failed: (id, reason, options) => failures.push({ id, reason, notSent: options?.notSent === true }),
    log: (level, message) => logs.push(`${level} ${message}`),
  })
  const request = async (id: number, method: string, params?: unknown): Promise<Heard> => {
    link.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }), id)
    const answer = () => messages.find(({ message }) => message.id === id && message.method === undefined)
    const failed = () => failures.find(failure => failure.id === id)
    await until(() => answer() !== undefined || failed() !== undefined || closed.length > 0, `the answer to ${method}`)
    const message = answer()?.message
    if (message) return message
    throw failed()?.reason ?? closed[0]
  }
  const notify = (method: string, params?: unknown): void => {
    link.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }
  return {
    link,
    messages,
    failures,
    closed,
    logs,
    abort,
    request,
    notify,
    async initialize(capabilities = {}) {
      const protocolVersion = '2025-11-25'
      const clientInfo = { name: 'test', version: '1' }
      const answer = await request(1, 'initialize', { protocolVersion, capabilities, clientInfo })
      link.settled?.(String(answer.result?.protocolVersion))
      notify('notifications/initialized')
      return answer
    },
    async [Symbol.asyncDispose]() {
      await link.close()
      abort.abort()
    },
  }
}
