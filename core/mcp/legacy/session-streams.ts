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

/** One stream of a session: what was sent on it outlives the connection that carries it. */
export class SessionStream {
  readonly number: number
  /** Opened by a GET: it carries what belongs to no call. */
  readonly standalone: boolean
  connection: SseConnection | undefined
  /** Sequence of the last event that some connection took. */
  delivered = 0
  last = 0
  /** Nothing more will come. */
  finished = false
  /** Its reader takes more than messages in the middle of it. */
  named = false
  /** The calls in flight of which its reader was told last, and what event ids say of them. */
  calls = ''
  callsInId = ''

  constructor(number: number, standalone: boolean) {
    this.number = number
    this.standalone = standalone
  }
}

/** What the two wires do each in its own way, above all to let a process to come know of calls that were in flight. */
export interface StreamWire {
  /** Writes what each connection begins with. `id` names the place behind which it goes on. */
  writeOpening(connection: SseConnection, id: string, calls: string): void
  /** The calls in flight of which this stream's reader keeps note: the same text for the same ones, empty without any. */
  calls(stream: SessionStream): string
  /** What an event id says of them behind its place. Default: nothing. */
  inEventId?(calls: string): string
  /** Lets a reader that takes more than messages know that they are others than before. */
  reportCalls(connection: SseConnection, id: string, calls: string): void
}

/** Where the streams of all sessions are kept alive and counted. */
export interface StreamHost {
  readonly now: () => number
  opened(connection: SseConnection): void
  closed(connection: SseConnection): void
}

/** What all sessions of one user share. */
export interface StreamAccount {
  readonly bytes: ByteAccount
  readonly replay: UserReplay
}

/**
 * The server-sent streams of one session and the ring of their last events. An event id names session, stream and place;
 * ids of other sessions are not known here, so they replay nothing.
 */
export class SessionStreams {
  /** The stream for what belongs to no call: the latest GET's that is open. Without a connection it collects. */
  standalone: SessionStream
  readonly #host: StreamHost
  readonly #account: StreamAccount
  readonly #tag: string
  readonly #wire: StreamWire
  readonly #streams = new Map<number, SessionStream>()
  #ring: RingEvent[] = []
  #ringBytes = 0
  #lastNumber = 0

  /** `tag` is what event ids begin with. */
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

  /** How many of them were opened by a GET. */
  get openStandalones(): number {
    let count = 0
    for (const stream of this.#streams.values()) if (stream.connection && stream.standalone) count += 1
    return count
  }

  /** Puts a connection under a stream; one that was there is closed. `after`: the last event that its reader has. */
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
   * A new stream for what belongs to no call; it takes over what no connection took yet. `named`: its reader takes more than
   * messages in the middle of it.
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

  /** A stream that says this and ends. */
  openBrief(texts: readonly string[]): Response {
    const stream = this.create()
    const { response } = this.connect(stream)
    for (const text of texts) this.send(stream, text)
    this.finish(stream)
    return response
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
    for (const event of missed) connection.event(this.#id(stream, event.sequence), event.data)
    stream.delivered = stream.last
    if (stream.finished) connection.close()
    else if (stream.standalone) this.#goOnWith(stream)
    return connection.response
  }

  /** The calls in flight are others than before. */
  callsChanged(): void {
    const { standalone } = this
    const { connection } = standalone
    // Behind a large answer it would count against the reader as too slow: then it is told at the next change.
    if (!connection || connection.full || !standalone.named || !this.#note(standalone)) return
    this.#wire.reportCalls(connection, this.#id(standalone, standalone.delivered), standalone.calls)
  }

  /** What each connection begins with is said now: it was not known before. */
  writeOpeningNow(): void {
    const { standalone } = this
    if (!standalone.connection) return
    this.#note(standalone)
    this.#wire.writeOpening(standalone.connection, this.#id(standalone, standalone.delivered), standalone.calls)
  }

  /** Forgets what is too old, and streams that have ended and of which nothing is left. */
  trim(): void {
    const oldest = this.#host.now() - LIMITS.eventReplayMs
    while (this.#ring[0] && this.#ring[0].atMs < oldest) this.#dropFirst()
    const kept = new Set(this.#ring.map(event => event.stream))
    for (const [number, stream] of this.#streams)
      if (this.#isOver(stream) && !stream.connection && !kept.has(stream)) this.#streams.delete(number)
  }

  /** `code`: what those that belong to no call say at their end. */
  end(code?: ErrorCode): void {
    const streams = [...this.#streams.values()]
    for (const stream of streams) stream.finished = true
    for (const { connection, standalone } of streams) connection?.close(standalone ? code : undefined)
    while (this.#ring.length > 0) this.#dropFirst()
  }

  /** Nothing will be sent on it any more. */
  #isOver(stream: SessionStream): boolean {
    return stream.finished || (stream.standalone && stream !== this.standalone)
  }

  /** A client may have several GET streams open: when the latest breaks, what belongs to no call goes on with one that is left. */
  #left(stream: SessionStream): void {
    if (stream !== this.standalone || stream.finished) return
    const open = [...this.#streams.values()].filter(each => each.standalone && each.connection)
    const latest = open.at(-1)
    if (latest) this.#goOnWith(latest)
  }

  /** What belongs to no call goes on with this stream; it takes over what no connection took yet. */
  #goOnWith(stream: SessionStream): void {
    const before = this.standalone
    if (before === stream) return
    this.standalone = stream
    if (before.connection) return
    const isMissed = (event: RingEvent) => event.stream === before && event.sequence > before.delivered
    const missed = this.#ring.filter(isMissed)
    if (missed.length === 0) return
    // They are the other stream's now: whoever resumes the one before must not be sent them a second time.
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
    // What has no room among all of the user's is sent, but cannot be sent again.
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

  /** Keeps what the reader is told of the calls in flight with what is written next; false where that is nothing new. */
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
