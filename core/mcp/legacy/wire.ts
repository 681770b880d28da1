import { HubError } from '../../contract/errors.ts'
import { callsInEventId } from './event-id-calls.ts'
import { lostAnswers, reconnectsByItself } from './lost-calls.ts'
import { checkGetAccept, checkVersion } from './request-headers.ts'
import { methodNotAllowed, requireSession, type ScopedRequest } from './scoped-request.ts'
import { admitStream, primesStreams, type Session } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionTable } from './sessions.ts'

/** GET streams of one session at a time; a client needs one, and one more while it reconnects. */
const MAX_STREAMS = 8

/** Streamable HTTP of 2025-03-26 to 2025-11-25, except for POST. */
export class LegacyWire {
  readonly #sessions: SessionTable
  readonly #sealer: TokenSealer
  readonly #now: () => number

  constructor(sessions: SessionTable, sealer: TokenSealer, now: () => number) {
    this.#sessions = sessions
    this.#sealer = sealer
    this.#now = now
  }

  /** Throws HubError for whatever is rejected before a message can be answered. */
  handle(scoped: ScopedRequest): Response | Promise<Response> {
    switch (scoped.request.method) {
      case 'GET':
        return this.#get(scoped)
      case 'DELETE':
        return this.#delete(scoped)
      default:
        throw methodNotAllowed('/mcp', scoped.request.method, ['GET', 'POST', 'DELETE'])
    }
  }

  #get(scoped: ScopedRequest): Response {
    const { request, info, actor } = scoped
    checkGetAccept(request.headers)
    const session = this.#session(scoped)
    session.actor = actor
    session.lastUsedMs = this.#now()
    admitStream(session.load)
    const lastEventId = request.headers.get('last-event-id')
    const resumed = lastEventId === null ? undefined : session.streams.resume(lastEventId)
    // An EventSource does not reconnect after this; with any other status it would retry for ever.
    if (resumed === 'nothing') return new Response(null, { status: 204 })
    if (!resumed && session.streams.openStandalones >= MAX_STREAMS)
      throw new HubError('stream_exists', `Cannot open a stream: this session has ${MAX_STREAMS} already`)
    info.keepOpen()
    const response = resumed ?? this.#opened(session, scoped, lastEventId ?? '')
    session.requests.streamOpened()
    return response
  }

  /** A client that reconnects from an earlier process first gets error responses for the calls that were lost. */
  #opened(session: Session, { request, info }: ScopedRequest, lastEventId: string): Response {
    const { streams, protocolVersion } = session
    const answers = lostAnswers(callsInEventId(this.#sealer, session, lastEventId), info.requestId)
    // The client then resumes the stream of the call itself.
    if (answers.length > 0 && primesStreams(protocolVersion)) return streams.openBrief(answers)
    const response = streams.openStandalone(reconnectsByItself(request.headers))
    for (const answer of answers) streams.send(streams.standalone, answer)
    return response
  }

  async #delete(scoped: ScopedRequest): Promise<Response> {
    await this.#sessions.end(this.#session(scoped), 'deleted')
    return new Response(null, { status: 204 })
  }

  #session(scoped: ScopedRequest): Session {
    const session = requireSession(scoped)
    checkVersion(scoped.request.headers, session.protocolVersion)
    return session
  }
}
