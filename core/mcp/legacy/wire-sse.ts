import type { LiveCredentials } from '../../auth/live-credentials.ts'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { JsonText } from '../../domain/json/long-text.ts'
import { targetOf } from '../../request/canonical-path.ts'
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
import { openCalls, reconnectsByItself } from './lost-calls.ts'
import { bodyWeight, readBody } from './request-body.ts'
import { checkBodyType, checkGetAccept, checkVersion } from './request-headers.ts'
import { type KnownRequest, methodNotAllowed } from './scoped-request.ts'
import { admitStream, type Session, takesArrays } from './session.ts'
import type { TokenSealer } from './session-id.ts'
import type { SessionStream } from './session-streams.ts'
import { SseEndpoint } from './sse-endpoint.ts'
import type { UserLoads } from './user-loads.ts'

/** The version of a session until its client has sent `initialize`. */
const FIRST_VERSION = '2024-11-05'

interface SseWireParts extends InitializeParts {
  readonly scopes: ScopeTable
  readonly loads: UserLoads
  readonly credentials: Pick<LiveCredentials, 'require'>
  readonly dispatcher: LegacyDispatcher
  readonly sealer: TokenSealer
  readonly now: () => number
}

/**
 * The HTTP+SSE transport of 2024-11-05: GET opens a stream, which is the session, and names the address for messages;
 * all responses come on that stream. The session behind it is like any other.
 */
export class SseWire {
  readonly #parts: SseWireParts
  /** Returning clients that were sent a `ping` and have not answered yet. */
  readonly #questions = new Map<IdText, { readonly session: Session; readonly endpoint: SseEndpoint }>()

  constructor(parts: SseWireParts) {
    this.#parts = parts
  }

