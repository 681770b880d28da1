import type { Authenticator } from '../auth/api.ts'
import type { CredentialHolder, LiveCredentials } from '../auth/live-credentials.ts'
import type { Upstreams } from '../connections/api.ts'
import { within } from '../connections/within.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { GroupResolver, McpMiddleware, ToolSet } from '../contract/points.ts'
import type { ServerRecord, ToolCallRecord, UserActor } from '../contract/records.ts'
import type { BytesInFlight } from '../domain/byte-account.ts'
import type { EventBus } from '../events/bus.ts'
import type { Registry } from '../registry/api.ts'
import type { HubMarks } from '../secrets/hub-marks.ts'
import type { RefusedCall } from '../telemetry/log.ts'
import type { McpEndpoint } from './api.ts'
import { DirectExchange, directScope } from './call/direct-call.ts'
import { DirectCalls } from './call/direct-calls.ts'
import { Forwarder } from './call/forwarder.ts'
import { listRoutes } from './call/list-routes.ts'
import { Pages, type Sealer } from './call/pages.ts'
import { Router } from './call/router.ts'
import { TaskTable } from './call/task-table.ts'
import { Tasks } from './call/tasks.ts'
import { ListChanges } from './changes/list-changes.ts'
import { Subscriptions } from './changes/subscriptions.ts'
import { UpstreamLevels } from './changes/upstream-levels.ts'
import { HttpEndpoint } from './endpoint.ts'
import { EraDispatcher } from './era-dispatcher.ts'
import { UpstreamEventFanout } from './event-fanout.ts'
import { groupView } from './group-view.ts'
import { LegacyDispatcher } from './legacy/dispatcher.ts'
import { LegacyHandler } from './legacy/handler.ts'
import { initialize } from './legacy/initialize.ts'
import { tellListsMayDiffer } from './legacy/revive.ts'
import type { TokenSealer } from './legacy/session-id.ts'
import { NO_SESSION_RECORDS, type SessionRecords } from './legacy/session-records.ts'
import { SessionTable } from './legacy/sessions.ts'
import { StreamKeepAlive } from './legacy/stream-keep-alive.ts'
import { LegacyWire } from './legacy/wire.ts'
import { SseWire } from './legacy/wire-sse.ts'
import type { ModernExchange } from './modern/exchange.ts'
import { Leases } from './modern/leases.ts'
import { Listeners } from './modern/listeners.ts'
import { Parking } from './modern/parking.ts'
import { ModernResponseWriter } from './modern/response-writer.ts'
import { ScopePresenters } from './modern/scope-presenter.ts'
import { SealedRequestState } from './modern/sealed-request-state.ts'
import { ModernWire } from './modern/wire.ts'
import { Refusals } from './rpc/refusals.ts'
import { accessLost } from './scope/access-lost.ts'
import { OfflineGracePeriod } from './scope/offline-grace.ts'
import { headersFor, NO_HEADERS } from './scope/passed-headers.ts'
import { Principals, ScopeTable, toResolvedScope } from './scope/paths.ts'
import type { Scope } from './scope/scope.ts'
import { Subscribers } from './scope/subscribers.ts'
import { ToolSets } from './scope/tool-sets.ts'

/** Interval of the sweep for idle sessions and expired events. */
const SESSION_SWEEP_MS = 30_000
const DRAIN_LOOK_MS = 20

interface McpDeps {
  readonly registry: Registry
  readonly upstreams: Upstreams
  readonly bus: EventBus
  readonly auth: Authenticator
  readonly credentials: Pick<LiveCredentials, 'watchAll'>
  readonly sealer: Sealer & TokenSealer
  readonly marks: HubMarks
  /** Where sessions are stored across restarts. Default: nowhere, they end with the process. */
  readonly sessionRecords?: SessionRecords
  readonly bytes: BytesInFlight
  /** The group resolver plugin, while one runs. */
  readonly resolver: () => GroupResolver | undefined
  readonly middlewares: () => readonly McpMiddleware[]
  readonly toolSets: () => ReadonlyMap<string, ToolSet>
  /** Called with each finished tools/call; must not block. */
  readonly recordCall: (record: ToolCallRecord) => void
  /** Called with each tools/call that reached no server. Default: not recorded. */
  readonly recordRefusal?: (call: RefusedCall) => void
  readonly log: PluginLogger
  /** The hub's own version, for `serverInfo`. */
  readonly version: string
  readonly draining: () => boolean
  /** Milliseconds since 1970, with fractions. */
  readonly now?: () => number
}

/** Longest wait for the records of open sessions when the hub stops, in milliseconds. */
const RECORDS_LAST_MS = 2_000

