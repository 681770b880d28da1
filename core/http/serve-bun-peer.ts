import type { Socket, SocketHandler } from '../request/request-info.ts'
import type { Peer } from './api.ts'

/**
 * Idle timeout of a connection in seconds, and the time for the whole body of a client without a credential: longer than the
 * longest pause in a body, so that the client gets that error first.
 */
export const IDLE_SECONDS = 40

/** State that the runtime stores with each WebSocket. */
export interface SocketState {
  readonly handler: SocketHandler
  socket: Socket | undefined
  frames: number
  secondStartedAtMs: number
  /** Since the last frame of the client. */
  pingsUnanswered: number
  ended: boolean
  /** Its connection is no longer kept. */
  readonly release: () => void
}

/** State shared by all peers of one server. */
interface PeerOptions {
  /** Idle timeout of an event stream, in seconds. */
  readonly streamIdleSeconds: number
  readonly kept: KeptConnections
}

/** The runtime's server. */
export type Server = Bun.Server<SocketState>

/** The connection of one request. */
export class BunPeer implements Peer {
  upgraded = false
  readonly #server: Server
  readonly #request: Request
  readonly #options: PeerOptions
  #found: { readonly address: string; readonly port: number } | undefined
  #release: (() => void) | undefined

  constructor(server: Server, request: Request, options: PeerOptions) {
    this.#server = server
    this.#request = request
    this.#options = options
  }

  get address(): string {
    return this.#end.address
  }

  /** Cached: the runtime creates an object each time. */
  get #end(): { readonly address: string; readonly port: number } {
    this.#found ??= this.#server.requestIP(this.#request) ?? { address: '', port: 0 }
    return this.#found
  }

  /** To be called before the request is answered: the one before it on this connection has ended. */
  begun(): void {
    const { address, port } = this.#end
    this.#options.kept.begun(address, port)
  }

  keepOpen(): void {
    this.#keep('request')
    this.#server.timeout(this.#request, 0)
  }

  upgrade(handler: SocketHandler): boolean {
    const counts = { frames: 0, secondStartedAtMs: 0, pingsUnanswered: 0 }
    this.#keep('socket')
    const release = (): void => this.#release?.()
    const data: SocketState = { handler, socket: undefined, ...counts, ended: false, release }
    this.upgraded = this.#server.upgrade(this.#request, { data })
    if (!this.upgraded) release()
    return this.upgraded
  }

  #keep(by: KeptBy): void {
    const { address, port } = this.#end
    this.#release = this.#options.kept.keep(address, { by, port, sender: senderOf(this.#request) })
  }

  /** `keepOpen` lifts the timeout of the whole connection; not restored, an idle client would never be disconnected. */
  answered(response: Response): void {
    const release = this.#release
    if (!release || this.upgraded) return
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (!isStream) release()
    // Called when the client leaves. After a stream that the hub ends, the next request on the connection releases it.
    else if (this.#request.signal.aborted) release()
    else this.#request.signal.addEventListener('abort', release, { once: true })
    this.#server.timeout(this.#request, isStream ? this.#options.streamIdleSeconds : IDLE_SECONDS)
  }
}

/** Number of characters of a credential that suffice to distinguish senders. */
const CREDENTIAL_END = 24

/** Names the sender of a request by its credential, before anything of it was checked; empty without one. */
export function senderOf({ headers }: Request): string {
  const credential = headers.get('authorization') ?? headers.get('x-auth-token')
  return credential?.trim().slice(-CREDENTIAL_END) ?? ''
}

/** A reason to keep a connection open: a long-running request, or a WebSocket. */
export type KeptBy = 'request' | 'socket'

interface Kept {
  readonly by: KeptBy
  readonly port: number
  readonly sender: string
}

/**
 * Connections with a request that may be silent for long: they are not idle, even if nothing is sent for a long time. A
 * connection is identified by the address and port of its client.
 */
export class KeptConnections {
  readonly #kept = new Map<string, Kept>()
  readonly #ports = new Map<number, Set<Kept>>()
  readonly #senders = new Map<string, number>()

  /** Returns a function that releases the connection. `sender`: the sender of the request. */
  keep(address: string, kept: Kept): () => void {
    const key = `${kept.port} ${address}`
    this.#release(key, this.#kept.get(key))
    this.#kept.set(key, kept)
    const here = this.#ports.get(kept.port)
    if (here) here.add(kept)
    else this.#ports.set(kept.port, new Set([kept]))
    this.#senders.set(kept.sender, this.of(kept.sender) + 1)
    return () => this.#release(key, kept)
  }

  /** Records that another request arrived on this connection, so the previous one has ended. */
  begun(address: string, port: number): void {
    if (!this.#ports.has(port)) return
    const key = `${port} ${address}`
    this.#release(key, this.#kept.get(key))
  }

  /** The reason to keep the connection of a client port; undefined: none. Addresses are ignored. */
  at(port: number): KeptBy | undefined {
    let found: KeptBy | undefined
    for (const { by } of this.#ports.get(port) ?? []) if (found !== 'socket') found = by
    return found
  }

  /** Number of connections that a sender keeps open. */
  of(sender: string): number {
    return this.#senders.get(sender) ?? 0
  }

  /** Client ports of the connections of the sender that keeps the most, the oldest first. */
  ofLargest(): readonly number[] {
    const [largest] = [...this.#senders].toSorted(([, one], [, other]) => other - one)
    return [...this.#kept.values()].flatMap(({ sender, port }) => (sender === largest?.[0] ? port : []))
  }

  #release(key: string, kept: Kept | undefined): void {
    if (kept === undefined || this.#kept.get(key) !== kept) return
    this.#kept.delete(key)
    const here = this.#ports.get(kept.port)
    here?.delete(kept)
    if (here?.size === 0) this.#ports.delete(kept.port)
    const left = this.of(kept.sender) - 1
    if (left > 0) this.#senders.set(kept.sender, left)
    else this.#senders.delete(kept.sender)
  }
}
