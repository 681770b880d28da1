import type { DescriptorReserve } from '../config/descriptor-reserve.ts'
import { LIMITS } from '../config/limits.ts'
import { StartError } from '../config/start-error.ts'
import type { ErrorCode } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import { faultWords } from '../domain/fault-words.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import { targetOf } from '../request/canonical-path.ts'
import { isCardPath, isWellKnownBehind, ROOT_CARD_PATH } from '../request/discovery-paths.ts'
import { headerItems, SECURITY_HEADERS, withHeaders } from '../request/headers.ts'
import type { Socket } from '../request/request-info.ts'
import type { Admitted, RequestGuard } from './api.ts'
import type { App } from './app.ts'
import { Arrivals } from './arrivals.ts'
import { preflightResponse, withCors } from './cors.ts'
import { crowded, lastOf, wantsStream } from './crowded.ts'
import { problemResponse, rpcErrorResponse } from './errors.ts'
import type { RequestLog } from './request-log.ts'
import { connectionGate } from './serve-bun-accept.ts'
import { boundSocketBuffers } from './serve-bun-buffers.ts'
import { BunPeer, IDLE_SECONDS, KeptConnections, type Server, type SocketState, senderOf } from './serve-bun-peer.ts'

/**
 * The idle timeout of event streams in seconds, which send a keep-alive every 15 s. A client that reads nothing for so long is
 * disconnected, even after the end of its stream, since the unread rest would be held in memory.
 */
const STREAM_IDLE_SECONDS = 120
/** Bun rejects larger bodies without a response of the hub. Far above every limit, which the routes check. */
const BACKSTOP_BYTES = 4 * LIMITS.serverBodyBytes
/** Longest time for responses to be sent when the server stops, in milliseconds; their calls have ended before. */
const STOP_MS = 3_000
/** Most bytes that may wait in a WebSocket; beyond them nothing is sent until the client reads. */
const SOCKET_WAITING_BYTES = 256 * 1024

/** Options of the server; `mcp` gets requests without the router. */
export interface ServeOptions {
  readonly host: string
  readonly port: number
  /** `''` or `/hub`. */
  readonly basePath: string
  readonly guard: RequestGuard
  readonly app: App
  readonly mcp: Pick<McpEndpoint, 'fetch'>
  readonly log: Pick<PluginLogger, 'error'>
  /** Logs each answered request below `/mcp`; the app logs the others. */
  readonly requestLog?: RequestLog | undefined
  /** Keeps descriptors back from connections; streams are refused while it is crowded. */
  readonly reserve?: Pick<DescriptorReserve, 'guard' | 'isCrowded'> | undefined
  /** Returns an id for a request that was rejected before it got one. */
  readonly nextId: () => string
  /** Seconds after which a client is disconnected that reads nothing of an event stream. Default 120, at most 255. */
  readonly streamIdleSeconds?: number
}

/** One server on one port. */
export interface HttpServer {
  /** Throws StartError: port_in_use, bind_failed. */
  listen(): { readonly port: number; readonly address: string }
  /** Connections with a request under way, and open WebSockets. */
  active(): number
  /** Accepts no new connections. `graceful`: finishes requests in flight first. */
  stop(graceful: boolean): Promise<void>
}

/** While descriptors are short, a sender with this many long-running requests starts no further one. */
const MOST_KEPT_CROWDED = 8

/** Pattern in the log for all paths below `/mcp`. */
const MCP_PATTERN = '/mcp/{path}'

/** A client is disconnected after this many unanswered pings, though the system may keep its connection for hours. */
const MISSED_PINGS = 2

type BunSocket = Bun.ServerWebSocket<SocketState>

