import { HubError } from '../../contract/errors.ts'
import { checkGetAccept, checkVersion } from './request-headers.ts'
import { methodNotAllowed, requireSession, type ScopedRequest } from './scoped-request.ts'
import { admitStream, type Session } from './session.ts'
import type { SessionTable } from './sessions.ts'

/** GET streams of one session at a time; a client needs one, and one more while it reconnects. */
const MAX_STREAMS = 8

/** Streamable HTTP as of 2025-03-26 to 2025-11-25, besides what is POSTed. */
export class LegacyWire {
  readonly #sessions: SessionTable
  readonly #now: () => number

  constructor(sessions: SessionTable, now: () => number) {
    this.#sessions = sessions
    this.#now = now
  }

  /** Throws HubError for whatever is refused before a message can be answered. */
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
    // How an event stream says that there is nothing to come back for; anything else is asked again for ever.
    if (resumed === 'nothing') return new Response(null, { status: 204 })
    if (!resumed && session.streams.openStandalones >= MAX_STREAMS)
      throw new HubError('stream_exists', `Cannot open a stream: this session has ${MAX_STREAMS} already`)
    info.keepOpen()
    const response = resumed ?? session.streams.openStandalone()
    session.requests.streamOpened()
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
