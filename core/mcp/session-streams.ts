import { LIMITS } from '../config/limits.ts'
import { SseConnection } from './sse-connection.ts'

interface RingEvent {
  readonly stream: SessionStream
  readonly sequence: number
  readonly text: string
  readonly atMs: number
}

/** One stream of a session: what was sent on it outlives the connection that carries it. */
export class SessionStream {
  readonly number: number
  connection: SseConnection | undefined
  /** Sequence of the last event that some connection took. */
  delivered = 0
  last = 0
  /** Nothing more will come. */
  finished = false

  constructor(number: number) {
    this.number = number
  }
}

/** What a connection begins with; `id` names the place behind which it goes on. */
export type Greeting = (connection: SseConnection, id: string) => void

/** Where the streams of all sessions are kept alive and counted. */
export interface StreamHost {
  readonly now: () => number
  opened(connection: SseConnection): void
  closed(connection: SseConnection): void
}

/**
 * The server-sent streams of one session and the ring of their last events. An event id names session, stream and place;
 * ids of other sessions are not known here, so they replay nothing.
 */
export class SessionStreams {
  /** The stream for what belongs to no call; without a connection it collects. */
  standalone: SessionStream
  readonly #host: StreamHost
  readonly #tag: string
  readonly #greet: Greeting | undefined
  readonly #streams = new Map<number, SessionStream>()
  #ring: RingEvent[] = []
  #ringBytes = 0
  #lastNumber = 0

  /** `tag` is what event ids begin with; `greet` writes what each connection begins with. */
  constructor(host: StreamHost, tag: string, greet?: Greeting) {
    this.#host = host
    this.#tag = tag
    this.#greet = greet
    this.standalone = this.create()
  }

  create(): SessionStream {
    this.#lastNumber += 1
    const stream = new SessionStream(this.#lastNumber)
    this.#streams.set(stream.number, stream)
    return stream
  }

  get open(): number {
    let count = 0
    for (const stream of this.#streams.values()) if (stream.connection) count += 1
    return count
  }

  /** Puts a connection under a stream; one that was there is closed. `after`: the last event that its reader has. */
  connect(stream: SessionStream, after = stream.delivered): SseConnection {
    stream.connection?.close()
    const connection: SseConnection = new SseConnection(this.#host.now, () => {
      if (stream.connection === connection) stream.connection = undefined
      this.#host.closed(connection)
    })
    stream.connection = connection
    this.#host.opened(connection)
    this.#greet?.(connection, this.#id(stream, after))
    return connection
  }

  send(stream: SessionStream, text: string): void {
    stream.last += 1
    this.#remember({ stream, sequence: stream.last, text, atMs: this.#host.now() })
    if (stream.connection?.event(this.#id(stream, stream.last), text)) stream.delivered = stream.last
  }

  finish(stream: SessionStream): void {
    stream.finished = true
    stream.connection?.close()
  }

  /** A new stream for what belongs to no call; it takes over what no connection took yet. */
  openStandalone(): Response {
    const before = this.standalone
    const missed = before.connection ? [] : this.#ring.filter(e => e.stream === before && e.sequence > before.delivered)
    this.standalone = this.create()
    const connection = this.connect(this.standalone)
    if (!before.connection) this.#streams.delete(before.number)
    for (const event of missed) this.send(this.standalone, event.text)
    return connection.response
  }

  /**
   * Goes on behind an event id: what the stream sent since then, once and in order, then what is still to come.
   * `nothing` when the stream has ended and all of it was seen; undefined when the id is not of this session.
   */
  resume(lastEventId: string): Response | 'nothing' | undefined {
    const [tag, number, sequence] = lastEventId.split('.')
    const stream = tag === this.#tag ? this.#streams.get(Number(number)) : undefined
    if (!stream) return undefined
    const after = Number(sequence)
    const missed = this.#ring.filter(event => event.stream === stream && event.sequence > after)
    if (stream.finished && missed.length === 0) return 'nothing'
    const connection = this.connect(stream, after)
    for (const event of missed) connection.event(this.#id(stream, event.sequence), event.text)
    stream.delivered = stream.last
    if (stream.finished) connection.close()
    return connection.response
  }

  /** Forgets what is too old, and streams that have ended and of which nothing is left. */
  trim(): void {
    const oldest = this.#host.now() - LIMITS.eventReplayMs
    while (this.#ring[0] && this.#ring[0].atMs < oldest) this.#dropFirst()
    const kept = new Set(this.#ring.map(event => event.stream))
    for (const [number, stream] of this.#streams)
      if (stream.finished && !stream.connection && !kept.has(stream)) this.#streams.delete(number)
  }

  end(): void {
    for (const stream of this.#streams.values()) {
      stream.finished = true
      stream.connection?.close()
    }
    this.#ring = []
    this.#ringBytes = 0
  }

  #remember(event: RingEvent): void {
    this.#ring.push(event)
    this.#ringBytes += event.text.length
    while (
      this.#ring.length > LIMITS.eventReplayEvents ||
      (this.#ringBytes > LIMITS.eventReplayBytes && this.#ring.length > 1)
    )
      this.#dropFirst()
  }

  #dropFirst(): void {
    const dropped = this.#ring.shift()
    if (dropped) this.#ringBytes -= dropped.text.length
  }

  #id(stream: SessionStream, sequence: number): string {
    return `${this.#tag}.${stream.number}.${sequence}`
  }
}
