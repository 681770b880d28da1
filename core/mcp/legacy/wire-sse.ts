import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { targetOf } from '../../request/canonical-path.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { RefusedMessage } from '../rpc/http-errors.ts'
import {
  asHubError,
  errorMessage,
  type IdText,
  type Message,
  parseBody,
  type RequestMessage,
  readMessage,
  resultMessage,
  rpcError,
} from '../rpc/rpc.ts'
import { MESSAGES_PATH, parseScopePath, type ScopeTable, SSE_ROOT } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import type { LegacyDispatcher } from './dispatcher.ts'
import { type InitializeParts, initializeResult, refuseWhileDraining } from './initialize.ts'
import type { CallReply } from './legacy-call.ts'
import { bodyWeight, readBody } from './request-body.ts'
import { checkBodyType, checkGetAccept, checkVersion } from './request-headers.ts'
import { methodNotAllowed } from './scoped-request.ts'
import { admitStream, type Session, takesArrays } from './session.ts'

/** What a session speaks until its client has said what it speaks. */
const FIRST_VERSION = '2024-11-05'

interface SseWireParts extends InitializeParts {
  readonly scopes: ScopeTable
  readonly dispatcher: LegacyDispatcher
  readonly now: () => number
}

/** One request at `/sse…` or `/messages` whose caller is known. */
interface KnownRequest {
  readonly request: Request
  readonly info: RequestInfo
  readonly actor: UserActor
  readonly principal: string
}

/**
 * The pair of 2024-11-05: GET opens a stream, which is the session, and names where its messages are posted; whatever is
 * said in return comes on that stream. The session behind it is like any other.
 */
export class SseWire {
  readonly #parts: SseWireParts

  constructor(parts: SseWireParts) {
    this.#parts = parts
  }

  /** GET of a scope. A client that comes back with the last event it has goes on where its stream broke. */
  open({ request, info, actor, principal }: KnownRequest, scope: Scope): Response {
    if (request.method !== 'GET') throw methodNotAllowed(SSE_ROOT, request.method, ['GET'])
    const { sessions } = this.#parts
    checkGetAccept(request.headers)
    checkVersion(request.headers, undefined)
    admitStream(sessions.load(actor.userId))
    const lastEventId = request.headers.get('last-event-id')
    const resumed = lastEventId === null ? undefined : this.#resume(scope, actor, lastEventId)
    if (!resumed) refuseWhileDraining(this.#parts)
    info.keepOpen()
    if (resumed) return resumed
    // What changed while nobody was here is no news to the first who comes.
    if (!this.#parts.subscribers.hasSubscribers(scope)) scope.markAnnounced()
    const base = new URL(info.baseUrl).pathname.replace(/\/$/, '')
    const session = sessions.open({
      principal,
      actor,
      scope,
      protocolVersion: FIRST_VERSION,
      clientInfo: {},
      capabilities: {},
      bytes: 0,
      endpointOf: id => `${base}${MESSAGES_PATH}?sessionId=${id}`,
    })
    return session.streams.openStandalone()
  }

  /** POST of messages. Throws session_not_found alike for an id that is unknown, ended, another caller's or of `/mcp`. */
  async post(known: KnownRequest): Promise<Response> {
    const { request, principal, actor } = known
    if (request.method !== 'POST') throw methodNotAllowed(MESSAGES_PATH, request.method, ['POST'])
    const session = await this.#session(request, principal, actor)
    checkBodyType(request.headers)
    const text = await readBody(request, session.load.bytes)
    const value = parseBody(text)
    checkVersion(request.headers, session.introduced ? session.protocolVersion : undefined)
    session.actor = actor
    session.lastUsedMs = this.#parts.now()
    const weight = bodyWeight(text)
    if (Array.isArray(value)) this.#batch(known, session, value, weight)
    else this.#single(known, session, value, weight)
    return new Response(null, { status: 202 })
  }

  async #session(request: Request, principal: string, actor: UserActor): Promise<Session> {
    const { sessions, scopes } = this.#parts
    const id = new URLSearchParams(targetOf(request.url).query).get('sessionId')
    if (id === null)
      throw new HubError('session_required', `${MESSAGES_PATH} needs "sessionId" as the endpoint event named it`)
    const session = sessions.get(id)
    if (session?.wire === 'sse' && session.principal === principal) {
      const path = session.scope.stale ? parseScopePath(session.scope.path) : undefined
      if (path) await scopes.find(actor, principal, path, 'legacy')
      if (!session.ended) return session
    }
    throw new HubError('session_not_found', `There is no such session; open ${SSE_ROOT} again`)
  }

  #resume(scope: Scope, actor: UserActor, lastEventId: string): Response | undefined {
    for (const session of this.#parts.sessions.of(scope)) {
      const resumed = session.wire === 'sse' ? session.streams.resume(lastEventId) : undefined
      if (!(resumed instanceof Response)) continue
      session.actor = actor
      session.lastUsedMs = this.#parts.now()
      session.requests.streamOpened()
      return resumed
    }
    return undefined
  }

