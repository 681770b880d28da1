import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import type { BytesInFlight } from '../../domain/byte-account.ts'
import { endedByHub } from '../rpc/ended-by-hub.ts'
import type { Scope } from '../scope/scope.ts'
import type { SessionInfo } from './session.ts'
import { type Introduction, primesStreams, Session, type UserLoad } from './session.ts'
import { boundTo, openSessionId, sealSessionId, type TokenSealer } from './session-id.ts'
import type { SessionRecords } from './session-records.ts'
import { type Greeting, SessionStreams, type StreamHost } from './session-streams.ts'
import { UserReplay } from './user-replay.ts'

interface SessionRequest extends Introduction {
  readonly principal: string
  readonly actor: UserActor
  readonly scope: Scope
  /** For a session of the older pair: the path that its `endpoint` event names. */
  readonly endpointOf?: (sessionId: string) => string
}

/** Who names an id, and where. */
type SessionClaim = Pick<SessionRequest, 'principal' | 'actor' | 'scope'>

interface SessionTableParts {
  readonly sealer: TokenSealer
  /** What is known of the sessions of earlier processes. */
  readonly records: SessionRecords
  readonly now: () => number
  readonly streamHost: StreamHost
  readonly bytes: BytesInFlight
  /** A session was opened, or ended with everything that belonged to it alone. */
  opened(session: Session): void
  /** A session of an earlier process goes on; `opened` has been called for it. */
  revived(session: Session): void
  ended(session: Session, reason: string): void
}

/** The sessions of legacy clients: by their sealed id, by scope, and counted per user. */
export class SessionTable {
  readonly #byId = new Map<string, Session>()
  readonly #byKey = new Map<string, Session>()
  readonly #byScope = new Map<Scope, Set<Session>>()
  readonly #loads = new Map<string, UserLoad>()
  readonly #reviving = new Map<string, Promise<Session | undefined>>()
  readonly #parts: SessionTableParts

  constructor(parts: SessionTableParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#byId.size
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return this.#byId.values()
  }

  get(id: string): Session | undefined {
    return this.#byId.get(id)
  }

  /** By the hash that is shown to others. */
  byKey(key: string): Session | undefined {
    return this.#byKey.get(key)
  }

  of(scope: Scope): ReadonlySet<Session> {
    return this.#byScope.get(scope) ?? NONE
  }

  /** Work that counts as a call of this user but belongs to no session. Throws quota_calls. */
  async withoutSession<T>(userId: string, work: () => T | Promise<T>): Promise<T> {
    const load = this.load(userId)
    checkCallQuota(load)
    load.calls += 1
    try {
      return await work()
    } finally {
      load.calls -= 1
      this.#forgetLoad(userId)
    }
  }

  /** What a user has now; nothing is begun for one who has nothing. */
  used(userId: string): Readonly<OpenCounts> {
    return this.#loads.get(userId) ?? NOTHING
  }

  /** Bytes of a user's replay events. */
  replayBytes(userId: string): number {
    return this.#loads.get(userId)?.replay.bytes ?? 0
  }

  load(userId: string): UserLoad {
    const known = this.#loads.get(userId)
    if (known) return known
    const bytes = this.#parts.bytes.user(userId)
    const load = { sessions: 0, calls: 0, streams: 0, bytes, replay: new UserReplay(bytes) }
    this.#loads.set(userId, load)
    return load
  }

  /** Opens a session. When too many are open, the longest idle one makes room; throws quota_sessions when none is idle, quota_bytes. */
  open(request: SessionRequest): Session {
    const { principal, scope, endpointOf } = request
    const wire = endpointOf ? 'sse' : 'streamable-http'
    const bound = boundTo(principal, scope.path)
    this.#admit(request)
    const session = this.#add(request, sealSessionId(this.#parts.sealer, { ...request, bound, wire }))
    if (wire === 'streamable-http') this.#parts.records.used(session.key, session.lastUsedMs)
    return session
  }

