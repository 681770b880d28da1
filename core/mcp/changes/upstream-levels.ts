import type { SessionBinding, Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { Outcome } from '../call/exchange.ts'
import type { MethodHandler } from '../call/router.ts'
import type { Session } from '../legacy/session.ts'
import type { SessionTable } from '../legacy/sessions.ts'
import { LOG_LEVELS, logLevelOf } from '../rpc/log-levels.ts'
import { invalid } from '../rpc/rpc.ts'
import { memberHas } from '../scope/capabilities.ts'
import type { Scope } from '../scope/scope.ts'
import type { ScopeMember } from '../scope/scope-types.ts'

/** Longest wait of a request for its server to accept a level. */
const RAISE_WAIT_MS = 2_000
const EMPTY: Outcome = { kind: 'result', resultText: '{}' }
const DEFAULT_LEVEL = logLevelOf('info')

/**
 * Log levels: each session has its own, and a shared upstream is set to the most verbose of them; messages too verbose
 * for one of the sessions are filtered on the way back.
 */
export class UpstreamLevels {
  readonly #upstreams: Upstreams
  readonly #sessions: SessionTable
  /** The level last sent, by connection. */
  readonly #lastSentLevels = new Map<string, number>()

  constructor(upstreams: Upstreams, sessions: SessionTable) {
    this.#upstreams = upstreams
    this.#sessions = sessions
  }

  readonly route: MethodHandler = ({ exchange, scope }, params) => {
    const session = this.#sessions.byKey(exchange.session?.id ?? '')
    if (!session || !scope.catalog.states.some(state => memberHas(state, 'logging')))
      throw new HubError('method_not_found', 'No server here sends log messages')
    const rank = LOG_LEVELS.indexOf(params?.level as (typeof LOG_LEVELS)[number])
    if (rank < 0) throw invalid(`logging/setLevel needs "level", one of ${LOG_LEVELS.join(', ')}`)
    session.logLevel = rank
    for (const { member } of scope.catalog.states) this.#sendLevel(scope, member, session)
    return EMPTY
  }

  /** A new connection has no level yet: the levels of its sessions are sent. */
  connected(serverId: string, sessionId: string | undefined): void {
    this.#lastSentLevels.delete(connectionKey(serverId, sessionId))
    for (const session of this.#sessions) {
      const member = session.logLevel === undefined ? undefined : memberOf(session, serverId)
      if (member && session.ownConnection(member.server)?.id === sessionId)
        this.#sendLevel(session.scope, member, session)
    }
  }

  /** A new session has the default level: shared upstreams that were set to a less verbose one are raised to it. */
  opened(session: Session): void {
    for (const member of session.scope.resolved.members) this.#calmDown(member, session)
  }

  /**
   * Sets an upstream as verbose as one request of a modern client wants; undefined when it already is. It is not reset
   * afterwards: for later callers that want less, messages are filtered. `own`: the connection that the request uses,
   * where that is not the shared one. Resolves when the upstream has answered, after 2 s at the latest.
   */
  raise(
    scope: Scope,
    { server }: ScopeMember,
    rank: number,
    own: SessionBinding | undefined,
  ): Promise<void> | undefined {
    if (!memberHas(scope.catalog.byServer.get(server.id), 'logging')) return undefined
    const key = connectionKey(server.id, own?.id)
    const lastSent = this.#lastSentLevels.get(key)
    if (lastSent !== undefined && lastSent <= rank) return undefined
    return this.#send(server.id, own, Math.min(rank, this.#wantedRank(server.id, own?.id) ?? rank), scope)
  }

  drop(session: Session): void {
    for (const member of session.scope.resolved.members) {
      this.forget(member.server.id, session.key)
      // The upstream may have been set to this session's level.
      if (session.logLevel !== undefined) this.#tellOthers(member, session)
    }
  }

  /** Called when this connection has ended for good. */
  forget(serverId: string, sessionId: string): void {
    this.#lastSentLevels.delete(connectionKey(serverId, sessionId))
  }

  /** A scope may have new members: they are sent the levels of its sessions. */
  review(scope: Scope): void {
    for (const { member } of scope.catalog.states) {
      // One session with a level is enough for each connection that it shares.
      const lastSent = new Set<string | undefined>()
      for (const session of this.#sessions.of(scope)) {
        const key = session.ownConnection(member.server)?.id
        if (session.logLevel === undefined) this.#calmDown(member, session)
        else if (!lastSent.has(key)) this.#sendLevel(scope, member, session)
        if (session.logLevel !== undefined) lastSent.add(key)
      }
    }
  }

  #calmDown({ server }: ScopeMember, session: Session): void {
    const own = session.ownConnection(server)
    const lastSent = this.#lastSentLevels.get(connectionKey(server.id, own?.id))
    if (lastSent === undefined || lastSent <= DEFAULT_LEVEL) return
    void this.#send(server.id, own, DEFAULT_LEVEL, session.scope)
  }

  /** Sends a shared connection that was ever set the most verbose level of the sessions that remain. */
  #tellOthers({ server }: ScopeMember, left: Session): void {
    const own = left.ownConnection(server)
    const lastSent = this.#lastSentLevels.get(connectionKey(server.id, own?.id))
    if (lastSent === undefined) return
    const rank = this.#wantedRank(server.id, own?.id) ?? DEFAULT_LEVEL
    if (rank !== lastSent) void this.#send(server.id, own, rank, left.scope)
  }

  #sendLevel(scope: Scope, member: ScopeMember, session: Session): void {
    const { id } = member.server
    if (!memberHas(scope.catalog.byServer.get(id), 'logging')) return
    const own = session.ownConnection(member.server)
    const rank = this.#wantedRank(id, own?.id) ?? DEFAULT_LEVEL
    if (this.#lastSentLevels.get(connectionKey(id, own?.id)) === rank) return
    // Not awaited: the next call follows on the same connection, and one unresponsive server must not delay the others.
    void this.#send(id, own, rank, scope)
  }

  #send(serverId: string, session: SessionBinding | undefined, rank: number, scope: Scope): Promise<void> {
    // A server that sleeps or is offline gets the level when it connects.
    if (this.#upstreams.status(serverId, undefined, scope.actor.userId).state !== 'online') return Promise.resolve()
    const key = connectionKey(serverId, session?.id)
    this.#lastSentLevels.set(key, rank)
    const params = { level: LOG_LEVELS[rank] ?? 'info' }
    const older = scope.face(serverId).side === 'older'
    const request = { method: 'logging/setLevel', params, older, ...(session ? { session } : {}) }
    const { reply } = this.#upstreams.request(serverId, request)
    const answered = reply.then(({ kind }) => {
      if (kind !== 'result' && this.#lastSentLevels.get(key) === rank) this.#lastSentLevels.delete(key)
    })
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, RAISE_WAIT_MS)
    return Promise.race([answered, late.promise]).finally(() => clearTimeout(timer))
  }

  /** The most verbose level of the sessions on a connection to a server; undefined when no session uses it. */
  #wantedRank(serverId: string, own: string | undefined): number | undefined {
    let level: number | undefined
    for (const session of this.#sessions) {
      const member = memberOf(session, serverId)
      if (member && session.ownConnection(member.server)?.id === own)
        level = Math.min(level ?? LOG_LEVELS.length - 1, session.logLevel ?? DEFAULT_LEVEL)
    }
    return level
  }
}

function memberOf({ scope }: Session, serverId: string): ScopeMember | undefined {
  if (!scope.has(serverId)) return undefined
  return scope.resolved.members.find(({ server }) => server.id === serverId)
}

function connectionKey(serverId: string, sessionId: string | undefined): string {
  return `${serverId} ${sessionId ?? ''}`
}
