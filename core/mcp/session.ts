import { LIMITS } from '../config/limits.ts'
import type { AskReply, SessionBinding } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { needsOwnConnection } from '../domain/session-scope.ts'
import type { Hearer } from './audience.ts'
import { LOG_LEVELS } from './log-levels.ts'
import type { Notice } from './notice.ts'
import { type IdText, isPlainObject, type Message, notificationMessage, requestMessage } from './rpc.ts'
import type { Scope } from './scope.ts'
import type { SessionStreams } from './session-streams.ts'
import { userBinding } from './user-binding.ts'

export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export const LATEST_LEGACY = '2025-11-25'

/** JSON-RPC arrays were part of the protocol up to this version. */
const LAST_WITH_ARRAYS = '2025-03-26'
const FIRST_WITH_PRIMING = '2025-11-25'

export function takesArrays(version: string): boolean {
  return version <= LAST_WITH_ARRAYS
}

export function primesStreams(version: string): boolean {
  return version >= FIRST_WITH_PRIMING
}

/** Streamable HTTP, or the pair of GET stream and POST that was before it. An id of one is none of the other. */
export type SessionWire = 'streamable-http' | 'sse'

/** What one user has open over all sessions. */
export interface UserLoad {
  sessions: number
  calls: number
  streams: number
}

/** Throws quota_streams when this user may open no further stream. */
export function admitStream(load: UserLoad): void {
  if (load.streams < LIMITS.streamsPerUser) return
  throw new HubError('quota_streams', `Cannot open a stream: ${LIMITS.streamsPerUser} of yours are open`, {
    retryAfterSeconds: 5,
  })
}

/** A call of this session that has not been answered. */
interface OpenCall {
  /** `answer`: what the client is told; absent: nothing. */
  abort(reason: string, answer?: HubError): void
}

/** The stream of the call that caused a request to the client. */
interface AskStream {
  send(text: string): void
}

interface OpenAsk {
  readonly reply: AskStream
  answer(reply: AskReply): void
}

const ASK_CAPABILITY: Readonly<Record<string, string>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
}

/** What a client says of itself in `initialize`. */
export interface Introduction {
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
}

interface SessionInit extends Introduction {
  /** The sealed id that the client sends. */
  readonly id: string
  /** A hash of it: for logs, events, upstreams and everybody who is not the client. */
  readonly key: string
  readonly principal: string
  readonly actor: UserActor
  readonly scope: Scope
  readonly load: UserLoad
  readonly streams: SessionStreams
  readonly openedMs: number
  readonly wire: SessionWire
}

/** One legacy client session. */
export class Session implements Hearer {
  readonly id: string
  readonly key: string
  readonly principal: string
  readonly scope: Scope
  readonly wire: SessionWire
  readonly load: UserLoad
  readonly streams: SessionStreams
  readonly openedMs: number
  /** Whoever used it last: the credential that keeps it alive. */
  actor: UserActor
  lastUsedMs: number
  /** The path of its last request as it was written. */
  usedPath: string | undefined
  /** `notifications/initialized` has come: the hub may send more than log messages. */
  initialized = false
  ended = false
  /** The client has said who it is. */
  introduced: boolean
  /** Rank of the level set by logging/setLevel. */
  logLevel: number | undefined
  /** Requests in flight by the text of their id. */
  readonly calls = new Map<IdText, OpenCall>()
  /** URL elicitations that went to this client: `{server id} {elicitation id}`. */
  readonly elicitations = new Set<string>()
  /** Keys of its resource subscriptions. */
  readonly subscriptions = new Set<string>()
  readonly #asks = new Map<number, OpenAsk>()
  #clientInfo: JsonObject
  #binding: SessionBinding
  #lastAskId = 0

  constructor(init: SessionInit) {
    this.id = init.id
    this.key = init.key
    this.principal = init.principal
    this.actor = init.actor
    this.scope = init.scope
    this.wire = init.wire
    this.introduced = init.wire === 'streamable-http'
    this.load = init.load
    this.streams = init.streams
    this.openedMs = init.openedMs
    this.lastUsedMs = init.openedMs
    this.#clientInfo = init.clientInfo
    this.#binding = this.#bind(init)
  }