  /**
   * Goes on with a session of an earlier process, under the same id, where that is this principal's and of this scope, and was
   * neither ended nor idle for too long; undefined for any other id. It counts like one that is opened, and throws as `open`
   * does; throws storage errors as well.
   */
  revive(id: string, claim: SessionClaim): Promise<Session | undefined> {
    const { sealer } = this.#parts
    const sealed = openSessionId(sealer, id)
    if (sealed?.wire !== 'streamable-http' || !sealed.bound.equals(boundTo(claim.principal, claim.scope.path)))
      return Promise.resolve(undefined)
    // Behind the check: whoever joins, or comes a moment later, must be the same principal at the same path.
    const running = this.#reviving.get(id)
    if (running) return running
    const open = this.#byId.get(id)
    if (open) return Promise.resolve(open)
    const reviving = this.#revive(id, { ...claim, ...sealed }).finally(() => this.#reviving.delete(id))
    this.#reviving.set(id, reviving)
    return reviving
  }

  async #revive(id: string, request: SessionRequest): Promise<Session | undefined> {
    const { records, now } = this.#parts
    const usedMs = await records.usedAt(hash(id, KEY_BYTES))
    if (usedMs === undefined || now() - usedMs >= LIMITS.sessionIdleMs || request.scope.gone) return undefined
    this.#admit(request)
    const session = this.#add(request, id)
    session.initialized = true
    this.#parts.revived(session)
    return session
  }

  /** Throws quota_sessions. */
  #admit({ actor }: SessionRequest): void {
    const load = this.load(actor.userId)
    if (load.sessions >= LIMITS.sessionsPerUser) this.#makeRoom(LIMITS.sessionsPerUser, actor.userId)
    if (this.#byId.size >= LIMITS.sessions) this.#makeRoom(LIMITS.sessions, undefined)
  }

  #add(request: SessionRequest, id: string): Session {
    const { now, streamHost } = this.#parts
    const { actor, scope, protocolVersion, endpointOf } = request
    const load = this.load(actor.userId)
    const key = hash(id, KEY_BYTES)
    const session = new Session({
      ...request,
      id,
      key,
      load,
      streams: new SessionStreams(
        this.#countStreams(streamHost, load),
        load,
        // Not made of the id: the same session in another process counts its events anew.
        randomBytes(EVENT_TAG_BYTES).toString('base64url'),
        endpointOf ? nameEndpoint(endpointOf(id)) : primesStreams(protocolVersion) ? prime : undefined,
      ),
      wire: endpointOf ? 'sse' : 'streamable-http',
      openedMs: now(),
    })
    load.sessions += 1
    this.#byId.set(id, session)
    this.#byKey.set(key, session)
    const others = this.#byScope.get(scope)
    if (others) others.add(session)
    else this.#byScope.set(scope, new Set([session]))
    this.#parts.opened(session)
    return session
  }

  /**
   * Ends a session and all that belonged to it alone. Without effect on one that has ended. Resolves when no later process
   * would take its id; one that ends with the hub itself may go on in the next process. `why`: its credential holds no longer.
   */
  async end(session: Session, reason: string, why?: HubError): Promise<void> {
    if (!this.#byId.delete(session.id)) return
    const { records, now } = this.#parts
    const wasIdle = session.idle
    this.#byKey.delete(session.key)
    const others = this.#byScope.get(session.scope)
    others?.delete(session)
    if (others?.size === 0) this.#byScope.delete(session.scope)
    session.load.sessions -= 1
    // A client that ends it itself waits for nothing.
    session.end(reason === 'deleted' ? undefined : (why ?? endedByHub(reason)), why?.code)
    this.#parts.ended(session, reason)
    this.#forgetLoad(session.actor.userId)
    if (session.wire === 'sse') return
    if (reason === 'hub_stopped') records.used(session.key, wasIdle ? session.lastUsedMs : now())
    else await records.ended(session.key)
  }

  /** What a place stands for has changed: ends calls that were sent to what their callers may not use any more. */
  endLost(scope: Scope, errorFor: (method: string) => HubError): void {
    for (const session of this.of(scope))
      for (const call of [...session.calls.values()]) {
        const { method, target } = call
        if (!target || scope.permits(method, target)) continue
        const error = errorFor(method)
        call.abort(error.message, error)
      }
  }

  /** Ends what was idle for too long, and forgets old events of the rest. */
  sweep(): void {
    const { records } = this.#parts
    const now = this.#parts.now()
    for (const session of this.#byId.values()) {
      session.streams.trim()
      if (!session.idle) session.lastUsedMs = now
      else if (now - session.lastUsedMs >= idleLimitMs(session)) {
        void this.end(session, 'idle')
        continue
      }
      if (session.wire === 'streamable-http' && session.lastUsedMs > session.recordedMs) {
        session.recordedMs = session.lastUsedMs
        records.used(session.key, session.lastUsedMs)
      }
    }
  }

  infos(): SessionInfo[] {
    return [...this.#byId.values()].map(session => ({
      id: session.key,
      userId: session.actor.userId,
      userName: session.actor.name,
      scope: session.scope.path,
      protocolVersion: session.protocolVersion,
      clientInfo: session.clientInfo,
      openedAt: new Date(session.openedMs).toISOString(),
      lastUsedAt: new Date(session.lastUsedMs).toISOString(),
      streams: session.streams.open,
      callsInFlight: session.calls.size,
    }))
  }

  #makeRoom(limit: number, userId: string | undefined): void {
    let longest: Session | undefined
    for (const session of this.#byId.values()) {
      if (userId !== undefined && session.actor.userId !== userId) continue
      if (session.idle && (!longest || session.lastUsedMs < longest.lastUsedMs)) longest = session
    }
    if (!longest)
      throw new HubError(
        'quota_sessions',
        `Cannot open a session: ${userId === undefined ? 'the hub' : 'you'} already ${userId === undefined ? 'has' : 'have'} ${limit}, all in use`,
        { hint: 'End a session that is no longer needed, or try again later.', retryAfterSeconds: 30 },
      )
    void this.end(longest, 'displaced')
  }

  #countStreams(host: StreamHost, load: UserLoad): StreamHost {
    return {
      now: host.now,
      opened: connection => {
        load.streams += 1
        host.opened(connection)
      },
      closed: connection => {
        load.streams -= 1
        host.closed(connection)
      },
    }
  }

  #forgetLoad(userId: string): void {
    const load = this.#loads.get(userId)
    if (load?.sessions === 0 && load.calls === 0 && load.streams === 0) this.#loads.delete(userId)
  }
}

