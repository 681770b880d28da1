import { HubError } from '../contract/errors.ts'
import { type Dial, dial } from './dial.ts'
import type { Exchange } from './exchange.ts'
import { notSent } from './failures.ts'
import type { ResponseHead } from './head.ts'
import type { ConnectionOwner, Http1Connection } from './http1.ts'
import { ReuseTrust } from './reuse.ts'
import type { ConnectTarget } from './targets.ts'

/** Most connections to one origin at a time. */
const MAX_CONNECTIONS = 512
/** Fewer would make a busy server reconnect often: at 256 calls in flight, 64 cost 37 µs a call instead of 16. */
const MAX_IDLE = 256
const MAX_IDLE_MS = 60_000
/** Subtracted from the server's keep-alive time, for the network delay. */
const IDLE_MARGIN_MS = 1_000
/** Interval at which idle connections are checked, in milliseconds: one timer for all is cheaper than one for each call. */
const SWEEP_MS = 250

/** The connections of one guarded fetch to one origin: kept alive, one exchange at a time on each. */
export class OriginPool implements ConnectionOwner {
  readonly heads = new Map<string, ResponseHead>()
  readonly #origin: string
  readonly #targets: () => Promise<readonly ConnectTarget[]>
  readonly #open = new Set<Http1Connection>()
  readonly #idle: Http1Connection[] = []
  readonly #dials = new Set<Dial>()
  readonly #trust = new ReuseTrust()
  #sweeper: ReturnType<typeof setTimeout> | undefined
  #closed = false

  /** `targets` is called for each new connection. */
  constructor(origin: string, targets: () => Promise<readonly ConnectTarget[]>) {
    this.#origin = origin
    this.#targets = targets
  }

  /** True when no connection is open or being opened. */
  get empty(): boolean {
    return this.#open.size === 0 && this.#dials.size === 0
  }

  /** Sends the exchange's request on an idle connection or a new one. */
  send(exchange: Exchange): void {
    const now = performance.now()
    if (exchange.repeatable || this.#trust.reuses(this.#idle[0], now)) {
      // The most recently used connection is the least likely to have been closed.
      for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
        if (connection.idleUntilMs <= now) connection.drop()
        else if (connection.start(exchange)) return
      }
    }
    this.#dial(exchange)
  }

  /** Drops every connection. Exchanges in flight fail with `connection_lost`. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#sweeper)
    for (const waiting of [...this.#dials]) waiting.cancel(this.#closedError())
    for (const connection of [...this.#open]) connection.abandon(new HubError('connection_lost', this.#closedText()))
  }

  idle(connection: Http1Connection, idleSeconds: number | undefined): void {
    const now = performance.now()
    const saidMs = idleSeconds === undefined ? undefined : idleSeconds * 1_000 - IDLE_MARGIN_MS
    const idleMs = this.#trust.idleMs(saidMs, now)
    if (this.#closed || idleMs <= 0 || this.#idle.length >= MAX_IDLE) return connection.drop()
    connection.idleSinceMs = now
    connection.idleUntilMs = now + Math.min(idleMs, MAX_IDLE_MS)
    this.#idle.push(connection)
    if (this.#sweeper === undefined) this.#sweepLater()
  }

  lost(connection: Http1Connection, retry: Exchange | undefined, byServer: boolean): void {
    this.#open.delete(connection)
    const index = this.#idle.indexOf(connection)
    if (index >= 0) {
      this.#idle.splice(index, 1)
      if (byServer) this.#trust.closedIdle(connection, performance.now())
    }
    if (retry) this.#dial(retry)
  }

  #sweepLater(): void {
    this.#sweeper = setTimeout(() => {
      this.#sweeper = undefined
      const now = performance.now()
      for (const connection of [...this.#idle]) if (connection.idleUntilMs <= now) connection.drop()
      if (this.#idle.length > 0) this.#sweepLater()
    }, SWEEP_MS)
    this.#sweeper.unref()
  }

  #dial(exchange: Exchange): void {
    if (exchange.over) return
    if (this.#closed) return exchange.fail(this.#closedError())
    // An idle connection can make room.
    if (this.#open.size + this.#dials.size >= MAX_CONNECTIONS) this.#idle[0]?.drop()
    if (this.#open.size + this.#dials.size >= MAX_CONNECTIONS) {
      return exchange.fail(notSent('overloaded', `${MAX_CONNECTIONS} connections to ${this.#origin} are open already`))
    }
    const waiting = dial(this.#origin, this, this.#targets)
    this.#dials.add(waiting)
    // An exchange that ends while it waits for its connection stops waiting.
    exchange.carrier = { drop: () => waiting.cancel(this.#closedError()) }
    waiting.connection.then(
      connection => {
        this.#dials.delete(waiting)
        this.#open.add(connection)
        exchange.carrier = undefined
        if (exchange.over || this.#closed) connection.drop()
        else if (!connection.start(exchange)) exchange.fail(this.#closedError())
      },
      error => {
        this.#dials.delete(waiting)
        exchange.carrier = undefined
        exchange.fail(error)
      },
    )
  }

  #closedText(): string {
    return `The connection to ${this.#origin} was closed by the hub`
  }

  #closedError(): HubError {
    return notSent('connection_lost', this.#closedText())
  }
}
