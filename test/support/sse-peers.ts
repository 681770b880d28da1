import { createServer } from 'node:net'
import { join } from 'node:path'
import { ROOT } from './hub.ts'
import { type Program, startProgram } from './program.ts'

const PRELOAD = join(ROOT, 'test/support/loopback.cjs')
const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const SUPERGATEWAY = join(ROOT, 'node_modules/supergateway/dist/index.js')

/** Independent servers that speak HTTP with SSE as of 2024-11-05. They take no port 0, so a free one is looked for. */
export interface Peer {
  readonly url: string
  readonly port: number
  readonly program: Program
}

export async function everythingOverSse(port?: number): Promise<Peer> {
  const chosen = port ?? (await freePort())
  const env = { PORT: String(chosen) }
  const program = await startProgram(EVERYTHING, {
    args: ['sse'],
    env,
    preload: PRELOAD,
    address: /running on port (\d+)/,
  })
  return { url: `http://localhost:${chosen}/sse`, port: chosen, program }
}

/** `command`: a server that speaks stdio. */
export async function supergateway(command: string): Promise<Peer> {
  const port = await freePort()
  const args = ['--stdio', command, '--outputTransport', 'sse', '--port', String(port)]
  const program = await startProgram(SUPERGATEWAY, {
    args,
    preload: PRELOAD,
    address: /Listening on port (\d+)/i,
    keepStdin: true,
  })
  return { url: `http://localhost:${port}/sse`, port, program }
}

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number }
    server.close(() => resolve(port))
  })
  return promise
}
