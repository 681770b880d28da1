import type { AskReply, SessionBinding } from '../connections/api.ts'
import type { JsonObject } from '../contract/json.ts'
import type { UserActor } from '../contract/records.ts'
import { LOG_LEVELS } from './log-levels.ts'
import { type IdText, isPlainObject, type Message, notificationMessage, requestMessage } from './rpc.ts'
import type { Scope } from './scope.ts'
import type { SessionStreams } from './session-streams.ts'

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

/** What one user has open over all sessions. */
export interface UserLoad {
  sessions: number
  calls: number
  streams: number
}

/** A call of this session that has not been answered. */
interface OpenCall {
  abort(reason: string): void
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

interface SessionInit {
  /** The sealed id that the client sends. */
  readonly id: string
  /** A hash of it: for logs, events, upstreams and everybody who is not the client. */
  readonly key: string
  readonly principal: string
  readonly actor: UserActor
  readonly scope: Scope
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  readonly load: UserLoad
  readonly streams: SessionStreams
  readonly openedMs: number
}

/** One legacy client session. */
export class Session {
  readonly id: string
  readonly key: string
  readonly principal: string
  readonly scope: Scope
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly load: UserLoad
  readonly streams: SessionStreams
  readonly openedMs: number
  /** What upstream connections of this session alone may know of it. */
  readonly binding: SessionBinding
  /** Whoever used it last: the credential that keeps it alive. */
  actor: UserActor
  lastUsedMs: number
  /** The path of its last request as it was written. */
  usedPath: string | undefined
  /** `notifications/initialized` has come: the hub may send more than log messages. */
  initialized = false
  ended = false
  /** Rank of the level set by logging/setLevel. */
  logLevel: number | undefined
  /** Requests in flight by the text of their id. */
  readonly calls = new Map<IdText, OpenCall>()
  /** URL elicitations that went to this client: `{server id} {elicitation id}`. */
  readonly elicitations = new Set<string>()
  /** Keys of its resource subscriptions. */
  readonly subscriptions = new Set<string>()
  readonly #asks = new Map<number, OpenAsk>()
  #lastAskId = 0

  constructor(init: SessionInit) {
    this.id = init.id
    this.key = init.key
    this.principal = init.principal
    this.actor = init.actor
    this.scope = init.scope
    this.protocolVersion = init.protocolVersion
    this.clientInfo = init.clientInfo
    this.load = init.load
    this.streams = init.streams
    this.openedMs = init.openedMs
    this.lastUsedMs = init.openedMs
    const level = (): string | undefined => LOG_LEVELS[this.logLevel ?? -1]
    this.binding = {
      id: init.key,
      capabilities: init.capabilities,
      protocolVersion: init.protocolVersion,
      get logLevel() {
        return level() ?? 'info'
      },
    }
  }

  /** No open stream and no call, so that nobody would notice its end at once. */
  get idle(): boolean {
    return this.calls.size === 0 && this.streams.open === 0
  }

  /** True when this client could answer some request of an upstream. */
  get answers(): boolean {
    const { sampling, elicitation, roots } = this.binding.capabilities
    return sampling !== undefined || elicitation !== undefined || roots !== undefined
  }

  /** A notification that belongs to no call. */
  notify(method: string, params: JsonObject | undefined): void {
    if (this.ended || !this.initialized) return
    this.streams.send(this.streams.standalone, notificationMessage(method, params))
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

  /** Cancels the calls, gives up what was asked and closes the streams. */
  end(): void {
    this.ended = true
    for (const call of [...this.calls.values()]) call.abort('The session has ended')
    this.calls.clear()
    for (const id of [...this.#asks.keys()]) this.#settle(id, withdrawn())
    this.streams.end()
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
