import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { atMost } from '../../support/pace.ts'

/** A server of raw bytes: it sends what the test gives it, whether that is HTTP or not. */
export interface RawServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Heads and bodies as they came, one entry a request that ended with its body. */
  readonly requests: string[]
  /** Connections so far, and those still open. */
  connections(): number
  open(): number
}

/** `answer` is called with the number of the request (from 0) and its connection, once the whole request is there. */
export async function rawServer(
  answer: (socket: Socket, index: number, request: string) => unknown,
  tls?: { key: string; cert: string },
): Promise<RawServer> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const accept = (socket: Socket): void => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let text = ''
    socket.on('data', bytes => {
      text += bytes.toString('latin1')
      for (let whole = wholeRequest(text); whole; whole = wholeRequest(text)) {
        text = text.slice(whole.length)
        requests.push(whole)
        void answer(socket, requests.length - 1, whole)
      }
    })
  }
  const server: Server = tls ? createTlsServer(tls, accept) : createServer(accept)
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${address.port}/mcp`,
    requests,
    connections: () => connections,
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

function wholeRequest(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const length = Number(/^content-length: (\d+)$/im.exec(text.slice(0, end))?.[1] ?? 0)
  return text.length >= end + 4 + length ? text.slice(0, end + 4 + length) : undefined
}

/** Waits until `condition` holds; fails after 20 s. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'the condition'): Promise<void> {
  const end = performance.now() + atMost(20_000)
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited 20 s for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
