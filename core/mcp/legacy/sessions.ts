import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { UserActor } from '../../contract/records.ts'
import { keyIdOf } from '../../domain/ownership.ts'
import { endedByHub } from '../rpc/ended-by-hub.ts'
import { Signal } from '../rpc/signal.ts'
import type { Scope } from '../scope/scope.ts'
import { EventIdCalls } from './event-id-calls.ts'
import type { SessionInfo } from './session.ts'
import { type Introduction, Session, type UserLoad } from './session.ts'
import { boundTo, openSessionId, sealSessionId, type TokenSealer } from './session-id.ts'
import type { SessionRecords } from './session-records.ts'
import { SessionStreams, type StreamHost } from './session-streams.ts'
import type { SseEndpoint } from './sse-endpoint.ts'
import type { UserLoads } from './user-loads.ts'

interface SessionRequest extends Introduction {
  readonly principal: string
  readonly actor: UserActor
  readonly scope: Scope
  /** For a session of the HTTP+SSE transport. `session`: returns it once it exists. */
  readonly endpointOf?: (sessionId: string, session: () => Session) => SseEndpoint
}

/** The sender of a session id, and the path on which it came. */
type SessionClaim = Pick<SessionRequest, 'principal' | 'actor' | 'scope'>

interface SessionTableParts {
  readonly sealer: TokenSealer
  /** Stored records of sessions of earlier processes. */
  readonly records: SessionRecords
  readonly now: () => number
  readonly streamHost: StreamHost
  readonly loads: UserLoads
}

/** The sessions of legacy clients: by sealed id, by scope, and counted per user. */
export class SessionTable {
  readonly opened = new Signal<[session: Session]>()
  /** After `opened`: the session is one of an earlier process. */
  readonly revived = new Signal<[session: Session]>()
  /** A session ended, with everything that belonged to it alone. */
  readonly ended = new Signal<[session: Session, reason: string]>()
  readonly #byId = new Map<string, Session>()
  readonly #byKey = new Map<string, Session>()
  readonly #byScope = new Map<Scope, Set<Session>>()
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

  /** By the hash of the id. */
  byKey(key: string): Session | undefined {
    return this.#byKey.get(key)
  }

  of(scope: Scope): ReadonlySet<Session> {
    return this.#byScope.get(scope) ?? NONE
  }

  /** Opens a session; ends the longest idle one at the limit. Throws quota_sessions if none is idle, quota_bytes. */
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
   * Revives a session of an earlier process under the same id, where it is this principal's and of this scope, and was
   * neither ended nor idle for too long; undefined for any other id. It counts like one that is opened, and throws as
   * `open` does; throws storage errors as well.
   */
  revive(id: string, claim: SessionClaim): Promise<Session | undefined> {
    const { sealer } = this.#parts
    const sealed = openSessionId(sealer, id)
    if (sealed?.wire !== 'streamable-http' || !sealed.bound.equals(boundTo(claim.principal, claim.scope.path)))
      return Promise.resolve(undefined)
    // After the check: a concurrent or later caller must be the same principal at the same path too.
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
    this.revived.emit(session)
    return session
  }

  /** Throws quota_sessions. */
  #admit({ actor }: SessionRequest): void {
    const load = this.#parts.loads.of(actor.userId)
    if (load.sessions >= LIMITS.sessionsPerUser) this.#makeRoom(LIMITS.sessionsPerUser, actor.userId)
    if (this.#byId.size >= LIMITS.sessions) this.#makeRoom(LIMITS.sessions, undefined)
  }

  #add(request: SessionRequest, id: string): Session {
    const { now, streamHost, sealer } = this.#parts
    const { actor, scope, endpointOf } = request
    const load = this.#parts.loads.of(actor.userId)
    const key = hash(id, KEY_BYTES)
    const session: Session = new Session({
      ...request,
      id,
      key,
      load,
      streams: new SessionStreams(
        this.#countStreams(streamHost, load),
        load,
        // Not derived from the id: the same session in another process numbers its events from the start.
        randomBytes(EVENT_TAG_BYTES).toString('base64url'),
        endpointOf?.(id, () => session) ?? new EventIdCalls(sealer, () => session),
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
    this.opened.emit(session)
    return session
  }

  /**
   * Ends a session and all that belonged to it alone; no effect if it has ended. Resolves when no later process would
   * accept its id; one that ends with the hub may continue in the next process. `why`: its credential became invalid.
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
    // A client that ends the session itself expects no responses.
    session.end(reason === 'deleted' ? undefined : (why ?? endedByHub(reason)), why?.code)
    this.ended.emit(session, reason)
    this.#parts.loads.forget(session.actor.userId)
    if (session.wire === 'sse') return
    if (reason === 'hub_stopped') records.used(session.key, wasIdle ? session.lastUsedMs : now())
    else await records.ended(session.key)
  }

  /** A scope has changed: ends calls to targets that their callers may not use any more. */
  endLost(scope: Scope, errorFor: (method: string) => HubError): void {
    for (const session of this.of(scope))
      for (const call of [...session.calls.values()]) {
        const { method, target } = call
        if (!target || scope.permits(method, target)) continue
        const error = errorFor(method)
        call.abort(error.message, error)
      }
  }

  /** Ends sessions that were idle for too long, and drops expired events of the rest. */
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
      keyId: keyIdOf(session.actor),
      scope: session.scope.path,
      groupId: session.scope.resolved.group.id,
      group: session.scope.resolved.group.name,
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
}

/** A session of the HTTP+SSE transport lives with its stream; without one it only waits for the client to reconnect. */
function idleLimitMs({ wire }: Session): number {
  return wire === 'sse' ? LIMITS.sseReconnectMs : LIMITS.sessionIdleMs
}

/** Lengths of the public key of a session, and of the tag that distinguishes its event ids. */
const KEY_BYTES = 12
const EVENT_TAG_BYTES = 6

const NONE: ReadonlySet<Session> = new Set()

function hash(text: string, bytes: number): string {
  return createHash('sha256').update(text).digest().subarray(0, bytes).toString('base64url')
}