/** Throws quota_calls while the user has as many calls in flight as one may have. */
export function checkCallQuota(load: OpenCounts): void {
  if (load.calls >= LIMITS.callsPerUser)
    throw new HubError('quota_calls', `Cannot take the call: ${LIMITS.callsPerUser} of yours are in flight`, {
      retryAfterSeconds: 1,
    })
}

/** From 2025-11-25 on: an empty event whose id makes even a stream that breaks at once one that can be resumed. */
const prime: Greeting = (connection, id) => connection.priming(id)

function nameEndpoint(path: string): Greeting {
  return (connection, id) => connection.named('endpoint', id, path)
}

/** A session of the older pair lives by its stream; without one it waits only for a client that comes back. */
function idleLimitMs({ wire }: Session): number {
  return wire === 'sse' ? LIMITS.sseReconnectMs : LIMITS.sessionIdleMs
}

/** Of what is shown of an id, and of what the events of a session are told apart by. */
const KEY_BYTES = 12
const EVENT_TAG_BYTES = 6

type OpenCounts = Pick<UserLoad, 'sessions' | 'calls' | 'streams'>

const NOTHING: Readonly<OpenCounts> = Object.freeze({ sessions: 0, calls: 0, streams: 0 })
const NONE: ReadonlySet<Session> = new Set()

function hash(text: string, bytes: number): string {
  return createHash('sha256').update(text).digest().subarray(0, bytes).toString('base64url')
}
