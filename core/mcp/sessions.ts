import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { SessionInfo } from './api.ts'
import { endedByHub } from './ended-by-hub.ts'
import type { Sealer } from './pages.ts'
import type { Scope } from './scope.ts'
import { type Introduction, primesStreams, Session, type UserLoad } from './session.ts'
import { type Greeting, SessionStreams, type StreamHost } from './session-streams.ts'

interface SessionRequest extends Introduction {
  readonly principal: string
  readonly actor: UserActor
  readonly scope: Scope
  /** For a session of the older pair: the path that its `endpoint` event names. */
  readonly endpointOf?: (sessionId: string) => string
}

interface SessionTableParts {
  readonly sealer: Sealer
  readonly now: () => number
  readonly streamHost: StreamHost
  /** A session was opened, or ended with everything that belonged to it alone. */
  opened(session: Session): void
  ended(session: Session, reason: string): void
}

/** The sessions of legacy clients: by their sealed id, by scope, and counted per user. */
export class SessionTable {
  readonly #byId = new Map<string, Session>()
  readonly #byKey = new Map<string, Session>()
  readonly #byScope = new Map<Scope, Set<Session>>()
  readonly #loads = new Map<string, UserLoad>()
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
  used(userId: string): Readonly<UserLoad> {
    return this.#loads.get(userId) ?? NOTHING
  }

  load(userId: string): UserLoad {
    const known = this.#loads.get(userId)
    if (known) return known
    const load = { sessions: 0, calls: 0, streams: 0 }
    this.#loads.set(userId, load)
    return load
  }

  /** Opens a session. When too many are open, the longest idle one makes room; throws quota_sessions when none is idle. */
  open(request: SessionRequest): Session {
    const { sealer, now, streamHost } = this.#parts
    const { principal, actor, scope, protocolVersion, endpointOf } = request
    const load = this.load(actor.userId)
    if (load.sessions >= LIMITS.sessionsPerUser) this.#makeRoom(LIMITS.sessionsPerUser, actor.userId)
    if (this.#byId.size >= LIMITS.sessions) this.#makeRoom(LIMITS.sessions, undefined)
    const record = randomBytes(16).toString('base64url')
    const bound = hash(`${principal}|${scope.path}`, 16)
    const id = sealer.sealToken('mcp-session', `${bound}.${protocolVersion}.${record}`)
    const key = hash(id, 12)
    const session = new Session({
      ...request,
      id,
      key,
      load,
      streams: new SessionStreams(
        this.#countStreams(streamHost, load),
        hash(`events ${id}`, 6),
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

  /** Ends a session and all that belonged to it alone. Without effect on one that has ended. */
  end(session: Session, reason: string): void {
    if (!this.#byId.delete(session.id)) return
    this.#byKey.delete(session.key)
    const others = this.#byScope.get(session.scope)
    others?.delete(session)
    if (others?.size === 0) this.#byScope.delete(session.scope)
    session.load.sessions -= 1
    // A client that ends it itself waits for nothing.
    session.end(reason === 'deleted' ? undefined : endedByHub(reason))
    this.#parts.ended(session, reason)
    this.#forgetLoad(session.actor.userId)
  }

  /** Ends what was idle for too long, and forgets old events of the rest. */
  sweep(): void {
    const now = this.#parts.now()
    for (const session of this.#byId.values()) {
      session.streams.trim()
      if (!session.idle) session.lastUsedMs = now
      else if (now - session.lastUsedMs >= idleLimitMs(session)) this.end(session, 'idle')
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
    this.end(longest, 'displaced')
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
export function checkCallQuota(load: UserLoad): void {
  if (load.calls >= LIMITS.callsPerUser)
    throw new HubError('quota_calls', `Cannot take the call: ${LIMITS.callsPerUser} of yours are in flight`, {
      retryAfterSeconds: 1,
    })
}

/** From 2025-11-25 on: an empty event whose id makes even a stream that breaks at once one that can be resumed. */
const prime: Greeting = (connection, id) => connection.event(id, '')

function nameEndpoint(path: string): Greeting {
  return (connection, id) => connection.named('endpoint', id, path)
}

/** A session of the older pair lives by its stream; without one it waits only for a client that comes back. */
function idleLimitMs({ wire }: Session): number {
  return wire === 'sse' ? LIMITS.sseReconnectMs : LIMITS.sessionIdleMs
}

const NOTHING: Readonly<UserLoad> = Object.freeze({ sessions: 0, calls: 0, streams: 0 })
const NONE: ReadonlySet<Session> = new Set()

function hash(text: string, bytes: number): string {
  return createHash('sha256').update(text).digest().subarray(0, bytes).toString('base64url')
}
