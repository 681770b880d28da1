import type { IdText } from '../rpc/rpc.ts'
import { callList, openCalls, sealCalls } from './lost-calls.ts'
import { primesStreams, type Session } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionStream, StreamWire } from './session-streams.ts'
import type { SseConnection } from './sse-connection.ts'

/** Streams of Streamable HTTP. Event ids contain the sealed calls in flight; reconnecting clients send the last id. */
export class EventIdCalls implements StreamWire {
  readonly #sealer: TokenSealer
  readonly #session: () => Session

  constructor(sealer: TokenSealer, session: () => Session) {
    this.#sealer = sealer
    this.#session = session
  }

  /** From 2025-11-25 on: an empty event whose id lets the client resume even a stream that breaks at once. */
  writeOpening(connection: SseConnection, id: string): void {
    if (primesStreams(this.#session().protocolVersion)) connection.priming(id)
  }

  calls(stream: SessionStream): string {
    return callList(this.#session(), stream)
  }

  inEventId(calls: string): string {
    const { principal, id } = this.#session()
    return `.${sealCalls(this.#sealer, principal, id, calls)}`
  }

  /** An event of an unknown type, which clients ignore: only its id matters. */
  reportCalls(connection: SseConnection, id: string): void {
    connection.named('calls', id, '{}')
  }
}

/** The calls in an event id of an earlier process; they were lost with that process. */
export function callsInEventId(sealer: TokenSealer, session: Session, eventId: string): readonly IdText[] {
  const [, , , sealed] = eventId.split('.')
  return sealed === undefined ? [] : openCalls(sealer, session.principal, session.id, sealed)
}