/** A server on `Bun.serve`: MCP requests go to their endpoint, all others to the app, all through the guard. */
export function serveBun(options: ServeOptions): HttpServer {
  const { guard, app, mcp, requestLog, reserve } = options
  const arrivals = new Arrivals()
  const kept = new KeptConnections()
  const peerOptions = { streamIdleSeconds: options.streamIdleSeconds ?? STREAM_IDLE_SECONDS, kept }
  let endGuard: (() => void) | undefined
  let server: Server | undefined

  const fetch = (request: Request, running: Server): Response | undefined | Promise<Response | undefined> => {
    if (!reserve?.isCrowded) return answered(request, running)
    const sender = senderOf(request)
    const hasMany = request.method === 'POST' && sender !== '' && kept.of(sender) >= MOST_KEPT_CROWDED
    if (hasMany || wantsStream(request)) return lastOf(refuse(options, request, crowded()))
    const response = answered(request, running)
    return response instanceof Promise ? response.then(lastOf) : lastOf(response)
  }

  const answered = (request: Request, running: Server): Response | undefined | Promise<Response | undefined> => {
    const peer = new BunPeer(running, request, peerOptions)
    peer.begun()
    let admitted: Admitted
    try {
      admitted = guard.admit(request, peer)
    } catch (error) {
      return refuse(options, request, error)
    }
    const sender = () => senderName(request, admitted)
    return arrivals.start<Response | undefined>(sender, late => {
      admitted.startedLate = late
      return answerAdmitted(request, admitted, peer)
    })
  }

  const answerAdmitted = (request: Request, admitted: Admitted, peer: BunPeer) => {
    const path = endpointPath(request, admitted.path)
    if (path === undefined) return answer(app, request, admitted, peer)
    const response = preflightResponse(request, admitted.corsOrigin) ?? mcp.fetch(request, path, admitted.info)
    const answered =
      response instanceof Promise
        ? response.then(late => answeredMcp(late, admitted, peer))
        : answeredMcp(response, admitted, peer)
    return requestLog ? loggedMcp(requestLog, request, admitted, answered) : answered
  }

  return {
    listen() {
      const running = start(options, fetch)
      server = running
      const port = running.port ?? options.port
      boundSocketBuffers(port)
      const gate = reserve && connectionGate(port, kept)
      if (gate) endGuard = reserve.guard(gate)
      const host = options.host.includes(':') ? `[${options.host}]` : options.host
      return { port, address: `http://${host}:${port}${options.basePath}` }
    },
    active: () => (server ? server.pendingRequests + server.pendingWebSockets : 0),
    async stop(graceful) {
      // From here on the numbers of its descriptors are given to others.
      endGuard?.()
      if (graceful && server) await settledWithin(server.stop(false), STOP_MS)
      // A client that never ends its request, or never reads its response, must not delay the stop forever.
      await server?.stop(true)
    },
  }
}

