import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Outcome } from './exchange.ts'
import { LegacyCall } from './legacy-call.ts'
import { passedHeaders } from './passed-headers.ts'
import { jsonResponse, PostReply, type ReplyHost } from './post-reply.ts'
import { checkBodyType, checkPostAccept, checkVersion, readBody } from './request-headers.ts'
import type { Router } from './router.ts'
import {
  asHubError,
  errorMessage,
  type IdText,
  idText,
  isPlainObject,
  type Message,
  parseBody,
  readMessage,
  rpcError,
} from './rpc.ts'
import { requireSession, type ScopedRequest } from './scoped-request.ts'
import { type Session, takesArrays } from './session.ts'
import { checkCallQuota } from './sessions.ts'

type Request_ = Extract<Message, { kind: 'request' }>

interface PostParts {
  readonly router: Router
  readonly log: PluginLogger
  readonly replies: ReplyHost
  /** Opens a session and answers `initialize`. */
  initialize(scoped: ScopedRequest, id: IdText, params: JsonObject | undefined): Response
  /** A notification of a client that the session itself does not need. */
  clientNotice(session: Session, method: string, params: JsonObject | undefined): void
}

/** A refusal of one message whose id was read. */
export class RefusedMessage extends Error {
  readonly id: IdText | undefined
  readonly error: HubError
  constructor(id: IdText | undefined, error: HubError) {
    super(error.message)
    this.id = id
    this.error = error
  }
}

/** What clients of the legacy era POST: requests, notifications, answers, and arrays of them up to 2025-03-26. */
export class LegacyPosts {
  readonly #parts: PostParts

  constructor(parts: PostParts) {
    this.#parts = parts
  }

  handle(scoped: ScopedRequest): Promise<Response> {
    const { headers } = scoped.request
    checkPostAccept(headers)
    checkBodyType(headers)
    return readBody(scoped.request).then(text => this.#body(scoped, parseBody(text)))
  }

  #body(scoped: ScopedRequest, value: JsonValue): Response | Promise<Response> {
    if (Array.isArray(value)) return this.#batch(scoped, value)
    const message = readMessage(value)
    if (message.kind === 'bad') throw new RefusedMessage(message.id, new HubError('request_invalid', message.message))
    const id = message.kind === 'notification' ? undefined : message.id
    try {
      return this.#single(scoped, message)
    } catch (error) {
      throw new RefusedMessage(id, asHubError(error))
    }
  }

  #single(scoped: ScopedRequest, message: Message): Response | Promise<Response> {
    const initialize = message.kind === 'request' && message.method === 'initialize'
    checkVersion(scoped.request.headers, scoped.session?.protocolVersion)
    if (initialize) {
      if (scoped.session) throw new HubError('request_invalid', 'This session is initialized already')
      return this.#parts.initialize(scoped, message.id, message.params)
    }
    const session = this.#enter(scoped)
    if (message.kind !== 'request') {
      this.#take(session, message)
      return new Response(null, { status: 202 })
    }
    this.#admit(session, message)
    const reply = new PostReply(this.#parts.replies, session, 1, false, () => scoped.info.keepOpen())
    this.#start(scoped, session, message, reply)
    return reply.response
  }

  #batch(scoped: ScopedRequest, values: readonly JsonValue[]): Response | Promise<Response> {
    checkVersion(scoped.request.headers, scoped.session?.protocolVersion)
    const messages = values.map(readMessage)
    if (messages.some(message => message.kind === 'request' && message.method === 'initialize'))
      throw new HubError('request_invalid', '"initialize" may not be part of an array')
    const session = this.#enter(scoped)
    if (!takesArrays(session.protocolVersion))
      throw new HubError('request_invalid', `Arrays are not part of the protocol version ${session.protocolVersion}`)
    if (values.length === 0 || values.length > LIMITS.batchMessages)
      throw new HubError(
        'request_invalid',
        `An array holds 1 to ${LIMITS.batchMessages} messages, and this one holds ${values.length}`,
      )
    const answered = messages.filter(message => message.kind === 'request' || message.kind === 'bad').length
    const reply =
      answered > 0 && new PostReply(this.#parts.replies, session, answered, true, () => scoped.info.keepOpen())
    for (const message of messages) {
      if (message.kind === 'bad') {
        const error = new HubError('request_invalid', message.message)
        if (reply) reply.answer(errorMessage(message.id, rpcError(error, scoped.info.requestId)))
      } else if (message.kind !== 'request') this.#take(session, message)
      else if (reply) this.#startInBatch(scoped, session, message, reply)
    }
    return reply ? reply.response : new Response(null, { status: 202 })
  }

  #enter(scoped: ScopedRequest): Session {
    const session = requireSession(scoped)
    session.actor = scoped.actor
    session.lastUsedMs = this.#parts.replies.now()
    return session
  }

  #startInBatch(scoped: ScopedRequest, session: Session, message: Request_, reply: PostReply): void {
    try {
      this.#admit(session, message)
    } catch (error) {
      reply.answer(errorMessage(message.id, rpcError(asHubError(error), scoped.info.requestId)))
      return
    }
    this.#start(scoped, session, message, reply)
  }

  #admit(session: Session, message: Request_): void {
    if (session.calls.has(message.id))
      throw new HubError('request_invalid', `A request with the id ${message.id.slice(0, 64)} is in flight already`)
    checkCallQuota(session.load)
  }

  #start(scoped: ScopedRequest, session: Session, message: Request_, reply: PostReply): void {
    const { requestId } = scoped.info
    const headers = passedHeaders(scoped.request.headers, session.scope)
    const call = new LegacyCall(session, requestId, message.id, message.method, message.params, reply, headers)
    session.calls.set(message.id, call)
    session.load.calls += 1
    let outcome: Outcome | Promise<Outcome>
    try {
      outcome = this.#parts.router.handle(call, session.scope)
    } catch (error) {
      outcome = this.#refused(error, requestId)
    }
    if (outcome instanceof Promise)
      outcome.then(
        result => call.finish(result),
        error => call.finish(this.#refused(error, requestId)),
      )
    else call.finish(outcome)
  }

  #refused(error: unknown, requestId: string): Outcome {
    if (!(error instanceof HubError))
      this.#parts.log.error('An MCP request failed inside the hub', { requestId, error: String(error) })
    return { kind: 'failed', error: asHubError(error) }
  }

  /** Notifications and answers: nothing is said in return. */
  #take(session: Session, message: Exclude<Message, { kind: 'request' }>): void {
    if (message.kind !== 'notification') {
      session.answered(message)
      return
    }
    const { method, params } = message
    if (method === 'notifications/initialized') session.initialized = true
    else if (method === 'notifications/cancelled') {
      const id = idText(params?.requestId)
      const reason = typeof params?.reason === 'string' ? params.reason.slice(0, 256) : 'Cancelled by the client'
      if (id !== undefined) session.calls.get(id)?.abort(reason)
    } else this.#parts.clientNotice(session, method, params)
  }
}

/** The answer to `initialize`, which carries the id of the session. */
export function initializeResponse(sessionId: string, text: string): Response {
  const response = jsonResponse(text)
  response.headers.set('mcp-session-id', sessionId)
  return response
}

/** A member of the parameters that should be an object, and counts as empty when it is not. */
export function objectParam(params: JsonObject | undefined, name: string): JsonObject {
  const value = params?.[name]
  return isPlainObject(value) ? value : {}
}
