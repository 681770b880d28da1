import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { ROOT } from './hub.ts'
import { type Program, type ProgramOptions, startProgram } from './program.ts'

const PRELOAD = join(ROOT, 'test/support/loopback.cjs')
export const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const SUPERGATEWAY = join(ROOT, 'node_modules/supergateway/dist/index.js')
const MCP_PROXY = join(ROOT, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs')

/** Independent servers over HTTP. They do not support port 0, so a free one is chosen unless one is given. */
export interface Peer {
  readonly url: string
  readonly port: number
  readonly program: Program
}

/** server-everything over HTTP with SSE as of 2024-11-05. */
export function everythingOverSse(port?: number): Promise<Peer> {
  return start(EVERYTHING, '/sse', port, chosen => ({
    args: ['sse'],
    env: { PORT: String(chosen) },
    address: /running on port (\d+)/,
  }))
}

export function everythingOverHttp(port?: number): Promise<Peer> {
  return start(EVERYTHING, '/mcp', port, chosen => ({
    args: ['streamableHttp'],
    env: { PORT: String(chosen) },
    address: /listening on port (\d+)/,
  }))
}

/** HTTP with SSE as of 2024-11-05 in front of a stdio server, the `command`. */
export function supergateway(command: string, port?: number): Promise<Peer> {
  return start(SUPERGATEWAY, '/sse', port, chosen => ({
    args: ['--stdio', command, '--outputTransport', 'sse', '--port', String(chosen)],
    address: /Listening on port (\d+)/i,
    keepStdin: true,
  }))
}

/** Streamable HTTP of both eras (`--no-modern`: only of the older) in front of a stdio server, the `command`. */
export function mcpProxy(options: readonly string[], command: readonly string[], port?: number): Promise<Peer> {
  return start(MCP_PROXY, '/mcp', port, chosen => ({
    args: ['--host', '127.0.0.1', '--port', String(chosen), ...options, '--', ...command],
    address: /starting server on port (\d+)/,
  }))
}

async function start(
  script: string,
  path: string,
  port: number | undefined,
  options: (port: number) => ProgramOptions,
): Promise<Peer> {
  const chosen = port ?? (await freePort())
  const program = await startProgram(script, { ...options(chosen), preload: PRELOAD })
  return { url: `http://localhost:${chosen}${path}`, port: chosen, program }
}
