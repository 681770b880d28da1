import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { RefusedMessage } from '../rpc/http-errors.ts'
import {
  asHubError,
  errorMessage,
  type IdText,
  isPlainObject,
  type Message,
  type RequestMessage,
  readMessage,
  rpcError,
} from '../rpc/rpc.ts'
import type { LegacyDispatcher } from './dispatcher.ts'
import { heldJsonResponse, PostResponse, type ReplyHost } from './post-response.ts'
import { acceptsJsonAlone, checkVersion } from './request-headers.ts'
import { requireSession, type ScopedRequest } from './scoped-request.ts'
import { type Session, takesArrays } from './session.ts'

interface PostParts {
  readonly dispatcher: LegacyDispatcher
  readonly replies: ReplyHost
  /** Opens a session and returns the response to `initialize`. */
  initialize(scoped: ScopedRequest, id: IdText, params: JsonObject | undefined): Response
}

/** Handles POSTs of legacy clients: requests, notifications, responses, and up to 2025-03-26 arrays of them. */
export class LegacyHandler {
  readonly #parts: PostParts

  constructor(parts: PostParts) {
    this.#parts = parts
  }

  /** Handles one body: a message, or an array of them; `weight`: bytes charged. Throws RefusedMessage, HubError. */
  receive(scoped: ScopedRequest, value: JsonValue, weight: number): Response | Promise<Response> {
    if (Array.isArray(value)) return this.#batch(scoped, value, weight)
    const message = readMessage(value)
    if (message.kind === 'bad') throw new RefusedMessage(message.id, new HubError('request_invalid', message.message))
    const id = message.kind === 'notification' ? undefined : message.id
    try {
      return this.#single(scoped, message, weight)
    } catch (error) {
      throw new RefusedMessage(id, asHubError(error))
    }
  }

  #single(scoped: ScopedRequest, message: Message, weight: number): Response | Promise<Response> {
    const initialize = message.kind === 'request' && message.method === 'initialize'
    checkVersion(scoped.request.headers, scoped.session?.protocolVersion)
    if (initialize) {
      if (scoped.session) throw new HubError('request_invalid', 'This session is initialized already')
      return this.#parts.initialize(scoped, message.id, message.params)
    }
    const session = this.#enter(scoped)
    if (message.kind !== 'request') {
      this.#parts.dispatcher.take(session, message)
      return new Response(null, { status: 202 })
    }
    this.#parts.dispatcher.admit(scoped, session, message, weight)
    const reply = new PostResponse(
      this.#parts.replies,
      session,
      1,
      false,
      () => scoped.info.keepOpen(),
      jsonAlone(scoped),
    )
    this.#parts.dispatcher.start(scoped, session, message, weight, reply)
    return reply.response
  }

  #batch(scoped: ScopedRequest, values: readonly JsonValue[], weight: number): Response | Promise<Response> {
    checkVersion(scoped.request.headers, scoped.session?.protocolVersion)
    const messages = values.map(readMessage)
    if (messages.some(message => message.kind === 'request' && message.method === 'initialize'))
      throw new HubError('request_invalid', '"initialize" may not be part of an array')
    const session = this.#enter(scoped)
    checkArray(session, values)
    const answered = messages.filter(message => message.kind === 'request' || message.kind === 'bad').length
    const reply =
      answered > 0 &&
      new PostResponse(this.#parts.replies, session, answered, true, () => scoped.info.keepOpen(), jsonAlone(scoped))
    for (const message of messages) {
      if (message.kind === 'bad') {
        const error = new HubError('request_invalid', message.message)
        if (reply) reply.answer(errorMessage(message.id, rpcError(error, scoped.info.requestId)))
      } else if (message.kind !== 'request') this.#parts.dispatcher.take(session, message)
      else if (reply) this.#startInBatch(scoped, session, message, Math.ceil(weight / values.length), reply)
    }
    return reply ? reply.response : new Response(null, { status: 202 })
  }

  #enter(scoped: ScopedRequest): Session {
    const session = requireSession(scoped)
    session.actor = scoped.actor
    session.lastUsedMs = this.#parts.replies.now()
    return session
  }

  #startInBatch(
    scoped: ScopedRequest,
    session: Session,
    message: RequestMessage,
    weight: number,
    reply: PostResponse,
  ): void {
    try {
      this.#parts.dispatcher.admit(scoped, session, message, weight)
    } catch (error) {
      reply.answer(errorMessage(message.id, rpcError(asHubError(error), scoped.info.requestId)))
      return
    }
    this.#parts.dispatcher.start(scoped, session, message, weight, reply)
  }
}

/** Throws request_invalid where the session's version has no arrays, or this one is empty or too long. */
function checkArray({ protocolVersion }: Session, { length }: readonly JsonValue[]): void {
  if (!takesArrays(protocolVersion))
    throw new HubError('request_invalid', `Arrays are not part of the protocol version ${protocolVersion}`)
  const most = LIMITS.batchMessages
  if (length === 0 || length > most)
    throw new HubError('request_invalid', `An array holds 1 to ${most} messages, and this one holds ${length}`)
}

/** The response to `initialize`, with the session id in its header. */
export function initializeResponse(session: Session, text: string): Response {
  const response = heldJsonResponse(text, session.load.bytes)
  response.headers.set('mcp-session-id', session.id)
  return response
}

/** A parameter that should be an object; empty when it is not. */
export function objectParam(params: JsonObject | undefined, name: string): JsonObject {
  const value = params?.[name]
  return isPlainObject(value) ? value : {}
}

function jsonAlone({ request }: ScopedRequest): boolean {
  return acceptsJsonAlone(request.headers)
}
