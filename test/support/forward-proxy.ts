import { createServer, type IncomingMessage, request as send } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** An HTTP proxy on 127.0.0.1, as companies have them. */
export interface ForwardProxy extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly authority: string
  /** Requests in order: `CONNECT host:port`, or the method with the whole URL. */
  readonly asked: string[]
}

/**
 * Starts a proxy that supports `CONNECT`, and whole URLs of http. Every name resolves to 127.0.0.1. `credentials`: the required
 * `user:password`, as Basic; other requests get 407.
 */
export async function startForwardProxy(credentials?: string): Promise<ForwardProxy> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const refuses = ({ headers }: IncomingMessage): boolean =>
    wanted !== undefined && headers['proxy-authorization'] !== wanted
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    if (refuses(incoming)) {
      outgoing.writeHead(407).end()
      return
    }
    const url = new URL(incoming.url ?? '')
    const { 'proxy-authorization': _, ...headers } = incoming.headers
    const to = { host: '127.0.0.1', port: url.port, method: incoming.method, path: url.pathname + url.search, headers }
    const upstream = send(to, answer => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    upstream.on('error', () => outgoing.writeHead(502).end())
    incoming.pipe(upstream)
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket) => {
    asked.push(`CONNECT ${incoming.url}`)
    if (refuses(incoming)) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const port = Number(/:(\d+)$/.exec(incoming.url ?? '')?.[1])
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client)
      client.pipe(upstream)
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy())
      socket.on('close', () => other.destroy())
    }
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    authority: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