  #single(known: KnownRequest, session: Session, value: JsonValue, weight: number): void {
    const message = readMessage(value)
    if (message.kind === 'bad') throw new RefusedMessage(message.id, new HubError('request_invalid', message.message))
    try {
      this.#take(known, session, message, weight)
    } catch (thrown) {
      const error = asHubError(thrown)
      // What is no matter of HTTP is an answer like any other.
      if (message.kind === 'request' && error.status === 200) refuse(known, session, message.id, error)
      else throw new RefusedMessage(message.kind === 'notification' ? undefined : message.id, error)
    }
  }

  #batch(known: KnownRequest, session: Session, values: readonly JsonValue[], weight: number): void {
    if (!takesArrays(session.protocolVersion))
      throw new HubError('request_invalid', `Arrays are not part of the protocol version ${session.protocolVersion}`)
    if (values.length === 0 || values.length > LIMITS.batchMessages)
      throw new HubError(
        'request_invalid',
        `An array holds 1 to ${LIMITS.batchMessages} messages, and this one holds ${values.length}`,
      )
    const messages = values.map(readMessage)
    if (messages.some(message => message.kind === 'request' && message.method === 'initialize'))
      throw new HubError('request_invalid', '"initialize" may not be part of an array')
    for (const message of messages) {
      if (message.kind === 'bad') refuse(known, session, message.id, new HubError('request_invalid', message.message))
      else
        try {
          this.#take(known, session, message, Math.ceil(weight / messages.length))
        } catch (error) {
          if (message.kind === 'request') refuse(known, session, message.id, asHubError(error))
        }
    }
  }

  #take(known: KnownRequest, session: Session, message: Message, weight: number): void {
    const { dispatcher } = this.#parts
    if (message.kind === 'request' && message.method === 'initialize') return this.#initialize(session, message)
    const isPing = message.kind === 'request' && message.method === 'ping'
    if (!session.introduced && !isPing) introduceReturned(session, known.request.headers)
    if (message.kind !== 'request') return dispatcher.take(session, message)
    dispatcher.admit(session, message, weight)
    const scoped = { ...known, scope: session.scope, session, namesSession: true }
    dispatcher.start(scoped, session, message, weight, new StreamReply(session))
  }

  #initialize(session: Session, { id, params }: RequestMessage): void {
    if (session.introduced) throw new HubError('request_invalid', 'This session is initialized already')
    const { introduction, resultText } = initializeResult(this.#parts, session.scope, params)
    session.introduce(introduction)
    new StreamReply(session).answer(resultMessage(id, resultText))
  }
}

/**
 * For a client whose stream broke and could not be resumed: it goes on with the new one, without `initialize`, since to it the
 * session is still the same. Its capabilities are not known, so that it is asked nothing. `headers` have been checked.
 */
function introduceReturned(session: Session, headers: Headers): void {
  const protocolVersion = headers.get('mcp-protocol-version') ?? FIRST_VERSION
  session.introduce({ protocolVersion, clientInfo: {}, capabilities: {} })
  session.initialized = true
}

function refuse({ info }: KnownRequest, session: Session, id: IdText | undefined, error: HubError): void {
  new StreamReply(session).answer(errorMessage(id, rpcError(error, info.requestId)))
}

/** Everything of a call on the one stream of its session. */
class StreamReply implements CallReply {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  get broken(): boolean {
    return !this.#session.streams.standalone.connection
  }

  answer(text: JsonText): void {
    this.send(text)
    this.#session.requests.closeCall(this)
  }

  withoutAnswer(): void {
    this.#session.requests.closeCall(this)
  }

  send(text: JsonText): void {
    const { streams, ended } = this.#session
    if (!ended) streams.send(streams.standalone, text)
  }
}