/** Creates the MCP endpoint: Streamable HTTP of both eras at `/mcp…`, HTTP+SSE at `/sse…`. It runs until `dispose`. */
export function createMcp(deps: McpDeps): McpEndpoint {
  const { upstreams, bus, auth, sealer, log } = deps
  // Date.now has whole milliseconds, and most calls take less than one.
  const now = deps.now ?? (() => performance.timeOrigin + performance.now())
  const offlineGrace = new OfflineGracePeriod(upstreams, now)
  const toolSets = new ToolSets(deps.toolSets, log)
  let drained = false
  let sweepAtMs = now() + SESSION_SWEEP_MS

  const keepAlive = new StreamKeepAlive(now, () => {
    fanout.sweep()
    leases.sweep()
    parking.sweep()
    if (now() < sweepAtMs) return
    sweepAtMs = now() + SESSION_SWEEP_MS
    sessions.sweep()
    void records.sweep()
    taskTable.sweep()
  })
  const taskTable = new TaskTable(now)
  const records = deps.sessionRecords ?? NO_SESSION_RECORDS
  const sessions = new SessionTable({
    sealer,
    records,
    now,
    streamHost: keepAlive,
    bytes: deps.bytes,
    opened: session => {
      levels.opened(session)
      const { key, actor, scope } = session
      const data = { sessionId: key, userId: actor.userId, scope: scope.path }
      bus.emit('session.opened', actor.userId, data)
    },
    revived: tellListsMayDiffer,
    ended: (session, reason) => {
      subscriptions.drop(session)
      fanout.dropped(session)
      levels.drop(session)
      taskTable.dropConnection(session.key)
      upstreams.endSession(session.key)
      const { key, actor } = session
      bus.emit('session.ended', actor.userId, { sessionId: key, userId: actor.userId, reason })
    },
  })
  const headersOf = (actor: UserActor, servers: readonly ServerRecord[]) =>
    headersFor(deps.registry.settings, actor, servers)
  const scopeParts = { upstreams, offlineGrace, toolSets, now }
  const scopes = new ScopeTable(deps.resolver, headersOf, scopeParts, scope => inUse(scope))
  const subscriptions = new Subscriptions(upstreams, sessions, now)
  const levels = new UpstreamLevels(upstreams, sessions)
  const faces = new ScopePresenters(deps.version)
  const listeners: Listeners = new Listeners({
    faces,
    streamHost: keepAlive,
    load: userId => sessions.load(userId),
    hasSubscribers: scope => subscribers.hasSubscribers(scope),
    subscribe: (listener, uris) => subscriptions.listen(listener, uris),
    ended: listener => subscriptions.drop(listener),
  })
  const subscribers = new Subscribers(sessions, listeners)
  const changes = new ListChanges(subscribers, now)
  const scopeEnded = (scope: Scope) => {
    for (const session of [...sessions.of(scope)]) void sessions.end(session, 'scope_removed')
    for (const listener of [...listeners.of(scope)]) listeners.end(listener)
    modern.endScope(scope)
  }
  const scopeChanged = (scope: Scope) => {
    sessions.endLost(scope, method => accessLost(scope, method))
    modern.endLost(scope)
  }
  const directCalls = new DirectCalls(deps.registry.servers, bus)
  const inUse = (scope: Scope) => subscribers.hasSubscribers(scope) || modern.serves(scope)
  const shared = {
    bus,
    upstreams,
    scopes,
    sessions,
    changes,
    subscriptions,
    levels,
    offlineGrace,
    log,
    tasks: taskTable,
  }
  const fanout: UpstreamEventFanout = new UpstreamEventFanout({ ...shared, inUse, scopeChanged, scopeEnded })
  const unwatch = deps.credentials.watchAll(() => credentialHolders())
  const refusals = new Refusals(now)
  const forwarder = new Forwarder({
    upstreams,
    refresh: scope => (scope.path === '' ? directCalls.refresh(scope) : scopes.settle(scope)),
    sharedNotice: (serverId, sessionId, method, params) => fanout.notice(serverId, sessionId, method, params),
    recordUrlElicitation: (sessionId, serverId, id) => fanout.recordUrlElicitation(sessionId, serverId, id),
  })
  const tasks = new Tasks(taskTable, forwarder)
  const router = new Router(
    {
      forwarder,
      middlewares: deps.middlewares,
      recordCall: deps.recordCall,
      recordRefusal: deps.recordRefusal,
      now,
      refusals,
      tasks,
    },
    {
      ...listRoutes(new Pages(sealer, deps.marks.make()), (scope, capabilities) => fanout.settled(scope, capabilities)),
      ...subscriptions.routes(forwarder),
      ...tasks.routes(),
      'logging/setLevel': levels.route,
    },
  )
  const draining = () => drained || deps.draining()
  const dispatcher = new LegacyDispatcher({
    router,
    log,
    clientNotice: (session, method, params) => {
      if (method !== 'notifications/roots/list_changed') return
      for (const member of session.scope.resolved.members)
        if (session.ownConnection(member.server) === session.binding)
          upstreams.notify(member.server.id, session.key, method, params)
    },
  })
  const opening = { sessions, subscribers, version: deps.version, draining }
  const posts = new LegacyHandler({
    dispatcher,
    replies: keepAlive,
    initialize: (scoped, id, params) => initialize(opening, scoped, id, params),
  })
  const leases = new Leases((serverId, sessionId) => {
    upstreams.endSession(sessionId)
    levels.forget(serverId, sessionId)
  }, now)
  const parking = new Parking<ModernExchange>(sealer, now)
  const passed = new SealedRequestState(sealer, now)
  const modern: ModernWire = new ModernWire({
    router,
    faces,
    answers: new ModernResponseWriter(faces, parking, passed),
    parking,
    passed,
    leases,
    levels,
    listeners,
    replies: keepAlive,
    log,
    draining,
    load: userId => sessions.load(userId),
  })
  const eras = new EraDispatcher(new LegacyWire(sessions, sealer, now), posts, modern, deps.bytes)
  const sse = new SseWire({ ...opening, scopes, dispatcher, sealer, now })
  const endpoint = new HttpEndpoint({
    ...opening,
    auth,
    marks: deps.marks,
    principals: new Principals(),
    scopes,
    eras,
    sse,
    refusals,
    log,
  })

  function* credentialHolders(): IterableIterator<CredentialHolder> {
    for (const session of sessions)
      yield { actor: session.actor, end: why => void sessions.end(session, 'credential_ended', why) }
    for (const listener of listeners) yield { actor: listener.actor, end: why => listeners.end(listener, why.code) }
    for (const call of modern.live) yield { actor: call.actor, end: why => call.abort(why.message, why) }
  }

  const endAll = (reason: string) => {
    for (const session of [...sessions]) void sessions.end(session, reason)
    modern.endAll(reason)
  }
  return {
    fetch: (request, path, info) => endpoint.fetch(request, path, info),
    callTool: call =>
      sessions.withoutSession(call.actor.userId, async () => {
        const headers = await headersOf(call.actor, [call.server])
        const resolve = (server: ServerRecord) => directScope(server, headers)
        const scope = scopes.unbound(call.actor, resolve(call.server))
        await scope.ready()
        const exchange = new DirectExchange(call, scope)
        return directCalls.during(call, scope, resolve, exchange, () => router.handle(exchange, scope))
      }),
    usage(userId) {
      const used = sessions.used(userId)
      return {
        sessionsPerUser: used.sessions,
        callsPerUser: used.calls,
        streamsPerUser: used.streams,
        listenStreamsPerUser: listeners.countOf(userId),
        parkedCallsPerUser: parking.countOf(userId),
        tasksPerUser: taskTable.countOf(userId),
        leasesPerUser: leases.mostOf(userId),
        bytesInFlightPerUser: deps.bytes.user(userId).used,
        eventReplayBytesPerUser: sessions.replayBytes(userId),
        keptResultBytesPerUser: toolSets.keptBytes(userId),
      }
    },
    sessions: () => sessions.infos(),
    endSession(key, reason) {
      const session = sessions.byKey(key)
      if (session) void sessions.end(session, reason)
      return session !== undefined
    },
    groupView: (actor, group, servers) =>
      groupView(actor, toResolvedScope({ group, servers }, NO_HEADERS), upstreams, toolSets),
    async drain(timeoutMs) {
      drained = true
      modern.endParked('The hub is stopping')
      const deadlineMs = now() + timeoutMs
      const busy = () => [...sessions].some(session => session.calls.size > 0) || modern.busy
      while (busy() && now() < deadlineMs) await new Promise(resolve => setTimeout(resolve, DRAIN_LOOK_MS))
      endAll('hub_stopped')
      listeners.endAll()
      // If the database hangs, clients need a new `initialize` after the restart, but the stop is not delayed.
      await within(records.flush(), RECORDS_LAST_MS)
    },
    dispose() {
      endAll('hub_stopped')
      listeners.endAll()
      modern.dispose()
      unwatch()
      fanout.dispose()
      directCalls.dispose()
      subscriptions.dispose()
      keepAlive.dispose()
    },
  }
}
