import type { Socket } from 'bun'
import { HubError } from '../contract/errors.ts'
import { ChunkedReader } from './body.ts'
import { type Connecting, connectFor } from './connect.ts'
import type { Exchange, RequestText } from './exchange.ts'
import { notSent, tlsFailure } from './failures.ts'
import { MAX_HEAD_BYTES, malformed, parseHead, type ResponseHead } from './head.ts'
import { forwardedRequest, proxyRefusal } from './proxy-tunnel.ts'
import type { ConnectTarget } from './targets.ts'

const HEAD_END = Buffer.from('\r\n\r\n')
const BARE_HEAD_END = Buffer.from('\n\n')
const VERSION = 'HTTP/1.'
/** Part of a thread's time that reading one connection may take for long; beyond it reading rests. */
const READING_SHARE = 0.2
/**
 * Additional reading time that may be used at once, in milliseconds: for large answers, and turns in which the system gave the
 * processor to other processes.
 */
const READING_BURST_MS = 20
const MOST_REST_MS = 250

/** Most cached heads: responses of one server often differ in `Date` alone. */
const KEPT_HEADS = 32

/** The owner of an open connection, notified of its state. */
export interface ConnectionOwner {
  /** Heads of earlier responses by their text. */
  readonly heads: Map<string, ResponseHead>
  /** Called when an exchange has ended and another may begin; `idleSeconds`: time for which the server keeps the connection. */
  idle(connection: Http1Connection, idleSeconds: number | undefined): void
  /**
   * An open connection was closed, `byServer` or by the hub. `retry` is an exchange that may be repeated: no byte of
   * its response arrived and it changes nothing.
   */
  lost(connection: Http1Connection, retry: Exchange | undefined, byServer: boolean): void
}

/**
 * A small, strict HTTP/1.1 client connection: one request at a time, no pipelining, no repetition of a request that may
 * have acted. It uses no web streams and allocates little, which halves the cost of a call against node:http.
 */
export class Http1Connection implements Connecting {
  /** Time since which it is idle, and until which its owner keeps it, by `performance.now()`. */
  idleSinceMs = 0
  idleUntilMs = 0
  readonly #owner: ConnectionOwner
  readonly #target: ConnectTarget
  readonly #connected: (error?: HubError) => void
  #socket: Socket<Connecting> | undefined
  #state: 'connecting' | 'idle' | 'head' | 'body' | 'closed' = 'connecting'
  #exchange: Exchange | undefined
  #unsent: Buffer | undefined
  #pending: Buffer | undefined
  #headBytes = 0
  #head: ResponseHead | undefined
  #left = 0
  #chunks: ChunkedReader | undefined
  #served = 0
  #dropping = false
  #peerEnded = false

  /** Paused by the exchange. */
  #paused = false
  /** Set while nothing is read, so that others have their turns. */
  #rest: ReturnType<typeof setTimeout> | undefined
  /** Time that reading took beyond its share, in milliseconds, as of `#readAtMs`. */
  #readMs = 0
  #readAtMs = 0

  /** Starts to connect. `connected` is called once: without an error when a request can be written. */
  constructor(target: ConnectTarget, owner: ConnectionOwner, connected: (error?: HubError) => void) {
    this.#target = target
    this.#owner = owner
    this.#connected = connected
    connectFor(this, target)
  }

  /** Number of completed exchanges. */
  get served(): number {
    return this.#served
  }

  /** Writes a request. False when the connection was closed already: nothing was written then. */
  start(exchange: Exchange): boolean {
    if (this.#state !== 'idle' || !this.#socket) return false
    const { text, bytes } = this.#forwarded(exchange.request)
    const written = this.#socket.write(text)
    if (written < 0) {
      this.drop()
      return false
    }
    this.#state = 'head'
    this.#exchange = exchange
    exchange.carrier = this
    if (written < bytes) this.#unsent = (typeof text === 'string' ? Buffer.from(text) : text).subarray(written)
    exchange.sent()
    return true
  }

  /** The request as a proxy takes it, where one forwards it. */
  #forwarded(request: Pick<RequestText, 'text' | 'bytes'>): Pick<RequestText, 'text' | 'bytes'> {
    const { via, origin } = this.#target
    if (!via || !this.#isForwarded) return request
    const text = forwardedRequest(request.text, origin, via)
    return { text, bytes: Buffer.byteLength(text) }
  }

  get #isForwarded(): boolean {
    return this.#target.via?.byName === true && this.#target.tls === undefined
  }

