import type { LiveCredentials } from '../../auth/live-credentials.ts'
import type { Upstreams } from '../../connections/api.ts'
import type { HubError } from '../../contract/errors.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import type { RequestEnded } from '../call/exchange.ts'
import type { Sealer } from '../call/pages.ts'
import type { Router } from '../call/router.ts'
import type { TaskFollower } from '../call/tasks/task-follower.ts'
import type { Changes } from '../changes/create.ts'
import type { StreamKeepAlive } from '../legacy/stream-keep-alive.ts'
import type { UserLoads } from '../legacy/user-loads.ts'
import type { Subscribers } from '../scope/subscribers.ts'
import type { ModernExchange } from './exchange.ts'
import { Leases } from './leases.ts'
import { Listeners } from './listeners.ts'
import { Parking } from './parking.ts'
import { ModernResponseWriter } from './response-writer.ts'
import { ScopePresenters } from './scope-presenter.ts'
import { SealedRequestState } from './sealed-request-state.ts'
import { ModernWire } from './wire.ts'

interface ModernSideParts {
  readonly upstreams: Upstreams
  readonly credentials: Pick<LiveCredentials, 'watchAll'>
  readonly sealer: Sealer
  readonly subscribers: Subscribers
  readonly router: Router
  readonly changes: Changes
  readonly keepAlive: StreamKeepAlive
  readonly log: PluginLogger
  /** The hub's own version, for `serverInfo`. */
  readonly version: string
  readonly draining: () => boolean
  readonly loads: UserLoads
  readonly requestEnded: RequestEnded
  readonly tasks: TaskFollower
}

/** The protocol of clients of 2026-07-28. */
export interface ModernSide {
  readonly wire: ModernWire
  readonly listeners: Listeners
  readonly parking: Parking<ModernExchange>
  readonly leases: Leases
  dispose(): void
}

/** Serves requests and listen streams of modern clients. They end with their scope and their credential. */
export function createModernSide(parts: ModernSideParts): ModernSide {
  const { upstreams, sealer, subscribers, keepAlive } = parts
  const { subscriptions, levels, fanout } = parts.changes
  const { now } = keepAlive
  const load = (userId: string) => parts.loads.of(userId)
  const presenters = new ScopePresenters(parts.version)
  const listeners = new Listeners({
    presenters,
    streamHost: keepAlive,
    load,
    hasSubscribers: scope => subscribers.hasSubscribers(scope),
    subscribe: (listener, uris) => subscriptions.listen(listener, uris),
    ended: listener => subscriptions.drop(listener),
    tasks: parts.tasks,
  })
  const leases = new Leases(
    (serverId, sessionId) => {
      upstreams.endSession(sessionId)
      levels.forget(serverId, sessionId)
    },
    now,
    (serverId, sessionId) => upstreams.notify(serverId, sessionId, 'notifications/roots/list_changed', undefined),
  )
  const parking = new Parking<ModernExchange>(sealer, now)
  const passed = new SealedRequestState(sealer, now)
  const wire = new ModernWire({
    router: parts.router,
    presenters,
    answers: new ModernResponseWriter(presenters, parking, passed),
    parking,
    passed,
    leases,
    levels,
    listeners,
    replies: keepAlive,
    log: parts.log,
    draining: parts.draining,
    requestEnded: parts.requestEnded,
    load,
  })
  subscribers.add(listeners)
  subscribers.addUse(scope => wire.serves(scope))
  fanout.scopeEnded.on(scope => {
    for (const listener of [...listeners.of(scope)]) listeners.end(listener)
    wire.endScope(scope)
  })
  fanout.scopeChanged.on(scope => wire.endLost(scope))
  keepAlive.tick.on(() => {
    leases.sweep()
    parking.sweep()
  })
  function* holders() {
    for (const listener of listeners)
      yield { actor: listener.actor, end: (why: HubError) => listeners.end(listener, why.code) }
    for (const call of wire.live) yield { actor: call.actor, end: (why: HubError) => call.abort(why.message, why) }
  }
  const unwatch = parts.credentials.watchAll(holders)
  return {
    wire,
    listeners,
    parking,
    leases,
    dispose() {
      listeners.endAll()
      wire.dispose()
      unwatch()
    },
  }
}
