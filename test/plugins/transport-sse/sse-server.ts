import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface SseServerOptions {
  /** The data of the `endpoint` event for the session with this number. Default: a path of this server. */
  readonly endpoint?: (session: number, origin: string) => string
  /** Events carry ids, and a GET with one continues the session of the last number. */
  readonly resumable?: boolean
  /** Answers a GET by itself; true: it did. */
  readonly get?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Answers a POST by itself; true: it did. */
  readonly post?: (message: { id?: number; method?: string }, response: ServerResponse, session: number) => boolean
}

export interface SseServer extends AsyncDisposable {
  readonly url: string
  readonly seen: Seen[]
  /** Open streams by the number of their session. */
  readonly streams: Map<number, ServerResponse>
  sessions: number
  send(session: number, message: unknown): void
}

/** A server of 2024-11-05 written by hand, so that each of its answers can be another one. */
export async function sseServer(options: SseServerOptions = {}): Promise<SseServer> {
  const seen: Seen[] = []
  const streams = new Map<number, ServerResponse>()
  let events = 0
  const origin = (): string => `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const endpointOf = (session: number): string =>
    options.endpoint?.(session, origin()) ?? `/messages?sessionId=${session}`

  const open = (request: IncomingMessage, response: ServerResponse): void => {
    if (options.get?.(request, response)) return
    const resumes = options.resumable && request.headers['last-event-id'] !== undefined
    if (!resumes) server.sessions += 1
    const session = server.sessions
    streams.set(session, response)
    response.on('close', () => {
      if (streams.get(session) === response) streams.delete(session)
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: endpoint\r\ndata: ${endpointOf(session)}\r\n\r\n`)
  }
  const take = (body: string, session: number, response: ServerResponse): void => {
    const message = JSON.parse(body) as { id?: number; method?: string; params?: { text?: string } }
    if (options.post?.(message, response, session)) return
    if (!streams.has(session)) {
      response.writeHead(404).end('Session not found')
      return
    }
    response.writeHead(202).end('Accepted')
    if (message.id === undefined) return
    const serverInfo = { name: 'old', version: '1' }
    const result =
      message.method === 'initialize'
        ? { protocolVersion: '2024-11-05', serverInfo, capabilities: { tools: {} } }
        : { tools: [], text: message.params?.text ?? '' }
    server.send(session, { jsonrpc: '2.0', id: message.id, result })
  }
  const http = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += String(chunk)
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body })
      if (method === 'GET') open(request, response)
      else take(body, Number(/sessionId=(\d+)/.exec(url)?.[1]), response)
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const server: SseServer = {
    url: `${origin()}/sse`,
    seen,
    streams,
    sessions: 0,
    send(session, message) {
      events += 1
      const id = options.resumable ? `id: ${events}\nretry: 5\n` : ''
      streams.get(session)?.write(`${id}event: message\ndata: ${JSON.stringify(message)}\n\n`)
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise<void>(resolve => http.close(() => resolve()))
    },
  }
  return server
}
