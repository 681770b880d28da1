import type { Upstreams } from '../connections/api.ts'
import { HubError } from '../contract/errors.ts'
import { memberHas } from './capabilities.ts'
import type { Outcome } from './exchange.ts'
import { LOG_LEVELS, logLevelOf } from './log-levels.ts'
import { invalid, type MethodHandler } from './router.ts'
import type { Scope } from './scope.ts'
import type { ScopeMember } from './scope-types.ts'
import type { Session } from './session.ts'
import type { SessionTable } from './sessions.ts'
import { hasOwnConnection } from './subscriptions.ts'

const EMPTY: Outcome = { kind: 'result', resultText: '{}' }
const DEFAULT_LEVEL = logLevelOf('info')

/**
 * Log levels: each session has its own, and an upstream that several share is told the most verbose of them; what is too
 * verbose for one of them is left out on the way back.
 */
export class UpstreamLevels {
  readonly #upstreams: Upstreams
  readonly #sessions: SessionTable
  /** The level last told, by connection. */
  readonly #told = new Map<string, number>()

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
    for (const { member } of scope.catalog.states) this.#tell(scope, member, session)
    return EMPTY
  }

  /** A connection came up: it knows no level yet. */
  connected(serverId: string, sessionId: string | undefined): void {
    this.#told.delete(connectionKey(serverId, sessionId))
    for (const session of this.#sessions) {
      if (session.logLevel === undefined || !session.scope.has(serverId)) continue
      if (sessionId !== undefined && session.key !== sessionId) continue
      const member = session.scope.resolved.members.find(each => each.server.id === serverId)
      if (member) this.#tell(session.scope, member, session)
    }
  }

  drop(session: Session): void {
    for (const member of session.scope.resolved.members) this.#told.delete(connectionKey(member.server.id, session.key))
  }

  #tell(scope: Scope, member: ScopeMember, session: Session): void {
    const { id } = member.server
    if (this.#upstreams.status(id).state !== 'online') return
    if (!memberHas(scope.catalog.byServer.get(id), 'logging')) return
    const own = hasOwnConnection(this.#upstreams, member, session)
    const rank = own ? (session.logLevel ?? DEFAULT_LEVEL) : this.#mostVerbose(id)
    const key = connectionKey(id, own ? session.key : undefined)
    if (this.#told.get(key) === rank) return
    this.#told.set(key, rank)
    const level = LOG_LEVELS[rank] ?? 'info'
    // Not waited for: the next call follows on the same connection, and one deaf server must not hold up the others.
    void this.#upstreams
      .request(id, { method: 'logging/setLevel', params: { level }, session: session.binding })
      .reply.then(reply => {
        if (reply.kind !== 'result' && this.#told.get(key) === rank) this.#told.delete(key)
      })
  }

  #mostVerbose(serverId: string): number {
    let level: number = LOG_LEVELS.length - 1
    for (const session of this.#sessions)
      if (session.scope.has(serverId)) level = Math.min(level, session.logLevel ?? DEFAULT_LEVEL)
    return level
  }
}

function connectionKey(serverId: string, sessionId: string | undefined): string {
  return `${serverId} ${sessionId ?? ''}`
}
