import { HubError } from '../contract/errors.ts'
import type { GuardedResponse } from '../contract/fetch.ts'
import { GrowingBytes } from '../domain/growing-bytes.ts'
import { type BodyDecoder, type BodySink, bodyTooLarge, decoderFor, Utf8Reader } from './body.ts'
import type { BodyTurns, LargeBody } from './body-turns.ts'
import type { ResponseHead } from './head.ts'

const NOTHING = Buffer.alloc(0)
/** From this size on a body, or one event of a stream, is read only while no other large one is. */
const LARGE_BYTES = 256 * 1024
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'] as const

type StreamHandlers = Parameters<GuardedResponse['stream']>[0]

/** Parts of a request that a connection writes. */
export interface RequestText {
  readonly method: string
  /** `https://host:port`, for messages: never the path, which may hold a secret. */
  readonly origin: string
  /** Head, length and body as they are sent. */
  readonly text: string | Buffer
  readonly bytes: number
  /** Longest body that is read as a whole, in decoded bytes. */
  readonly maxBytes: number
  /** 0: no limit. */
  readonly headTimeoutMs: number
  /** 0: no limit. */
  readonly idleTimeoutMs: number
  readonly signal: AbortSignal | undefined
  /** Reads large bodies one after the other; absent: at the same time. */
  readonly turns?: BodyTurns | undefined
  /** Called for each piece of the body, with its length in bytes. */
  readonly received?: ((bytes: number) => void) | undefined
}

/**
 * One request and its response. The connection feeds it; the caller reads it as a {@link GuardedResponse}. It owns its
 * timers and its listener on the caller's signal, and removes them when the response is complete or has failed.
 */
export class Exchange implements GuardedResponse, LargeBody {
  readonly request: RequestText
  /** Resolves with this object once the response head has arrived. */
  readonly answered: Promise<GuardedResponse>
  status = 0
  headers: Readonly<Record<string, string>> = {}
  /** The connection that carries it; dropped when the response is not needed any more. */
  carrier: { drop(): void; pause?(): void; resume?(): void } | undefined
  #resolve!: (response: GuardedResponse) => void
  #reject!: (error: unknown) => void
  #state: 'head' | 'body' | 'ended' | 'failed' = 'head'
  #error: unknown
  #decoder: BodyDecoder | undefined
  /** Body bytes that arrived before a reader: the first piece is not copied, since most bodies are one. */
  #first: Buffer | undefined
  #held: GrowingBytes | undefined
  #size = 0
  #handlers: StreamHandlers | undefined
  #utf8: Utf8Reader | undefined
  #wholeReady: { resolve(whole: Buffer): void; reject(error: unknown): void } | undefined
  /** Bytes of the body, or of a stream since the last event. */
  #unfinished = 0
  /** The end of the last piece of a stream, which may be the beginning of an event's end. */
  #tail = ''
  #turn: 'none' | 'waiting' | 'held' = 'none'
  #timer: ReturnType<typeof setTimeout> | undefined
  #onAbort: (() => void) | undefined

