import { LIMITS } from '../../config/limits.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { type JsonText, LongText, partsOf } from '../../domain/json/long-text.ts'
import { SseConnection } from './sse-connection.ts'
import type { ReplayEvent, UserReplay } from './user-replay.ts'

interface RingEvent extends ReplayEvent {
  readonly stream: SessionStream
  readonly sequence: number
  readonly atMs: number
}

/** One stream of a session: its events outlive the connection that carries it. */
export class SessionStream {
  readonly number: number
  /** Opened by a GET: it carries messages that belong to no call. */
  readonly standalone: boolean
  connection: SseConnection | undefined
  /** Sequence number of the last event that a connection accepted. */
  delivered = 0
  last = 0
  /** No more events will follow. */
  finished = false
  /** Its reader accepts other event types than `message`. */
  named = false
  /** The calls in flight last sent to its reader, and their form in event ids. */
  calls = ''
  callsInId = ''

  constructor(number: number, standalone: boolean) {
    this.number = number
    this.standalone = standalone
  }
}

/** Writes the streams of one transport. The transports differ in how the next process learns which calls were in flight. */
export interface StreamWire {
  /** Writes the first event of each connection. `id` names the event after which it continues. */
  writeOpening(connection: SseConnection, id: string, calls: string): void
  /** The calls in flight to record on this stream: the same text for the same calls, empty without any. */
  calls(stream: SessionStream): string
  /** Their form in an event id. Default: not included. */
  inEventId?(calls: string): string
  /** Sends the changed calls to a reader that accepts other event types. */
  reportCalls(connection: SseConnection, id: string, calls: string): void
}

/** Keeps the streams of all sessions alive and counts them. */
export interface StreamHost {
  readonly now: () => number
  opened(connection: SseConnection): void
  closed(connection: SseConnection): void
}

/** The accounts that all sessions of one user share. */
export interface StreamAccount {
  readonly bytes: ByteAccount
  readonly replay: UserReplay
}

/**
 * The event streams of one session and the ring buffer of their last events. An event id names session, stream and
 * sequence number; ids of other sessions are unknown here, so they replay nothing.
 */
export class SessionStreams {
  /** The stream for messages that belong to no call: of the latest open GET. Without a connection it buffers. */
  standalone: SessionStream
  readonly #host: StreamHost
  readonly #account: StreamAccount
  readonly #tag: string
  readonly #wire: StreamWire
  readonly #streams = new Map<number, SessionStream>()
  #ring: RingEvent[] = []
  #ringBytes = 0
  #lastNumber = 0

  /** `tag`: prefix of the event ids. */
  constructor(host: StreamHost, account: StreamAccount, tag: string, wire: StreamWire) {
    this.#host = host
    this.#account = account
    this.#tag = tag
    this.#wire = wire
    this.standalone = this.create(true)
  }

