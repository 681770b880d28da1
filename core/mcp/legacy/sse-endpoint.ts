import { randomBytes } from 'node:crypto'
import type { IdText } from '../rpc/rpc.ts'
import { callList, lostAnswers, sealCalls } from './lost-calls.ts'
import type { Session } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionStream, StreamWire } from './session-streams.ts'
import type { SseConnection } from './sse-connection.ts'

/** Time in which a returning client may answer the `ping`, in milliseconds; after that it is sent the new address. */
const ANSWER_MS = 2_000
const QUESTION_BYTES = 16

/**
 * The `endpoint` event of a session of the HTTP+SSE transport. A client stores only the address, and sends no last
 * event id on reconnecting (the SDK omits that header), so the address contains the calls in flight and is sent again
 * when they change. A returning client first gets a `ping`: it posts the response to the address that it has.
 */
export class SseEndpoint implements StreamWire {
  /** The id of the `ping`, while its response may come. */
  question: IdText | undefined
  readonly #path: string
  readonly #sealer: TokenSealer
  readonly #session: () => Session
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(path: string, sealer: TokenSealer, session: () => Session) {
    this.#path = path
    this.#sealer = sealer
    this.#session = session
  }

  /** For a client that was connected before: the next connection begins with a `ping`. `over` runs at its end. */
  ask(over: () => void): IdText {
    const question = JSON.stringify(`back-${randomBytes(QUESTION_BYTES).toString('base64url')}`)
    this.question = question
    this.#timer = setTimeout(() => {
      over()
      this.settle([], '')
    }, ANSWER_MS)
    this.#timer.unref()
    return question
  }

  /** Sends the address, and the error responses of lost calls. Has no effect where no `ping` is pending. */
  settle(lost: readonly IdText[], requestId: string): void {
    clearTimeout(this.#timer)
    if (this.question === undefined) return
    this.question = undefined
    const { streams, ended } = this.#session()
    if (ended) return
    streams.writeOpeningNow()
    for (const answer of lostAnswers(lost, requestId)) streams.send(streams.standalone, answer)
  }

  writeOpening(connection: SseConnection, eventId: string, calls: string): void {
    if (this.question !== undefined) connection.message(`{"jsonrpc":"2.0","id":${this.question},"method":"ping"}`)
    else connection.named('endpoint', eventId, this.#address(calls))
  }

  calls(stream: SessionStream): string {
    return callList(this.#session(), stream)
  }

  reportCalls(connection: SseConnection, eventId: string, calls: string): void {
    this.writeOpening(connection, eventId, calls)
  }

  #address(calls: string): string {
    if (calls === '') return this.#path
    const { principal, scope } = this.#session()
    return `${this.#path}&calls=${sealCalls(this.#sealer, principal, scope.path, calls)}`
  }
}
