import { randomBytes } from 'node:crypto'
import type { IdText } from '../rpc/rpc.ts'
import { callList, lostAnswers, sealCalls } from './lost-calls.ts'
import type { Session } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionStream, StreamWire } from './session-streams.ts'
import type { SseConnection } from './sse-connection.ts'

/** A client that is back has so long to say where it posted before, in milliseconds; then it is told where to post. */
const ANSWER_MS = 2_000
const QUESTION_BYTES = 16

/**
 * The `endpoint` event of a session of the older pair. A client keeps its address alone, and sends no last event id when it
 * comes back (the SDK leaves that header out), so the calls in flight are part of the address: it is told anew when they
 * change. One that comes back is asked (`ping`) before it is told the new address: its answer goes to the one it has.
 */
export class SseEndpoint implements StreamWire {
  /** The id of the question, as long as its answer may come. */
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

  /** Its client says that it was here before: the next connection begins with the question. `over` runs when that is settled. */
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

  /** Tells where to post, and which calls were lost. Without effect where nothing was asked. */
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