  create(standalone = false): SessionStream {
    this.#lastNumber += 1
    const stream = new SessionStream(this.#lastNumber, standalone)
    this.#streams.set(stream.number, stream)
    return stream
  }

  get open(): number {
    let count = 0
    for (const stream of this.#streams.values()) if (stream.connection) count += 1
    return count
  }

  /** Number of open streams that were opened by a GET. */
  get openStandalones(): number {
    let count = 0
    for (const stream of this.#streams.values()) if (stream.connection && stream.standalone) count += 1
    return count
  }

  /** Attaches a connection to a stream and closes the previous one. `after`: the last event that its reader has. */
  connect(stream: SessionStream, after = stream.delivered): SseConnection {
    const before = stream.connection
    stream.connection = undefined
    before?.close()
    const connection: SseConnection = new SseConnection(this.#host.now, this.#account.bytes, () => {
      this.#host.closed(connection)
      if (stream.connection !== connection) return
      stream.connection = undefined
      this.#left(stream)
    })
    stream.connection = connection
    this.#host.opened(connection)
    this.#note(stream)
    this.#wire.writeOpening(connection, this.#id(stream, after), stream.calls)
    return connection
  }

  send(stream: SessionStream, text: JsonText): void {
    this.#send(stream, new LongText(partsOf(text)))
  }

  finish(stream: SessionStream): void {
    stream.finished = true
    stream.connection?.close()
  }

  /**
   * Opens a new stream for messages that belong to no call; it takes over undelivered events. `named`: its reader
   * accepts other event types than `message`.
   */
  openStandalone(named: boolean): Response {
    const before = this.standalone
    const stream = this.create(true)
    stream.named = named
    const connection = this.connect(stream)
    this.#goOnWith(stream)
    if (!before.connection) this.#streams.delete(before.number)
    this.callsChanged()
    return connection.response
  }

  /** A stream that sends these messages and ends. */
  openBrief(texts: readonly string[]): Response {
    const stream = this.create()
    const { response } = this.connect(stream)
    for (const text of texts) this.send(stream, text)
    this.finish(stream)
    return response
  }

  /**
   * Resumes after an event id: sends the stream's later events once and in order, then new ones. `nothing` when the
   * stream has ended and all of it was seen; undefined when the id is not of this session.
   */
  resume(lastEventId: string): Response | 'nothing' | undefined {
    const [tag, number, sequence] = lastEventId.split('.')
    const stream = tag === this.#tag ? this.#streams.get(Number(number)) : undefined
    if (!stream) return undefined
    const after = Number(sequence)
    const missed = this.#ring.filter(event => event.stream === stream && event.sequence > after)
    if (stream.finished && missed.length === 0) return 'nothing'
    const connection = this.connect(stream, after)
    for (const event of missed) connection.event(this.#id(stream, event.sequence), event.data)
    stream.delivered = stream.last
    if (stream.finished) connection.close()
    else if (stream.standalone) this.#goOnWith(stream)
    return connection.response
  }

  /** Called when the set of calls in flight has changed. */
  callsChanged(): void {
    const { standalone } = this
    const { connection } = standalone
    // Behind a large message it could exceed the queue limit of the reader; the next change is sent instead.
    if (!connection || connection.full || !standalone.named || !this.#note(standalone)) return
    this.#wire.reportCalls(connection, this.#id(standalone, standalone.delivered), standalone.calls)
  }

  /** Writes the first event of the connection now, if it could not be written before. */
  writeOpeningNow(): void {
    const { standalone } = this
    if (!standalone.connection) return
    this.#note(standalone)
    this.#wire.writeOpening(standalone.connection, this.#id(standalone, standalone.delivered), standalone.calls)
  }

  /** Drops expired events, and ended streams without events. */
  trim(): void {
    const oldest = this.#host.now() - LIMITS.eventReplayMs
    while (this.#ring[0] && this.#ring[0].atMs < oldest) this.#dropFirst()
    const kept = new Set(this.#ring.map(event => event.stream))
    for (const [number, stream] of this.#streams)
      if (this.#isOver(stream) && !stream.connection && !kept.has(stream)) this.#streams.delete(number)
  }

  /** `code`: the reason in the last event of streams that belong to no call. */
  end(code?: ErrorCode): void {
    const streams = [...this.#streams.values()]
    for (const stream of streams) stream.finished = true
    for (const { connection, standalone } of streams) connection?.close(standalone ? code : undefined)
    while (this.#ring.length > 0) this.#dropFirst()
  }

  /** True when nothing more will be sent on it. */
  #isOver(stream: SessionStream): boolean {
    return stream.finished || (stream.standalone && stream !== this.standalone)
  }

  /** When the latest of several GET streams breaks, another one carries the messages that belong to no call. */
  #left(stream: SessionStream): void {
    if (stream !== this.standalone || stream.finished) return
    const open = [...this.#streams.values()].filter(each => each.standalone && each.connection)
    const latest = open.at(-1)
    if (latest) this.#goOnWith(latest)
  }

  /** Makes this the stream for messages that belong to no call; it takes over undelivered events. */
  #goOnWith(stream: SessionStream): void {
    const before = this.standalone
    if (before === stream) return
    this.standalone = stream
    if (before.connection) return
    const isMissed = (event: RingEvent) => event.stream === before && event.sequence > before.delivered
    const missed = this.#ring.filter(isMissed)
    if (missed.length === 0) return
    // They belong to the other stream now: a client that resumes the previous one must not get them twice.
    this.#ring = this.#ring.filter(event => !isMissed(event))
    for (const event of missed) this.#forgotten(event)
    for (const { data } of missed) this.#send(stream, data)
  }

  #send(stream: SessionStream, data: LongText): void {
    stream.last += 1
    this.#remember(stream, data)
    if (stream.connection?.event(this.#id(stream, stream.last), data)) stream.delivered = stream.last
  }

  #remember(stream: SessionStream, data: LongText): void {
    const event: RingEvent = {
      stream,
      sequence: stream.last,
      data,
      atMs: this.#host.now(),
      drop: () => this.#dropFirst(),
      chainBefore: undefined,
      chainAfter: undefined,
    }
    // An event that exceeds the user's replay quota is sent, but cannot be replayed.
    if (!this.#account.replay.add(event)) return
    this.#ring.push(event)
    this.#ringBytes += data.byteLength
    while (
      this.#ring.length > LIMITS.eventReplayEvents ||
      (this.#ringBytes > LIMITS.eventReplayBytes && this.#ring.length > 1)
    )
      this.#dropFirst()
  }

  #dropFirst(): void {
    const dropped = this.#ring.shift()
    if (dropped) this.#forgotten(dropped)
  }

  #forgotten(event: RingEvent): void {
    this.#ringBytes -= event.data.byteLength
    this.#account.replay.delete(event)
  }

  /** Records the calls in flight for the next event; false when they are unchanged. */
  #note(stream: SessionStream): boolean {
    const calls = this.#wire.calls(stream)
    if (calls === stream.calls) return false
    stream.calls = calls
    stream.callsInId = (calls !== '' && this.#wire.inEventId?.(calls)) || ''
    return true
  }

  #id(stream: SessionStream, sequence: number): string {
    if (this.#wire.inEventId) this.#note(stream)
    return `${this.#tag}.${stream.number}.${sequence}${stream.callsInId}`
  }
}