  /** For a session that was there before its client said who it is. */
  introduce({ protocolVersion, clientInfo, capabilities }: Introduction): void {
    this.#clientInfo = clientInfo
    this.#binding = this.#bind({ capabilities, protocolVersion })
    this.introduced = true
  }

  get protocolVersion(): string {
    return this.#binding.protocolVersion
  }

  get clientInfo(): JsonObject {
    return this.#clientInfo
  }

  /** What upstream connections of this session alone may know of it. */
  get binding(): SessionBinding {
    return this.#binding
  }

  /** No open stream and no call, so that nobody would notice its end at once. */
  get idle(): boolean {
    return this.calls.size === 0 && this.streams.open === 0
  }

  ownConnection(server: ServerRecord): SessionBinding | undefined {
    if (!needsOwnConnection(server, this.binding.capabilities, this.scope.era(server.id))) return undefined
    return server.session === 'per-user' ? userBinding(this.actor.userId) : this.binding
  }

  notify(notice: Notice): void {
    if (this.ended || !this.initialized) return
    this.streams.send(this.streams.standalone, notice.text)
  }

  /**
   * A request to the client on the stream of the call that caused it. Answers −32601 at once when the client did not say
   * that it can. `signal` withdraws it: the client is told, and the promise resolves with an error.
   */
  ask(reply: AskStream, method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    const capability = ASK_CAPABILITY[method]
    if (capability === undefined || !isPlainObject(this.binding.capabilities[capability]))
      return Promise.resolve({ error: { code: -32601, message: `The client does not offer ${method}` } })
    if (signal.aborted || this.ended) return Promise.resolve(withdrawn())
    this.#lastAskId += 1
    const id = this.#lastAskId
    const { promise, resolve } = Promise.withResolvers<AskReply>()
    const withdraw = () => {
      if (!this.#asks.has(id)) return
      reply.send(notificationMessage('notifications/cancelled', { requestId: id }))
      this.#settle(id, withdrawn())
    }
    signal.addEventListener('abort', withdraw, { once: true })
    this.#asks.set(id, {
      reply,
      answer: answer => {
        signal.removeEventListener('abort', withdraw)
        resolve(answer)
      },
    })
    reply.send(requestMessage(id, method, params))
    return promise
  }

  /** The client's answer to a request of the hub; one to an id that is not open is ignored. */
  answered(message: Extract<Message, { kind: 'result' | 'error' }>): void {
    const id = Number(message.id)
    this.#settle(id, message.kind === 'result' ? { result: message.result } : { error: message.error })
  }

  /** The call behind this stream is over: what was asked on it gets no answer any more. */
  closeAsks(reply: AskStream): void {
    if (this.#asks.size === 0) return
    for (const [id, ask] of this.#asks) if (ask.reply === reply) this.#settle(id, withdrawn())
  }

  /** Cancels the calls, gives up what was asked and closes the streams. `answer`: what the calls are answered. */
  end(answer?: HubError): void {
    this.ended = true
    for (const call of [...this.calls.values()]) call.abort('The session has ended', answer)
    this.calls.clear()
    for (const id of [...this.#asks.keys()]) this.#settle(id, withdrawn())
    this.streams.end()
  }

  #bind({ capabilities, protocolVersion }: Pick<SessionBinding, 'capabilities' | 'protocolVersion'>): SessionBinding {
    const level = (): string => LOG_LEVELS[this.logLevel ?? -1] ?? 'info'
    return {
      id: this.key,
      userId: this.actor.userId,
      kind: 'session',
      capabilities,
      protocolVersion,
      get logLevel() {
        return level()
      },
    }
  }

  #settle(id: number, answer: AskReply): void {
    const ask = this.#asks.get(id)
    if (!ask) return
    this.#asks.delete(id)
    ask.answer(answer)
  }
}

function withdrawn(): AskReply {
  return { error: { code: -32603, message: 'The request was withdrawn before the client answered' } }
}