async function settledWithin(work: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

function answeredMcp(response: Response, { info, corsOrigin }: Admitted, peer: BunPeer): Response {
  peer.answered(response)
  const name = { 'x-request-id': info.requestId }
  // Most responses were built with these headers.
  const known = response.headers.has('content-security-policy')
  return withCors(withHeaders(response, known ? name : { ...SECURITY_HEADERS, ...name }), corsOrigin)
}

async function loggedMcp(
  requestLog: RequestLog,
  request: Request,
  { info }: Admitted,
  answered: Response | Promise<Response>,
): Promise<Response> {
  const startedAtMs = performance.now()
  const response = await answered
  requestLog(request, info, { pattern: MCP_PATTERN, response, ms: performance.now() - startedAtMs })
  return response
}

async function answer(app: App, request: Request, admitted: Admitted, peer: BunPeer): Promise<Response | undefined> {
  const response = await app.handle(request, admitted)
  if (peer.upgraded) return undefined
  peer.answered(response)
  return response
}

function refuse({ app, basePath, log, nextId }: ServeOptions, request: Request, error: unknown): Response {
  const { path } = targetOf(request.url)
  if (mcpPath(path.slice(basePath.length)) === undefined) return app.refuse(request, error)
  return rpcErrorResponse(error, { requestId: nextId(), method: request.method, path, log })
}

/** Returns a name for the sender of a request before anything is checked. A person with several names only gets more turns. */
function senderName(request: Request, { path, info }: Admitted): string {
  // Strangers share an address, and programs that monitor the hub are among them.
  return `${info.addressKey} ${senderOf(request) || (path === '/health' ? path : '')}`
}

/**
 * Returns the path of the MCP endpoint that a request is for. At `/mcp/server-card` a program that looks for the card of
 * `/mcp` gets the app's 404; clients of a group with this name send POST, ask for an event stream, or have a credential.
 */
function endpointPath({ method, headers }: Request, path: string): string | undefined {
  const found = mcpPath(path)
  if (found !== ROOT_CARD_PATH || (method !== 'GET' && method !== 'HEAD')) return found
  const isClient = headers.has('authorization') || headers.has('x-auth-token')
  return isClient || headerItems(headers.get('accept')).some(item => item.startsWith('text/event-stream'))
    ? found
    : undefined
}

/** `/{user}/mcp…`; the names of the hub's own routes are not users. */
const OF_USER = /^\/(?!(?:api|plugins|\.well-known)\/)([^/]+)\/(mcp|sse|messages)(?:\/(.*))?$/

/**
 * Returns the path of the MCP endpoint; undefined for paths of the app, among them those of server cards and other metadata. Other hubs serve
 * a user's own endpoints under `/{user}/mcp/{name}`: here that is `/mcp/@{user}/{name}`, and `/{user}/mcp` is `/mcp`. Only
 * the credential determines the caller.
 */
function mcpPath(path: string): string | undefined {
  const found = /^\/(?:mcp|sse|messages)(?:\/|$)/.test(path) ? path : ofUser(path)
  return found !== undefined && (isCardPath(found) || isWellKnownBehind(found)) ? undefined : found
}

function ofUser(path: string): string | undefined {
  const [, user, root, rest = ''] = OF_USER.exec(path) ?? []
  if (user === undefined) return undefined
  if (rest === '' || rest.startsWith('$') || rest.startsWith('@')) return rest === '' ? `/${root}` : `/${root}/${rest}`
  return `/${root}/@${user}/${rest}`
}

function start(options: ServeOptions, fetch: (request: Request, server: Server) => unknown): Server {
  const { host, port, log, nextId } = options
  try {
    return Bun.serve<SocketState>({
      hostname: host,
      port,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: BACKSTOP_BYTES,
      fetch: fetch as (request: Request, server: Server) => Response | Promise<Response>,
      error(error) {
        // Bun passes neither the request nor its path.
        return problemResponse(error, { requestId: nextId(), method: '', path: '', log })
      },
      websocket: {
        maxPayloadLength: LIMITS.webSocketFrameBytes,
        // The sender checks the waiting bytes before each message; this only limits what one message adds.
        backpressureLimit: 16 * SOCKET_WAITING_BYTES,
        open(ws) {
          const socket = new BunSocketEnd(ws)
          ws.data.socket = socket
          ws.data.handler.open(socket)
        },
        message: receive,
        // The runtime answers it; counted, since it costs as much as a message.
        ping: ws => void countFrame(ws),
        pong(ws) {
          const { data } = ws
          if (!countFrame(ws)) return
          data.pingsUnanswered = 0
          if (data.socket) data.handler.pong?.(data.socket)
        },
        drain({ data }) {
          if (data.socket && !data.ended) data.handler.drain(data.socket)
        },
        close({ data }, code) {
          data.release()
          if (data.socket) data.handler.close(data.socket, code)
        },
        error(error, ws) {
          log.error('A WebSocket failed', { error: error.stack ?? error.message })
          end(ws, 1011, 'internal')
        },
      },
    })
  } catch (error) {
    throw startError(error, host, port)
  }
}

/** Counts a frame of any kind; false when it is too much, or the socket has ended. */
function countFrame(ws: BunSocket): boolean {
  const { data } = ws
  if (data.ended) return false
  const nowMs = performance.now()
  if (nowMs - data.secondStartedAtMs >= 1_000) {
    data.secondStartedAtMs = nowMs
    data.frames = 0
  }
  data.frames += 1
  if (data.frames <= LIMITS.webSocketFramesPerSecond) return true
  end(ws, 1008, 'rate_limited')
  return false
}

function receive(ws: BunSocket, message: string | Buffer): void {
  const { data } = ws
  if (!data.socket || !countFrame(ws)) return
  data.pingsUnanswered = 0
  if (typeof message !== 'string') return end(ws, 1003, 'request_invalid')
  data.handler.message(data.socket, message)
}

function end(ws: BunSocket, status: number, code: ErrorCode): void {
  ws.data.ended = true
  ws.close(status, JSON.stringify({ code }))
}

function startError(error: unknown, host: string, port: number): StartError {
  const code = (error as { code?: unknown }).code
  if (code === 'EADDRINUSE') {
    return new StartError('port_in_use', `Port ${port} of ${host} is in use; set PORT to another one`, { cause: error })
  }
  return new StartError('bind_failed', `Cannot listen on ${host}, port ${port} (${faultWords(error)})`, {
    cause: error,
  })
}

class BunSocketEnd implements Socket {
  readonly #ws: BunSocket

  constructor(ws: BunSocket) {
    this.#ws = ws
  }

  get waitingBytes(): number {
    return this.#ws.getBufferedAmount()
  }

  send(text: string): boolean {
    if (this.#ws.data.ended || this.waitingBytes > SOCKET_WAITING_BYTES) return false
    return this.#ws.send(text) !== 0
  }

  ping(): void {
    const { data } = this.#ws
    if (data.ended) return
    if (data.pingsUnanswered >= MISSED_PINGS) return this.#ws.terminate()
    data.pingsUnanswered += 1
    this.#ws.ping()
  }

  close(status: number, reason?: string): void {
    this.#ws.data.ended = true
    this.#ws.close(status, reason)
  }
}
