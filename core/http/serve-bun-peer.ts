import type { Socket, SocketHandler } from '../request/request-info.ts'
import type { Peer } from './api.ts'

/**
 * Idle timeout of a connection in seconds, and the time for the whole body of a client without a credential: longer than the
 * longest pause in a body, so that the client gets that error first.
 */
export const IDLE_SECONDS = 40

/** What the runtime keeps with a WebSocket. */
export interface SocketState {
  readonly handler: SocketHandler
  socket: Socket | undefined
  frames: number
  secondStartedAtMs: number
  /** Since the last frame of the client. */
  pingsUnanswered: number
  ended: boolean
}

/** The runtime's server. */
export type Server = Bun.Server<SocketState>
/** The connection of one request. */
export class BunPeer implements Peer {
  upgraded = false
  #keptOpen = false
  #port = 0
  readonly #server: Server
  readonly #request: Request
  readonly #streamIdleSeconds: number
  readonly #longLived: Set<number>

  constructor(server: Server, request: Request, streamIdleSeconds: number, longLived: Set<number>) {
    this.#server = server
    this.#request = request
    this.#streamIdleSeconds = streamIdleSeconds
    this.#longLived = longLived
  }

  get address(): string {
    return this.#server.requestIP(this.#request)?.address ?? ''
  }

  keepOpen(): void {
    this.#keptOpen = true
    this.#noteLongLived()
    this.#server.timeout(this.#request, 0)
  }

  upgrade(handler: SocketHandler): boolean {
    const counts = { frames: 0, secondStartedAtMs: 0, pingsUnanswered: 0 }
    const data: SocketState = { handler, socket: undefined, ...counts, ended: false }
    this.#noteLongLived()
    this.upgraded = this.#server.upgrade(this.#request, { data })
    return this.upgraded
  }

  #noteLongLived(): void {
    this.#port = this.#server.requestIP(this.#request)?.port ?? 0
    this.#longLived.add(this.#port)
  }

  /** `keepOpen` lifts the timeout of the whole connection; not restored, an idle client would never be disconnected. */
  answered(response: Response): void {
    if (!this.#keptOpen) return
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    if (!isStream) this.#longLived.delete(this.#port)
    this.#server.timeout(this.#request, isStream ? this.#streamIdleSeconds : IDLE_SECONDS)
  }
}
