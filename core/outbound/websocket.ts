import { Buffer } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { HubError } from '../contract/errors.ts'
import type { AddressRights } from '../domain/address.ts'
import { RESULT_BYTES } from '../domain/result-bytes.ts'
import type { OpenWebSocket } from '../features/services/sockets.ts'
import type { GuardedConnect, LinkSocketRequest, LongMessage } from '../transport-kit/definition.ts'
import { statusReason } from '../transport-kit/remote.ts'
import type { TlsSettings } from '../transport-kit/tls.ts'
import { toWireError } from '../transport-kit/wire-error.ts'
import { notSent, tlsFailure } from './failures.ts'
import { MAX_HEAD_BYTES, malformed, parseHead, type ResponseHead, renderHead } from './head.ts'
import { createLookup, type Lookup } from './lookup.ts'
import { type ConnectTarget, resolveTargets } from './targets.ts'
import { connectFirst } from './tcp.ts'
import { TokenBucket } from './token-bucket.ts'
import { closeFrame, FrameReader, pingFrame, pongFrame, textFrame } from './websocket-frames.ts'

/** From the open connection to the head of the response. */
const HEAD_TIMEOUT_MS = 10_000
/** Time for a server to close its end, in milliseconds. */
const CLOSE_MS = 1_000
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** Bytes that may wait for a server that does not read, before its connection ends. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024
const MOST_WAITING_PONGS = 64 * 1024
const NORMAL = 1000
const PROTOCOL_ERROR = 1002
/** Status of the close frame by the reason for which the hub ends a connection. */
const CLOSE_CODES: Readonly<Record<string, number>> = { upstream_flood: 1008, result_too_large: 1009 }
/** Control frames and short pieces of messages: they cost as much as messages and have no content, so servers do not need many. */
const SMALL_FRAMES = { perSecond: 1_000, burst: 4_000 } as const
/** A piece of a message that has fewer bytes is a short one. */
const SHORT_PIECE_BYTES = 1024

/** Settings of the WebSockets of one link. */
export interface GuardedConnectOptions {
  /** The addresses that the owner may reach. */
  readonly rights: AddressRights
  /** Appended to `x-patchbay-instance`, so that a hub recognizes a request that returns to it. */
  readonly instanceId: string
  /** Resolver of names. Default: a separate one. */
  readonly lookup?: Lookup
  /** TLS settings. Default: the system's trusted certificates, no client certificate. */
  readonly tls?: TlsSettings
  /** Closes every connection when it aborts. */
  readonly signal?: AbortSignal
}

/** The only access from the hub to a WebSocket that a user chose; see `GuardedConnect`. */
export function createGuardedConnect(options: GuardedConnectOptions): GuardedConnect {
  const { rights, instanceId, lookup = createLookup(), tls, signal } = options
  return async (address, request) => {
    const url = parseUrl(address)
    const key = randomBytes(16).toString('base64')
    const head = renderUpgrade(url, request, key, instanceId)
    const signals = [signal, request.signal].filter(one => one !== undefined)
    const either = AbortSignal.any(signals)
    either.throwIfAborted()
    const socket = await open(await resolveTargets(url, { rights, lookup, tls }))
    const abort = (): void => void socket.destroy()
    either.addEventListener('abort', abort, { once: true })
    socket.once('close', () => either.removeEventListener('abort', abort))
    if (either.aborted) abort()
    try {
      socket.write(head)
      const { response, rest } = await readHead(socket, url.origin)
      const protocol = checkUpgrade(response, request, key)
      return new OpenSocket(socket, url.origin, protocol, request, rest)
    } catch (error) {
      socket.destroy()
      throw either.aborted ? either.reason : error
    }
  }
}

/**
 * Checks that these rights permit a connection to the host of an address. Rejects with `url_address_blocked`, or with the error
 * of resolving the name.
 */
export async function checkSocketAddress(address: string, rights: AddressRights): Promise<void> {
  await resolveTargets(parseUrl(address), { rights, lookup: createLookup() })
}

