import type { IdText } from '../rpc/rpc.ts'
import { callList, openCalls, sealCalls } from './lost-calls.ts'
import { primesStreams, type Session } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionStream, StreamWire } from './session-streams.ts'
import type { SseConnection } from './sse-connection.ts'

/** The streams of streamable HTTP. The calls in flight are part of event ids, with which clients come back. */
export class EventIdCalls implements StreamWire {
  readonly #sealer: TokenSealer
  readonly #session: () => Session

  constructor(sealer: TokenSealer, session: () => Session) {
    this.#sealer = sealer
    this.#session = session
  }

  /** From 2025-11-25 on: an empty event whose id makes even a stream that breaks at once one that can be resumed. */
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

  /** An event of a type that nobody knows: its id is what matters. */
  reportCalls(connection: SseConnection, id: string): void {
    connection.named('calls', id, '{}')
  }
}

/** The calls that were lost with an earlier process, whose event id this is. */
export function callsInEventId(sealer: TokenSealer, session: Session, eventId: string): readonly IdText[] {
  const [, , , sealed] = eventId.split('.')
  return sealed === undefined ? [] : openCalls(sealer, session.principal, session.id, sealed)
}