  /** GET of a scope. A client that reconnects with its last event id resumes its stream. */
  open({ request, info, actor, principal }: KnownRequest, scope: Scope): Response {
    if (request.method !== 'GET') throw methodNotAllowed(SSE_ROOT, request.method, ['GET'])
    const { loads } = this.#parts
    checkGetAccept(request.headers)
    checkVersion(request.headers, undefined)
    admitStream(loads.of(actor.userId))
    const lastEventId = request.headers.get('last-event-id')
    const resumed = lastEventId === null ? undefined : this.#resume(scope, actor, lastEventId)
    if (!resumed) refuseWhileDraining(this.#parts)
    info.keepOpen()
    if (resumed) return resumed
    // Changes from before the first subscriber are not announced to it.
    if (!this.#parts.subscribers.hasSubscribers(scope)) scope.markAnnounced()
    const base = new URL(info.baseUrl).pathname.replace(/\/$/, '')
    const opened = this.#opened({ principal, actor, scope }, base, isReturning(request.headers))
    return opened.streams.openStandalone(reconnectsByItself(request.headers))
  }

  #opened(claim: Pick<KnownRequest, 'principal' | 'actor'> & { scope: Scope }, base: string, back: boolean): Session {
    const { sessions, sealer } = this.#parts
    let endpoint: SseEndpoint | undefined
    const session = sessions.open({
      ...claim,
      protocolVersion: FIRST_VERSION,
      clientInfo: {},
      capabilities: {},
      bytes: 0,
      endpointOf: (id, opened) => {
        endpoint = new SseEndpoint(`${base}${MESSAGES_PATH}?sessionId=${id}`, sealer, opened)
        return endpoint
      },
    })
    if (back && endpoint) {
      const question = endpoint.ask(() => this.#questions.delete(question))
      this.#questions.set(question, { session, endpoint })
    }
    return session
  }

  /** POST of messages. Throws session_not_found alike for ids that are unknown, ended, foreign or of `/mcp`. */
  async post(known: KnownRequest): Promise<Response> {
    const { request, principal, actor } = known
    if (request.method !== 'POST') throw methodNotAllowed(MESSAGES_PATH, request.method, ['POST'])
    const query = new URLSearchParams(targetOf(request.url).query)
    const session = await this.#session(query, principal, actor)
    const load = session?.load ?? this.#askedOf(principal)?.load
    if (!load) throw notFound()
    checkBodyType(request.headers)
    const text = await readBody({ request, account: load.bytes, keepOpen: () => known.info.keepOpen() })
    await this.#parts.credentials.require(actor)
    const value = parseBody(text)
    if (this.#isBack(known, value, query, session)) return new Response(null, { status: 202 })
    if (!session) throw notFound()
    checkVersion(request.headers, session.introduced ? session.protocolVersion : undefined)
    session.actor = actor
    session.lastUsedMs = this.#parts.now()
    const weight = bodyWeight(text)
    if (Array.isArray(value)) this.#batch(known, session, value, weight)
    else this.#single(known, session, value, weight)
    return new Response(null, { status: 202 })
  }

  async #session(query: URLSearchParams, principal: string, actor: UserActor): Promise<Session | undefined> {
    const { sessions, scopes } = this.#parts
    const id = query.get('sessionId')
    if (id === null)
      throw new HubError('session_required', `${MESSAGES_PATH} needs "sessionId" as the endpoint event named it`)
    const session = sessions.get(id)
    if (session?.wire === 'sse' && session.principal === principal) {
      const path = session.scope.stale ? parseScopePath(session.scope.path) : undefined
      if (path) await scopes.find(actor, principal, path, 'legacy')
      if (!session.ended) return session
    }
    return undefined
  }

  #askedOf(principal: string): Session | undefined {
    for (const { session } of this.#questions.values()) if (session.principal === principal) return session
    return undefined
  }

  /** Handles the response to the `ping` of a new stream, posted to the address of the stream before it. */
  #isBack(known: KnownRequest, value: JsonValue, query: URLSearchParams, before: Session | undefined): boolean {
    const message = Array.isArray(value) ? undefined : readMessage(value)
    if (message?.kind !== 'result' && message?.kind !== 'error') return false
    const pending = this.#questions.get(message.id)
    if (pending?.session.principal !== known.principal) return false
    const { session, endpoint } = pending
    this.#questions.delete(message.id)
    const lost = openCalls(this.#parts.sealer, session.principal, session.scope.path, query.get('calls') ?? '')
    // The stream of the earlier session has no reader any more.
    if (before && before !== session) void this.#parts.sessions.end(before, 'deleted')
    endpoint.settle(lost, known.info.requestId)
    return true
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
      // An error that is not one of HTTP is sent as an ordinary response.
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
    dispatcher.admit(known, session, message, weight)
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
 * For a client whose stream broke and could not be resumed: it continues with the new one without `initialize`, since
 * it still has a session. Its capabilities are unknown, so it gets no server requests. `headers` have been checked.
 */
function introduceReturned(session: Session, headers: Headers): void {
  const protocolVersion = headers.get('mcp-protocol-version') ?? FIRST_VERSION
  session.introduce({ protocolVersion, clientInfo: {}, capabilities: {} })
  session.initialized = true
}

/** A client that sends a protocol version, or an event id of the hub, was connected before. */
function isReturning(headers: Headers): boolean {
  return (headers.has('mcp-protocol-version') || headers.has('last-event-id')) && reconnectsByItself(headers)
}

function notFound(): HubError {
  return new HubError('session_not_found', `There is no such session; open ${SSE_ROOT} again`)
}

function refuse({ info }: KnownRequest, session: Session, id: IdText | undefined, error: HubError): void {
  new StreamReply(session).answer(errorMessage(id, rpcError(error, info.requestId)))
}

/** All messages of a call go on the one stream of its session. */
class StreamReply implements CallReply {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  get broken(): boolean {
    return !this.#session.streams.standalone.connection
  }

  get carrier(): SessionStream {
    return this.#session.streams.standalone
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