  constructor(request: RequestText) {
    this.request = request
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const { signal } = request
    if (!signal) return
    this.#onAbort = () => this.fail(signal.reason)
    if (signal.aborted) this.#onAbort()
    else signal.addEventListener('abort', this.#onAbort)
  }

  /** True when nothing more is expected: complete, failed, cancelled or aborted. */
  get over(): boolean {
    return this.#state === 'ended' || this.#state === 'failed'
  }

  /** The method is safe (RFC 9110): a repetition cannot act twice. */
  get repeatable(): boolean {
    const { method } = this.request
    return method === 'GET' || method === 'HEAD'
  }

  /** The request is written: the timeout for the head starts. */
  sent(): void {
    if (this.over) return
    this.#arm(this.request.headTimeoutMs, 'an answer')
  }

  /** The head has arrived. Throws `upstream_protocol` for an unsupported content coding. */
  begin(head: ResponseHead): void {
    if (this.over) return
    this.status = head.status
    this.headers = head.headers
    const encoding = head.headers['content-encoding']
    if (encoding !== undefined && head.framing !== 'none') this.#decoder = decoderFor(encoding, this.#sink())
    this.#state = 'body'
    this.#disarm()
    this.#resolve(this)
  }

  /** Body bytes without their framing, still in their content coding. */
  receive(bytes: Buffer): void {
    if (this.#state !== 'body') return
    this.request.received?.(bytes.length)
    if (this.request.idleTimeoutMs > 0) this.#arm(this.request.idleTimeoutMs, 'the rest of its answer')
    if (this.#decoder) this.#decoder.push(bytes)
    else this.#deliver(bytes)
    if (this.#unfinished > LARGE_BYTES && this.#turn === 'none') this.#takeTurn()
  }

  /** Continues reading, because the turn of this body has come. */
  proceed(): void {
    if (this.#turn !== 'waiting') return
    this.#turn = 'held'
    this.carrier?.resume?.()
    this.awaitBody()
  }

  /** Starts the idle timeout; called after the head when the body is not complete. */
  awaitBody(): void {
    if (this.#state === 'body' && this.#turn !== 'waiting')
      this.#arm(this.request.idleTimeoutMs, 'the rest of its answer')
  }

  /** The body is complete according to its framing. */
  end(): void {
    if (this.#state !== 'body') return
    if (this.#decoder) {
      this.#disarm()
      this.#decoder.end()
    } else this.#finish()
  }

  /** Ends the exchange with an error, in any state, and drops the connection. */
  fail(error: unknown): void {
    if (this.over) return
    const hadHead = this.#state === 'body'
    this.#state = 'failed'
    this.#error = error
    this.#release()
    this.#decoder?.cancel()
    this.#forget()
    this.carrier?.drop()
    if (!hadHead) return this.#reject(error)
    this.#wholeReady?.reject(error)
    this.#handlers?.done(error)
  }

  async text(): Promise<string> {
    return (await this.bytes()).toString()
  }

  bytes(): Promise<Buffer> {
    if (this.#state === 'ended') return Promise.resolve(this.#whole())
    if (this.#state === 'failed') return Promise.reject(this.#error)
    return new Promise((resolve, reject) => {
      this.#wholeReady = { resolve, reject }
    })
  }

  stream(handlers: StreamHandlers): void {
    this.#utf8 = new Utf8Reader()
    this.#handlers = handlers
    const before = this.#whole()
    if (before.length > 0) this.#chunk(before)
    if (this.#handlers !== handlers) return
    if (this.#state === 'ended') this.#endStream()
    if (this.#state === 'failed') handlers.done(this.#error)
  }

  cancel(): void {
    this.#handlers = undefined
    this.fail(new HubError('connection_lost', 'The answer was not read to its end'))
  }

  #sink(): BodySink {
    return {
      bytes: bytes => this.#deliver(bytes),
      end: () => this.#finish(),
      fail: error => this.fail(error),
    }
  }

  #deliver(bytes: Buffer): void {
    if (this.#state !== 'body') return
    this.#unfinished += bytes.length
    if (this.#handlers) return this.#chunk(bytes)
    this.#size += bytes.length
    if (this.#size > this.request.maxBytes) return this.fail(bodyTooLarge(this.request.maxBytes))
    if (!this.#held) {
      if (!this.#first) {
        this.#first = bytes
        return
      }
      this.#held = new GrowingBytes(this.request.maxBytes)
      this.#held.append(this.#first)
    }
    this.#held.append(bytes)
  }

  #chunk(bytes: Buffer): void {
    const text = this.#utf8?.push(bytes)
    if (!text) return
    this.#handlers?.chunk(text)
    if (this.#unfinished > LARGE_BYTES) this.#findEventEnd(text)
    this.#tail = text.slice(-3)
  }

  #findEventEnd(text: string): void {
    const seen = this.#tail + text
    const end = Math.max(...EVENT_ENDS.map(each => seen.lastIndexOf(each)))
    if (end < 0) return
    this.#unfinished = seen.length - end
    this.#endTurn()
  }

  #takeTurn(): void {
    const { turns } = this.request
    if (!turns || this.#state !== 'body') return
    if (turns.enter(this)) {
      this.#turn = 'held'
      return
    }
    this.#turn = 'waiting'
    this.#disarm()
    this.carrier?.pause?.()
  }

  #endTurn(): void {
    if (this.#turn === 'none') return
    this.#turn = 'none'
    this.request.turns?.leave(this)
  }

  #finish(): void {
    if (this.#state !== 'body') return
    this.#state = 'ended'
    this.#release()
    this.#wholeReady?.resolve(this.#whole())
    if (this.#handlers) this.#endStream()
  }

  #endStream(): void {
    const rest = this.#utf8?.end()
    if (rest) this.#handlers?.chunk(rest)
    this.#handlers?.done()
  }

  #whole(): Buffer {
    const whole = this.#held?.bytes() ?? this.#first ?? NOTHING
    this.#forget()
    return whole
  }

  #forget(): void {
    this.#first = undefined
    this.#held = undefined
  }

  #arm(timeoutMs: number, awaited: string): void {
    this.#disarm()
    if (timeoutMs <= 0) return
    this.#timer = setTimeout(() => {
      const { origin } = this.request
      this.fail(new HubError('upstream_timeout', `${origin} did not send ${awaited} within ${timeoutMs / 1000} s`))
    }, timeoutMs)
  }

  #disarm(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #release(): void {
    this.#disarm()
    this.#endTurn()
    if (!this.#onAbort) return
    this.request.signal?.removeEventListener('abort', this.#onAbort)
    this.#onAbort = undefined
  }
}