/** A WebSocket after its opening handshake. */
class OpenSocket implements OpenWebSocket {
  readonly protocol: string
  readonly #socket: Socket
  readonly #origin: string
  readonly #ended: Promise<void>
  #closing = false
  /** Reason, if the hub ends it. */
  #reason: HubError | undefined
  /** Code of the server's close frame. */
  #code: number | undefined
  /** Payload of the last ping among the bytes read at once; RFC 6455 allows answering only that one. */
  #pong: Buffer | undefined
  readonly #smallFrames = new TokenBucket({ ...SMALL_FRAMES, now: () => performance.now() })

  constructor(socket: Socket, origin: string, protocol: string, request: LinkSocketRequest, rest: Buffer) {
    this.protocol = protocol
    this.#socket = socket
    this.#origin = origin
    const { admits, tooLong } = request
    const reader = new FrameReader({
      get maxBytes() {
        return Math.min(request.maxBytes ?? RESULT_BYTES.usual, RESULT_BYTES.most)
      },
      begins: (bytes, whole) => {
        const isSmall = !whole && bytes < SHORT_PIECE_BYTES
        if ((isSmall && !this.#smallFrames.take()) || admits?.call(request, bytes) === false)
          throw new HubError('upstream_flood', `${origin} sends more frames than are read`)
      },
      text(message) {
        request.alive?.()
        request.message(message)
      },
      ...(tooLong && {
        tooLong(message: LongMessage) {
          request.alive?.()
          tooLong.call(request, message)
        },
      }),
      ping: payload => {
        request.alive?.()
        this.#pong = payload
      },
      pong: () => request.alive?.(),
      close: code => this.#closed(code),
    })
    const read = (chunk: Buffer): void => {
      if (this.#reason) return
      try {
        reader.push(chunk)
        this.#answerPing()
      } catch (error) {
        this.#end(error instanceof HubError ? error : new HubError('internal', String(error)))
      }
    }
    this.#ended = new Promise(resolve => {
      const over = (): void => {
        resolve()
        const reason = this.#reason ?? new HubError('connection_lost', `${origin} closed the connection`)
        request.closed(toWireError(reason), this.#code)
      }
      if (socket.destroyed) queueMicrotask(over)
      else socket.once('close', over)
    })
    socket.on('data', read)
    socket.on('end', () => socket.destroy())
    // Bytes that arrived with the head are delivered once the caller has this object.
    if (rest.length > 0) queueMicrotask(() => read(rest))
    socket.resume()
  }

  send(text: string): void {
    if (this.#closing || this.#socket.destroyed) return
    this.#socket.write(textFrame(text))
    if (this.#socket.writableLength > MOST_WAITING_BYTES) this.#fail('does not read what it is sent')
  }

  ping(): void {
    if (!this.#closing && !this.#socket.destroyed && this.#socket.writableLength < MOST_WAITING_PONGS)
      this.#socket.write(pingFrame())
  }

  async close(code = NORMAL): Promise<void> {
    if (!this.#closing && !this.#socket.destroyed) {
      this.#closing = true
      this.#socket.write(closeFrame(code))
    }
    const late = setTimeout(() => this.#socket.destroy(), CLOSE_MS)
    await this.#ended
    clearTimeout(late)
  }

  /** A server that pings and does not read is not answered until it does. */
  #answerPing(): void {
    const payload = this.#pong
    this.#pong = undefined
    if (payload && !this.#closing && this.#socket.writableLength < MOST_WAITING_PONGS)
      this.#socket.write(pongFrame(payload))
  }

  /** Ends the connection for this reason: nothing is read any more, and the server has a second to accept the close frame. */
  #end(reason: HubError): void {
    this.#reason = reason
    this.#socket.pause()
    void this.close(CLOSE_CODES[reason.code] ?? PROTOCOL_ERROR)
  }

  #fail(why: string): void {
    this.#reason ??= new HubError('connection_lost', `${this.#origin} ${why}`)
    this.#socket.destroy()
  }

  #closed(code: number | undefined): void {
    this.#code = code
    if (!this.#closing) this.#socket.write(closeFrame(code ?? NORMAL))
    this.#closing = true
    this.#socket.end()
    this.#socket.destroySoon()
  }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'ws:' && url.protocol !== 'wss:')) {
    throw notSent('url_address_blocked', 'The address is not a ws or wss URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw notSent('url_address_blocked', `The URL for ${url.host} holds a user name or password; use a header instead`)
  }
  return url
}

function renderUpgrade(url: URL, { headers = {}, protocols = [] }: LinkSocketRequest, key: string, instanceId: string) {
  const own = Object.keys(headers).find(name => /^sec-websocket-/i.test(name))
  if (own !== undefined) throw new HubError('config_invalid', `The header "${own}" is set by the hub itself`)
  const offered = protocols.length === 0 ? {} : { 'sec-websocket-protocol': protocols.join(', ') }
  const fields = { ...headers, 'sec-websocket-version': '13', 'sec-websocket-key': key, ...offered }
  return `${renderHead('GET', url, fields, instanceId)}connection: Upgrade\r\nupgrade: websocket\r\n\r\n`
}

/** Connects to the first address that answers, over TLS if the address requires it. */
async function open(targets: readonly ConnectTarget[]): Promise<Socket> {
  const socket = await connectFirst(targets)
  const { address = '', tls, origin } = targets[0] ?? {}
  if (!tls || origin === undefined) {
    socket.on('error', () => socket.destroy())
    return socket
  }
  const { serverName, insecure, ...certificates } = tls
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  // A literal address is what its certificate must be for.
  const names = {
    ...(serverName === undefined ? { host: address } : { servername: serverName }),
    ...certificates,
  }
  const secure = connectTls({ socket, ...names, rejectUnauthorized: insecure !== true })
  const late = setTimeout(
    () => secure.destroy(notSent('upstream_timeout', `${origin} did not answer`)),
    HEAD_TIMEOUT_MS,
  )
  secure.once('secureConnect', () => resolve(secure))
  secure.on('error', error => {
    reject(error instanceof HubError ? error : tlsFailure(origin, error))
    secure.destroy()
  })
  secure.once('close', () => reject(tlsFailure(origin, undefined)))
  return promise.finally(() => clearTimeout(late))
}

/** Reads the head of the response. Bytes behind it are `rest`. */
async function readHead(socket: Socket, origin: string): Promise<{ response: ResponseHead; rest: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ response: ResponseHead; rest: Buffer }>()
  let held = Buffer.alloc(0)
  const late = setTimeout(() => {
    reject(new HubError('upstream_timeout', `${origin} did not answer within ${HEAD_TIMEOUT_MS / 1_000} s`))
  }, HEAD_TIMEOUT_MS)
  const gone = (): void => reject(new HubError('connection_lost', `${origin} closed the connection before it answered`))
  const read = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk])
    const end = held.indexOf('\r\n\r\n')
    if (end > MAX_HEAD_BYTES || (end < 0 && held.length > MAX_HEAD_BYTES))
      return reject(malformed('its head is too long'))
    if (end < 0) return
    socket.pause()
    try {
      resolve({ response: parseHead(held.toString('latin1', 0, end)), rest: held.subarray(end + 4) })
    } catch (error) {
      reject(error)
    }
  }
  socket.on('data', read)
  socket.once('close', gone)
  socket.once('end', gone)
  // A proxy's answer may have been read from it, which paused it.
  socket.resume()
  return promise.finally(() => {
    clearTimeout(late)
    socket.off('data', read)
    socket.off('close', gone)
    socket.off('end', gone)
  })
}

/** The subprotocol that the server chose; empty for none. Throws HubError. */
function checkUpgrade(response: ResponseHead, { protocols = [] }: LinkSocketRequest, key: string): string {
  const { status, headers } = response
  if (status !== 101) {
    const { code, message, data } = statusReason(response)
    throw new HubError(code, message, data ? { data } : {})
  }
  const wanted = createHash('sha1')
    .update(key + KEY_SUFFIX)
    .digest('base64')
  const agreed = headers['sec-websocket-accept'] === wanted && /^websocket$/i.test(headers.upgrade ?? '')
  if (!agreed || headers['sec-websocket-extensions'] !== undefined) throw malformed('it opens no WebSocket')
  const protocol = headers['sec-websocket-protocol'] ?? ''
  const isOffered = protocols.length === 0 ? protocol === '' : protocols.includes(protocol)
  if (!isOffered) throw malformed(`it agrees to none of the subprotocols ${protocols.join(', ')}`)
  return protocol
}
