import type { ErrorCode } from '../../contract/errors.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import type { JsonText, LongText } from '../../domain/json/long-text.ts'
import { CountedBody } from '../../request/held-body.ts'

/** Bytes that may wait for one slow reader before its stream is closed; each event counts as at least 1/1,000 of it. */
const MAX_QUEUED = 1_024 * 1_024
const EVENT_WEIGHT = Math.ceil(MAX_QUEUED / 1_000)
/** Most bytes that the runtime gets at a time; it asks for more when the socket has taken them. */
const SLICE_BYTES = 64 * 1_024
const EVENT_END = Buffer.from('\n\n')

const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** A part of an event, or all of it. */
interface Piece {
  readonly bytes: Uint8Array
  /** True when the event ends with it. */
  readonly last: boolean
}

/** One HTTP response body with server-sent events. Bytes that the client has not read are charged to its user. */
export class SseConnection {
  readonly response: Response
  lastWriteMs: number
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  readonly #closed: () => void
  readonly #now: () => number
  readonly #account: ByteAccount
  #queue: Piece[] = []
  /** Bytes of the first piece that the runtime has. */
  #sent = 0
  /** The runtime has the beginning of an event whose rest is queued. */
  #amidst = false
  #queuedBytes = 0
  #queuedWeight = 0
  /** The runtime asked for more while the queue was empty. */
  #wanted = false
  #ended = false

  /** `closed` runs once, at any end. The first bytes are written at once, since Bun delays the head for them. */
  constructor(now: () => number, account: ByteAccount, closed: () => void) {
    this.#now = now
    this.#account = account
    this.#closed = closed
    this.lastWriteMs = now()
    const body = new CountedBody(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => this.#pull(),
        cancel: () => {
          this.#drop()
          this.#controller = undefined
          this.#end()
        },
      },
      { highWaterMark: 0 },
    )
    this.response = new Response(body, { headers: SSE_HEADERS })
    this.comment()
  }

  get open(): boolean {
    return !this.#ended
  }

  /** True when so much waits for the reader that the next event would close the stream. */
  get full(): boolean {
    return this.#queuedWeight >= MAX_QUEUED
  }

  /** Writes one event with one `data:` line. False when the reader is gone, or too slow and therefore disconnected. */
  event(id: string, data: LongText): boolean {
    return this.#message(`event: message\nid: ${id}\ndata: `, data)
  }

  /** Writes an empty event whose id makes the stream resumable. */
  priming(id: string): boolean {
    return this.#write(Buffer.from(`id: ${id}\ndata: \n\n`))
  }

  /** Writes an event of another type than `message`. */
  named(type: string, id: string, data: string): boolean {
    return this.#write(Buffer.from(`event: ${type}\nid: ${id}\ndata: ${data}\n\n`))
  }

  /** Writes a message without an id: modern streams cannot be resumed. */
  message(data: JsonText): boolean {
    if (typeof data !== 'string') return this.#message('event: message\ndata: ', data)
    return this.#write(Buffer.from(`event: message\ndata: ${data}\n\n`))
  }

  /** Writes whole, serialized events. */
  events(text: string): boolean {
    return this.#write(Buffer.from(text))
  }

  comment(): boolean {
    return this.#write(Buffer.from(': ok\n\n'))
  }

  /** Ends the stream after what was written. `code`: the reason, sent as a last event that is not a `message`. */
  close(code?: ErrorCode): void {
    if (code) this.#write(Buffer.from(`event: stream.end\ndata: ${JSON.stringify({ code })}\n\n`))
    if (this.#ended) return
    this.#end()
    if (this.#queue.length === 0) this.#finish()
  }

  /** Long data is not copied: the session's replay events may share the bytes. */
  #message(head: string, { parts, byteLength }: LongText): boolean {
    const chunks = [Buffer.from(head), ...parts, EVENT_END]
    return byteLength <= SLICE_BYTES ? this.#write(Buffer.concat(chunks)) : this.#write(...chunks)
  }

  /** Writes one event, or none of it. */
  #write(...chunks: readonly Uint8Array[]): boolean {
    if (this.#ended) return false
    if (this.full) return this.#cut('overflow')
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0)
    if (!this.#account.fits(bytes)) return this.#cut('quota_bytes')
    this.#account.add(bytes)
    this.lastWriteMs = this.#now()
    for (const chunk of chunks) this.#queue.push({ bytes: chunk, last: chunk === chunks.at(-1) })
    this.#queuedBytes += bytes
    for (const chunk of chunks) this.#queuedWeight += weightOf(chunk)
    if (this.#wanted) this.#pull()
    return true
  }

  /** Gives the runtime the next slice, or the end. */
  #pull(): void {
    this.#wanted = false
    const slice = this.#nextSlice()
    if (slice) this.#controller?.enqueue(slice)
    else if (this.#ended) this.#finish()
    else this.#wanted = true
  }

  #nextSlice(): Uint8Array | undefined {
    const queue = this.#queue
    const [head] = queue
    if (!head) return undefined
    const first = head.bytes
    if (first.byteLength - this.#sent > SLICE_BYTES) {
      this.#sent += SLICE_BYTES
      return first.subarray(this.#sent - SLICE_BYTES, this.#sent)
    }
    const parts = [this.#sent === 0 ? first : first.subarray(this.#sent)]
    let bytes = first.byteLength - this.#sent
    this.#sent = 0
    let taken = 1
    for (let next = queue[taken]; next && bytes + next.bytes.byteLength <= SLICE_BYTES; next = queue[taken]) {
      parts.push(next.bytes)
      bytes += next.bytes.byteLength
      taken += 1
    }
    this.#amidst = queue[taken - 1]?.last === false
    for (const whole of queue.splice(0, taken)) this.#gone(whole.bytes)
    return parts.length === 1 ? parts[0] : Buffer.concat(parts)
  }

  #gone(chunk: Uint8Array): void {
    this.#queuedBytes -= chunk.byteLength
    this.#queuedWeight -= weightOf(chunk)
    this.#account.give(chunk.byteLength)
  }

  /** Disconnects a slow reader and drops its queue. Its parser discards an incomplete event at the end. */
  #cut(why: string): false {
    const atBoundary = this.#sent === 0 && !this.#amidst
    this.#drop()
    this.#end()
    if (atBoundary) this.#controller?.enqueue(Buffer.from(`: ${why}\n\n`))
    this.#finish()
    return false
  }

  #drop(): void {
    this.#account.give(this.#queuedBytes)
    this.#queue = []
    this.#queuedBytes = 0
    this.#queuedWeight = 0
  }

  #finish(): void {
    const controller = this.#controller
    this.#controller = undefined
    try {
      controller?.close()
    } catch {
      // The socket closed in this moment, and Bun closed the stream before it reported that.
    }
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#closed()
  }
}

function weightOf(chunk: Uint8Array): number {
  return Math.max(chunk.byteLength, EVENT_WEIGHT)
}
