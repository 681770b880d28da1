import type { HubError } from '../../contract/errors.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { arrayText, type JsonText, LongText, partsOf, weightOfText } from '../../domain/json/long-text.ts'
import { SECURITY_HEADERS } from '../../request/headers.ts'
import { HELD_BYTES, heldBody } from '../../request/held-body.ts'
import type { LinkedNode } from '../rpc/linked-list.ts'
import type { Session } from './session.ts'
import type { SessionStream } from './session-streams.ts'

/** Responses belong to one caller, so they must not be cached. Shared, since setting each header costs 0.1 µs. */
const JSON_HEADERS = new Headers({
  ...SECURITY_HEADERS,
  'content-type': 'application/json',
  'cache-control': 'no-store',
})
const OK = { headers: JSON_HEADERS }

function shortResponse(text: string, status: number): Response {
  return new Response(text, status === 200 ? OK : { status, headers: JSON_HEADERS })
}

/** True for the refusal of a plugin that its caller may repeat later, which has its HTTP status where no part of the answer was sent. */
export function isThrottled({ own, status }: HubError): boolean {
  return own !== undefined && status === 429
}

/** A JSON-RPC error with the status 429. */
export function throttledResponse(text: JsonText, { retryAfter = 1 }: HubError, account: ByteAccount): Response {
  const { headers, body, status } = heldJsonResponse(text, account, 429)
  return new Response(body, { status, headers: { ...Object.fromEntries(headers), 'retry-after': String(retryAfter) } })
}

/** A JSON response. A long text is charged to the account until the client has read it. */
export function heldJsonResponse(text: JsonText, account: ByteAccount, status = 200): Response {
  if (typeof text === 'string' && text.length <= HELD_BYTES) return shortResponse(text, status)
  return new Response(heldBody(new LongText(partsOf(text)), account), { status, headers: JSON_HEADERS })
}

/** A response that has not begun. */
export interface SilentReply extends LinkedNode<SilentReply> {
  readonly startedMs: number
  /** Begins the response as an event stream, so that the client knows that the hub is working on it. */
  startStream(): void
}

/** Watches responses that have not begun. */
export interface ReplyHost {
  readonly now: () => number
  waiting(reply: SilentReply): void
  begun(reply: SilentReply): void
}

/**
 * The response to one POST. It is plain JSON when the results come first; it becomes an event stream when another
 * message comes before them, or after some silence, so that the client learns that the hub is working on it.
 */
export class PostResponse implements SilentReply {
  readonly response: Promise<Response>
  readonly startedMs: number
  chainBefore: SilentReply | undefined
  chainAfter: SilentReply | undefined
  readonly #host: ReplyHost
  readonly #session: Session
  readonly #keepOpen: () => void
  readonly #batch: boolean
  readonly #jsonAlone: boolean
  #resolve!: (response: Response) => void
  #left: number
  #texts: JsonText[] | undefined
  /** Characters or bytes of the collected texts, charged to the account. */
  #collected = 0
  #stream: SessionStream | undefined
  #done = false

  /**
   * `expected`: the number of requests in the POST. `batch`: the body was an array, so a JSON response is one too. `jsonAlone`:
   * the client accepts no event stream, so what comes before the response is sent on the session's GET stream.
   */
  constructor(
    host: ReplyHost,
    session: Session,
    expected: number,
    batch: boolean,
    keepOpen: () => void,
    jsonAlone: boolean,
  ) {
    this.#jsonAlone = jsonAlone
    this.#host = host
    this.#session = session
    this.#left = expected
    this.#batch = batch
    this.#keepOpen = keepOpen
    this.startedMs = host.now()
    this.response = new Promise(resolve => {
      this.#resolve = resolve
    })
    host.waiting(this)
  }

  get broken(): boolean {
    return this.#jsonAlone || (this.#stream !== undefined && !this.#stream.connection)
  }

  get carrier(): SessionStream | undefined {
    return this.#stream
  }

  /** Takes the response to one of the requests. `throttled`: the error in it, which is also the POST's own if nothing was sent. */
  answer(text: JsonText, throttled?: HubError): void {
    if (this.#done) return
    this.#left -= 1
    if (this.#stream) this.#session.streams.send(this.#stream, text)
    else if (!this.#batch) {
      const { bytes } = this.#session.load
      this.#finish()
      this.#resolve(throttled ? throttledResponse(text, throttled, bytes) : heldJsonResponse(text, bytes))
      return
    } else {
      this.#texts ??= []
      this.#texts.push(text)
      this.#collected += weightOfText(text)
      this.#session.load.bytes.add(weightOfText(text))
    }
    if (this.#left === 0) this.#complete()
  }

  /** One of the requests was cancelled and gets no response. */
  withoutAnswer(): void {
    if (this.#done) return
    this.#left -= 1
    if (this.#left === 0) this.#complete()
  }

  /** Sends a notification or a request of the hub before the responses. */
  send(text: string): void {
    if (this.#done || this.#session.ended) return
    const { streams } = this.#session
    streams.send(this.#jsonAlone ? streams.standalone : this.#begun(), text)
  }

  /** Begins the event stream now; the collected texts are sent first. For a client of JSON alone the POST stays open. */
  startStream(): void {
    if (!this.#jsonAlone) this.#begun()
    else {
      this.#keepOpen()
      this.#host.begun(this)
    }
  }

  #begun(): SessionStream {
    if (this.#stream) return this.#stream
    const { streams } = this.#session
    const stream = streams.create()
    this.#stream = stream
    this.#keepOpen()
    this.#host.begun(this)
    const connection = streams.connect(stream)
    const texts = this.#takeTexts()
    for (const text of texts) streams.send(stream, text)
    this.#resolve(connection.response)
    streams.callsChanged()
    return stream
  }

  /** The session has ended: nothing more is sent. */
  abandon(): void {
    if (this.#done) return
    this.#complete()
  }

  #complete(): void {
    // Without any response the POST cannot end as JSON; an empty stream closes.
    const isEmpty = !this.#stream && !this.#texts
    if (isEmpty && !this.#jsonAlone) this.#begun()
    this.#finish()
    if (isEmpty && this.#jsonAlone) this.#resolve(new Response(null, { status: 202 }))
    else if (this.#stream) this.#session.streams.finish(this.#stream)
    else this.#resolve(heldJsonResponse(arrayText(this.#takeTexts()), this.#session.load.bytes))
  }

  #takeTexts(): readonly JsonText[] {
    const texts = this.#texts ?? []
    this.#texts = undefined
    this.#session.load.bytes.give(this.#collected)
    this.#collected = 0
    return texts
  }

  #finish(): void {
    this.#done = true
    if (!this.#stream) this.#host.begun(this)
    this.#session.requests.closeCall(this)
  }
}
