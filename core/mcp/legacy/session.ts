import { LIMITS } from '../../config/limits.ts'
import type { SessionBinding } from '../../connections/api.ts'
import { type ErrorCode, HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, UserActor } from '../../contract/records.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { needsOwnConnection, scopeOf } from '../../domain/session-scope.ts'
import { LOG_LEVELS } from '../rpc/log-levels.ts'
import type { Notice } from '../rpc/notice.ts'
import type { IdText } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import type { NotificationTarget } from '../scope/subscribers.ts'
import { OLDER_BINDING, userBinding } from '../scope/user-binding.ts'
import { type AskStream, SessionRequests } from './session-requests.ts'
import type { SessionStream, SessionStreams } from './session-streams.ts'
import type { UserReplay } from './user-replay.ts'

/** A session as the console and the API show it. */
export interface SessionInfo {
  /** A hash of the session's id, not secret. */
  readonly id: string
  readonly userId: string
  readonly userName: string
  readonly keyId: string | undefined
  readonly scope: string
  readonly groupId: string
  readonly group: string
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly openedAt: string
  readonly lastUsedAt: string
  readonly streams: number
  readonly callsInFlight: number
}

/** The last version with JSON-RPC arrays. */
const LAST_WITH_ARRAYS = '2025-03-26'
const FIRST_WITH_PRIMING = '2025-11-25'

/** True when this version allows JSON-RPC arrays: up to 2025-03-26. */
export function takesArrays(version: string): boolean {
  return version <= LAST_WITH_ARRAYS
}

/** True when streams of this version begin with an empty event with an id: from 2025-11-25 on. */
export function primesStreams(version: string): boolean {
  return version >= FIRST_WITH_PRIMING
}

/** Streamable HTTP, or the legacy HTTP+SSE pair. An id of one is not valid for the other. */
export type SessionWire = 'streamable-http' | 'sse'

/** Number of things that one user has open over all sessions. */
export interface UserLoad {
  sessions: number
  calls: number
  streams: number
  /** Bytes in flight. */
  readonly bytes: ByteAccount
  readonly replay: UserReplay
}

/** Throws quota_streams when this user may not open another stream. */
export function admitStream(load: Pick<UserLoad, 'streams'>): void {
  if (load.streams < LIMITS.streamsPerUser) return
  throw new HubError('quota_streams', `Cannot open a stream: ${LIMITS.streamsPerUser} of yours are open`, {
    retryAfterSeconds: 5,
  })
}

/** A call of this session that has not been answered. */
export interface OpenCall {
  readonly method: string
  readonly target?: ExchangeTarget
  /** The stream for messages before its response. */
  readonly stream: AskStream & { readonly broken: boolean; readonly carrier: SessionStream | undefined }
  /** `answer`: the error sent to the client; absent: none is sent. */
  abort(reason: string, answer?: HubError): void
}

/** The client's parameters of `initialize`. */
export interface Introduction {
  readonly protocolVersion: string
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  /** Bytes charged for storing it. */
  readonly bytes?: number
}

interface SessionInit extends Introduction {
  /** The sealed id that the client sends. */
  readonly id: string
  /** A hash of it: for logs, events, upstreams and everything but the client. */
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
export class Session implements NotificationTarget {
  readonly id: string
  readonly key: string
  readonly principal: string
  readonly scope: Scope
  readonly wire: SessionWire
  readonly load: UserLoad
  readonly streams: SessionStreams
  readonly openedMs: number
  /** The credential that used it last and keeps it alive. */
  actor: UserActor
  lastUsedMs: number
  /** The last use that was written to the session records. */
  recordedMs: number
  /** The path of its last request as it was written. */
  usedPath: string | undefined
  ended = false
  /** True when the client has sent `initialize`, or was introduced by its headers. */
  introduced: boolean
  /** Rank of the level set by logging/setLevel. */
  logLevel: number | undefined
  /** Requests in flight by the text of their id. */
  readonly calls = new Map<IdText, OpenCall>()
  /** Pending URL elicitations of this client: hashes of server and elicitation. */
  readonly elicitations = new Set<string>()
  /** Keys of its resource subscriptions. */
  readonly subscriptions = new Set<string>()
  /** Requests to the client. */
  readonly requests = new SessionRequests({
    capabilities: () => this.binding.capabilities,
    anyStream: () => this.#anyStream(),
    bytes: () => this.bytes,
    streamWaitMs: LIMITS.askStreamWaitMs,
    answerMs: LIMITS.askAnswerMs,
  })
  #initialized = false
  #clientInfo: JsonObject
  #storedBytes: number
  #binding: SessionBinding

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
    this.recordedMs = init.openedMs
    this.#clientInfo = init.clientInfo
    const { bytes = 0 } = init
    this.load.bytes.take(bytes)
    this.#storedBytes = bytes
    this.#binding = this.#bind(init)
  }

  /** For a session that was opened before its `initialize`. Throws quota_bytes. */
  introduce({ protocolVersion, clientInfo, capabilities, bytes = 0 }: Introduction): void {
    this.load.bytes.take(bytes)
    this.#storedBytes += bytes
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

  /** True when `notifications/initialized` was received: before that the hub may send only log messages. */
  get initialized(): boolean {
    return this.#initialized
  }

  set initialized(value: boolean) {
    this.#initialized = value
    this.requests.streamOpened()
  }

  get bytes(): ByteAccount {
    return this.load.bytes
  }

  /** The facts about this session that dedicated upstream connections may know. */
  get binding(): SessionBinding {
    return this.#binding
  }

  /** No open stream and no call: nobody would notice its end at once. */
  get idle(): boolean {
    return this.calls.size === 0 && this.streams.open === 0
  }

  /**
   * The ids of the calls in flight to record on this stream: those answered on it where clients resume the streams of
   * calls, else on the stream of no call all calls whose response has begun.
   */
  callsOn(stream: SessionStream): IdText[] {
    const ownStreams = this.wire === 'streamable-http' && primesStreams(this.protocolVersion)
    const ids: IdText[] = []
    for (const [id, { stream: reply }] of this.calls)
      if (ownStreams ? reply.carrier === stream : stream.named && reply.carrier) ids.push(id)
    return ids
  }

  ownConnection(server: ServerRecord): SessionBinding | undefined {
    const face = this.scope.face(server.id)
    if (needsOwnConnection(server, this.binding, face))
      return scopeOf(server) === 'per-user' ? userBinding(this.actor.userId, face.side) : this.binding
    return face.side === 'older' ? OLDER_BINDING : undefined
  }

  notify(notice: Notice): void {
    if (this.ended || !this.initialized) return
    this.streams.send(this.streams.standalone, notice.text)
  }

  /** Cancels calls and pending requests, closes streams. `answer`: for the calls; `code`: the streams' last event. */
  end(answer?: HubError, code?: ErrorCode): void {
    for (const call of [...this.calls.values()]) call.abort('The session has ended', answer)
    this.calls.clear()
    // Set only now: the calls' error responses still go out on its streams.
    this.ended = true
    this.requests.end()
    this.streams.end(code)
    this.load.bytes.give(this.#storedBytes)
    this.#storedBytes = 0
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
      ask: (method, params, signal) => this.requests.onSession(method, params, signal),
    }
  }

  /** The newest call's stream that has a reader, else the GET stream if one is open. */
  #anyStream(): AskStream | undefined {
    const { streams } = this
    const newest = [...this.calls.values()].findLast(({ stream }) => !stream.broken)
    if (newest) return newest.stream
    if (!this.initialized || !streams.standalone.connection) return undefined
    return { send: text => streams.send(streams.standalone, text) }
  }
}