  /** Closes at once; the exchange on it, if any, ends with this error. */
  abandon(error: HubError): void {
    this.#exchange?.fail(error)
    this.drop()
  }

  /** Closes at once. The exchange on it, if any, must have ended already. */
  drop(): void {
    this.#exchange = undefined
    const socket = this.#socket
    this.#dropping = true
    this.closed()
    socket?.terminate()
  }

  /** Pauses reading until {@link resume}: the server's data waits in the system's buffers. */
  pause(): void {
    this.#paused = true
    this.#socket?.pause()
  }

  resume(): void {
    this.#paused = false
    if (this.#rest === undefined) this.#socket?.resume()
  }

  // The methods below are called by the socket's handlers.

  attached(socket: Socket<Connecting>): void {
    this.#socket = socket
    if (this.#state === 'closed') socket.terminate()
  }

  ready(): void {
    if (this.#state !== 'connecting') return
    this.#state = 'idle'
    this.#connected()
  }

  refuse(error: HubError): void {
    if (this.#state !== 'connecting') return
    this.#state = 'closed'
    this.#socket?.terminate()
    this.#connected(error)
  }

  handshake(success: boolean, error: Error | null): void {
    if (success) this.ready()
    else this.refuse(tlsFailure(this.#target.origin, error))
  }

  drain(): void {
    if (!this.#unsent || !this.#socket) return
    const written = this.#socket.write(this.#unsent)
    if (written > 0) this.#unsent = written < this.#unsent.length ? this.#unsent.subarray(written) : undefined
  }

  receive(bytes: Buffer): void {
    // Bytes without a request could only be mistaken for the next response.
    if (this.#state === 'idle') return this.drop()
    const startedMs = performance.now()
    try {
      if (this.#state === 'head') this.#receiveHead(bytes)
      else if (this.#state === 'body') this.#receiveBody(bytes)
    } catch (error) {
      this.#exchange?.fail(error)
      this.drop()
    }
    this.#leaveTurns(performance.now() - startedMs)
  }

  /** Pauses reading from a server whose answer uses much time of the thread, such as an endless stream, in favour of the others. */
  #leaveTurns(spentMs: number): void {
    const nowMs = performance.now()
    this.#readMs = Math.max(0, this.#readMs - READING_SHARE * (nowMs - this.#readAtMs)) + spentMs
    this.#readAtMs = nowMs
    // Between two answers there is no work to pause after, and the next one would be late.
    const isReading = this.#state === 'head' || this.#state === 'body'
    if (!isReading || this.#readMs < READING_BURST_MS || this.#rest !== undefined) return
    this.#socket?.pause()
    this.#rest = setTimeout(
      () => {
        this.#rest = undefined
        if (!this.#paused && this.#state !== 'closed') this.#socket?.resume()
      },
      Math.min(this.#readMs / READING_SHARE, MOST_REST_MS),
    )
  }

  peerEnded(): void {
    this.#peerEnded = true
  }

  closed(): void {
    if (this.#state === 'closed') return
    if (this.#state === 'connecting') {
      return this.refuse(notSent('connection_lost', `${this.#target.origin} closed the connection at once`))
    }
    const exchange = this.#exchange
    const inHead = this.#state === 'head'
    const silent = inHead && this.#headBytes === 0 && this.#pending === undefined
    const endsBody = this.#state === 'body' && this.#head?.framing === 'close' && this.#peerEnded
    this.#state = 'closed'
    this.#exchange = undefined
    this.#pending = undefined
    this.#unsent = undefined
    const stale = silent && this.#served > 0
    const retry = stale && exchange?.repeatable ? exchange : undefined
    this.#owner.lost(this, retry, !this.#dropping)
    if (!exchange || retry) return
    exchange.carrier = undefined
    if (endsBody) return exchange.end()
    const when = inHead ? 'before it answered' : 'in the middle of an answer'
    exchange.fail(new HubError('connection_lost', `${this.#target.origin} closed the connection ${when}`))
  }

  #receiveHead(chunk: Buffer): void {
    let bytes = this.#pending ? Buffer.concat([this.#pending, chunk]) : chunk
    this.#pending = undefined
    for (;;) {
      const end = bytes.indexOf(HEAD_END)
      if (end < 0) {
        checkBeginning(bytes)
        if (this.#headBytes + bytes.length > MAX_HEAD_BYTES) throw malformed('its head is too long')
        this.#pending = bytes
        return
      }
      this.#headBytes += end + 4
      if (this.#headBytes > MAX_HEAD_BYTES) throw malformed('its head is too long')
      const head = this.#parse(bytes.toString('latin1', 0, end))
      bytes = bytes.subarray(end + 4)
      this.#checkStatus(head)
      if (head.status >= 200) return this.#begin(head, bytes)
      if (bytes.length === 0) return
    }
  }

  /** Throws for an answer that is not the server's, or that changes the protocol. */
  #checkStatus({ status }: ResponseHead): void {
    if (status === 407 && this.#isForwarded) throw proxyRefusal(this.#target, status)
    if (status === 101) throw malformed('it changes the protocol')
  }

  #parse(text: string): ResponseHead {
    const { heads } = this.#owner
    const known = heads.get(text)
    if (known) return known
    const head = parseHead(text)
    if (heads.size >= KEPT_HEADS) heads.clear()
    if (text.length <= 1024) heads.set(text, head)
    return head
  }

  #begin(head: ResponseHead, bytes: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return this.drop()
    const bare = exchange.request.method === 'HEAD' && head.framing !== 'none'
    this.#head = bare ? { ...head, framing: 'none' } : head
    this.#state = 'body'
    exchange.begin(this.#head)
    const { framing } = this.#head
    if (framing === 'none' || framing === 0) return this.#complete(bytes.length)
    if (framing === 'chunked') this.#chunks = new ChunkedReader()
    else this.#left = framing === 'close' ? Number.POSITIVE_INFINITY : framing
    if (bytes.length > 0) this.#receiveBody(bytes)
    if (this.#exchange === exchange) exchange.awaitBody()
  }

  #receiveBody(bytes: Buffer): void {
    const exchange = this.#exchange
    if (!exchange) return this.drop()
    if (this.#chunks) {
      const used = this.#chunks.push(bytes, piece => exchange.receive(piece))
      if (this.#chunks.done) this.#complete(bytes.length - used)
      return
    }
    const surplus = bytes.length - this.#left
    exchange.receive(surplus > 0 ? bytes.subarray(0, this.#left) : bytes)
    this.#left -= bytes.length
    if (this.#left <= 0) this.#complete(Math.max(surplus, 0))
  }

  #complete(surplusBytes: number): void {
    const exchange = this.#exchange
    // The reader may have cancelled while it received the last bytes.
    if (!exchange || this.#state !== 'body') return
    const head = this.#head
    this.#exchange = undefined
    exchange.carrier = undefined
    this.#chunks = undefined
    this.#headBytes = 0
    this.#served += 1
    if (head?.keepAlive && surplusBytes === 0 && !this.#unsent && !this.#peerEnded) {
      this.#state = 'idle'
      this.#owner.idle(this, head.idleSeconds)
    } else this.drop()
    exchange.end()
  }
}

/** Throws `upstream_protocol` if the first bytes already show that this is not a response head. */
function checkBeginning(bytes: Buffer): void {
  if (VERSION.slice(0, bytes.length) !== bytes.toString('latin1', 0, Math.min(bytes.length, VERSION.length))) {
    throw malformed('it is not HTTP/1.1')
  }
  if (bytes.includes(BARE_HEAD_END)) throw malformed('its head ends without CR LF')
}
