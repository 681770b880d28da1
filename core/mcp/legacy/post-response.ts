import type { ByteAccount } from '../../domain/byte-account.ts'
import { arrayText, type JsonText, LongText, partsOf, weightOfText } from '../../domain/json/long-text.ts'
import { SECURITY_HEADERS } from '../../request/headers.ts'
import { HELD_BYTES, heldBody } from '../../request/held-body.ts'
import type { LinkedNode } from '../rpc/linked-list.ts'
import type { Session } from './session.ts'
import type { SessionStream } from './session-streams.ts'

/** Never stored by anybody on the way: answers belong to one caller. Ready-made, since setting each costs 0.1 µs. */
const JSON_HEADERS = new Headers({
  ...SECURITY_HEADERS,
  'content-type': 'application/json',
  'cache-control': 'no-store',
})
const OK = { headers: JSON_HEADERS }

/** A JSON answer. */
export function jsonResponse(text: string, status = 200): Response {
  return new Response(text, status === 200 ? OK : { status, headers: JSON_HEADERS })
}

/** The same for a text of any length: what is large counts for the account until the client has taken it. */
export function heldJsonResponse(text: JsonText, account: ByteAccount, status = 200): Response {
  if (typeof text === 'string' && text.length <= HELD_BYTES) return jsonResponse(text, status)
  return new Response(heldBody(new LongText(partsOf(text)), account), { status, headers: JSON_HEADERS })
}

/** An answer that has not begun. */
export interface SilentReply extends LinkedNode<SilentReply> {
  readonly startedMs: number
  /** Begins with server-sent events, so that the client knows that somebody is at work. */
  startStream(): void
}

/** Where the replies that have not begun are watched for silence. */
export interface ReplyHost {
  readonly now: () => number
  waiting(reply: SilentReply): void
  begun(reply: SilentReply): void
}

/**
 * The answer to one POST. Plain JSON when the answers come first; server-sent events as soon as anything comes before
 * them, or after a silence, since the client then learns that the hub is at work.
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
  #resolve!: (response: Response) => void
  #left: number
  #texts: JsonText[] | undefined
  /** Characters or bytes of them, which count for the account. */
  #collected = 0
  #stream: SessionStream | undefined
  #done = false

  /** `expected`: how many requests the POST holds. `batch`: it was an array, so a JSON answer is one too. */
  constructor(host: ReplyHost, session: Session, expected: number, batch: boolean, keepOpen: () => void) {
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
    return this.#stream !== undefined && !this.#stream.connection
  }

  /** The answer to one of the requests. */
  answer(text: JsonText): void {
    if (this.#done) return
    this.#left -= 1
    if (this.#stream) this.#session.streams.send(this.#stream, text)
    else if (!this.#batch) {
      this.#finish()
      this.#resolve(heldJsonResponse(text, this.#session.load.bytes))
      return
    } else {
      this.#texts ??= []
      this.#texts.push(text)
      this.#collected += weightOfText(text)
      this.#session.load.bytes.add(weightOfText(text))
    }
    if (this.#left === 0) this.#complete()
  }

  /** One of the requests gets no answer: it was cancelled. */
  withoutAnswer(): void {
    if (this.#done) return
    this.#left -= 1
    if (this.#left === 0) this.#complete()
  }

  /** A notification or a request of the hub, ahead of the answers. */
  send(text: string): void {
    if (this.#done || this.#session.ended) return
    this.#session.streams.send(this.startStream(), text)
  }

  /** Begins with server-sent events now; what was collected goes first. */
  startStream(): SessionStream {
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
    return stream
  }

  /** The session is over: nothing more will be said. */
  abandon(): void {
    if (this.#done) return
    this.#complete()
  }

  #complete(): void {
    // A request without an answer cannot end as JSON; its stream just closes.
    if (!this.#stream && !this.#texts) this.startStream()
    this.#finish()
    if (this.#stream) this.#session.streams.finish(this.#stream)
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
