import type { LiveCredentials } from '../../auth/live-credentials.ts'
import type { Upstreams } from '../../connections/api.ts'
import type { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { RequestEnded } from '../call/exchange.ts'
import type { Router } from '../call/router.ts'
import type { Signal } from '../rpc/signal.ts'
import { accessLost } from '../scope/access-lost.ts'
import type { ScopeTable } from '../scope/paths.ts'
import type { Scope } from '../scope/scope.ts'
import { LegacyDispatcher } from './dispatcher.ts'
import { LegacyHandler } from './handler.ts'
import { type InitializeParts, initialize } from './initialize.ts'
import { notifyListsMayDiffer } from './revive.ts'
import type { TokenSealer } from './session-id.ts'
import type { StreamKeepAlive } from './stream-keep-alive.ts'
import type { UserLoads } from './user-loads.ts'
import { LegacyWire } from './wire.ts'
import { SseWire } from './wire-sse.ts'

interface LegacySideParts extends InitializeParts {
  readonly loads: UserLoads
  readonly upstreams: Upstreams
  readonly credentials: Pick<LiveCredentials, 'watchAll' | 'require'>
  readonly sealer: TokenSealer
  readonly scopes: ScopeTable
  readonly router: Router
  readonly keepAlive: StreamKeepAlive
  readonly log: PluginLogger
  /** A scope was resolved again: calls in flight may have lost their targets. */
  readonly scopeChanged: Signal<[scope: Scope]>
  /** A path resolves to nothing any more. */
  readonly scopeEnded: Signal<[scope: Scope]>
  readonly requestEnded: RequestEnded
}

/** The protocol of clients up to 2025-11-25, over both of its transports. */
export interface LegacySide {
  readonly wire: LegacyWire
  readonly posts: LegacyHandler
  readonly sse: SseWire
  /** True when some session waits for a response. */
  readonly busy: boolean
  endAll(reason: string): void
  dispose(): void
}

/** Serves the sessions of legacy clients. They end with their scope and their credential. */
export function createLegacySide(parts: LegacySideParts): LegacySide {
  const { sessions, upstreams, sealer, keepAlive } = parts
  const dispatcher = new LegacyDispatcher({
    router: parts.router,
    log: parts.log,
    ended: parts.requestEnded,
    clientNotice: (session, method, params) => {
      if (method !== 'notifications/roots/list_changed') return
      for (const member of session.scope.resolved.members)
        if (session.ownConnection(member.server) === session.binding)
          upstreams.notify(member.server.id, session.key, method, params)
    },
  })
  sessions.revived.on(notifyListsMayDiffer)
  parts.scopeEnded.on(scope => {
    for (const session of [...sessions.of(scope)]) void sessions.end(session, 'scope_removed')
  })
  parts.scopeChanged.on(scope => sessions.endLost(scope, method => accessLost(scope, method)))
  function* holders() {
    for (const session of sessions)
      yield { actor: session.actor, end: (why: HubError) => void sessions.end(session, 'credential_ended', why) }
  }
  const unwatch = parts.credentials.watchAll(holders)
  const endAll = (reason: string): void => {
    for (const session of [...sessions]) void sessions.end(session, reason)
  }
  return {
    wire: new LegacyWire(sessions, sealer, keepAlive.now),
    posts: new LegacyHandler({
      dispatcher,
      replies: keepAlive,
      initialize: (scoped, id, params) => initialize(parts, scoped, id, params),
    }),
    sse: new SseWire({ ...parts, dispatcher, now: keepAlive.now }),
    get busy() {
      return [...sessions].some(session => session.calls.size > 0)
    },
    endAll,
    dispose() {
      endAll('hub_stopped')
      unwatch()
    },
  }
}
