import type { Authenticator } from '../auth/api.ts'
import type { LiveCredentials } from '../auth/live-credentials.ts'
import type { Upstreams } from '../connections/api.ts'
import { within } from '../connections/within.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { McpMiddleware } from '../contract/points.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import type { BytesInFlight } from '../domain/byte-account.ts'
import { includesRole } from '../domain/ownership.ts'
import type { EventBus } from '../events/bus.ts'
import type { Challenge } from '../features/credentials.ts'
import type { ContentFilter } from '../features/filters.ts'
import type { CallGate } from '../features/gates.ts'
import type { GroupResolver } from '../features/group-names.ts'
import type { ToolSet } from '../features/tools.ts'
import type { CallTracer } from '../features/tracing.ts'
import type { Registry } from '../registry/api.ts'
import type { HubMarks } from '../secrets/hub-marks.ts'
import type { EndedCall } from '../telemetry/calls/ended-call.ts'
import type { McpEndpoint } from './api.ts'
import { type DirectCall, directExchange, directScope, type RefusedDirectCall } from './call/direct-call.ts'
import { DirectCalls } from './call/direct-calls.ts'
import type { RequestEnded } from './call/exchange.ts'
import { Forwarder } from './call/forwarder.ts'
import { listRoutes } from './call/list-routes.ts'
import type { MiddlewareWatch } from './call/middleware-chain.ts'
import { Pages, type Sealer } from './call/pages.ts'
import { Router } from './call/router.ts'
import { Skills } from './call/skills.ts'
import { ExtensionTasks } from './call/tasks/extension-tasks.ts'
import { TaskFollower } from './call/tasks/task-follower.ts'
import { TaskTable } from './call/tasks/task-table.ts'
import { Tasks } from './call/tasks/tasks.ts'
import { type Changes, createChanges } from './changes/create.ts'
import { HttpEndpoint } from './endpoint.ts'
import { EraDispatcher } from './era-dispatcher.ts'
import { CallGates } from './gates/call-gates.ts'
import { groupView, refuseUnlike } from './group-view.ts'
import { PathClients } from './inner/path-clients.ts'
import { createLegacySide } from './legacy/create.ts'
import type { TokenSealer } from './legacy/session-id.ts'
import { NO_SESSION_RECORDS, type SessionRecords } from './legacy/session-records.ts'
import { SessionTable } from './legacy/sessions.ts'
import { StreamKeepAlive } from './legacy/stream-keep-alive.ts'
import { UserLoads } from './legacy/user-loads.ts'
import { createModernSide } from './modern/create.ts'
import { Refusals } from './rpc/refusals.ts'
import { OfflineGracePeriod } from './scope/offline-grace.ts'
import { headersFor, NO_HEADERS } from './scope/passed-headers.ts'
import { Principals, ScopeTable, toResolvedScope } from './scope/paths.ts'
import { ItemForms } from './scope/selector.ts'
import { Subscribers } from './scope/subscribers.ts'
import { ToolSets } from './scope/tool-sets.ts'

/** Interval of the sweep for idle sessions and expired events. */
const SESSION_SWEEP_MS = 30_000
const DRAIN_POLL_MS = 20
const NO_FILTERS: ReadonlyMap<string, ContentFilter> = new Map()

interface McpDeps {
  readonly registry: Registry
  readonly upstreams: Upstreams
  readonly bus: EventBus
  readonly auth: Authenticator
  /** Says how clients get a credential. Default: not at all. */
  readonly challenge?: () => Challenge | undefined
  readonly credentials: Pick<LiveCredentials, 'watchAll' | 'require'>
  readonly sealer: Sealer & TokenSealer
  readonly marks: HubMarks
  /** The store of sessions across restarts. Default: none, sessions end with the process. */
  readonly sessionRecords?: SessionRecords
  readonly bytes: BytesInFlight
  /** The group resolver plugin, while one runs. */
  readonly resolver: () => GroupResolver | undefined
  readonly middlewares: () => readonly McpMiddleware[]
  readonly watch: MiddlewareWatch
  /** By the names of their plugins. Default: none. */
  readonly filters?: () => ReadonlyMap<string, ContentFilter>
  readonly toolSets: () => ReadonlyMap<string, ToolSet>
  /** Gates through which each tools/call goes. Default: none. */
  readonly callGates?: () => ReadonlyMap<string, CallGate>
  /** Called once for each tools/call that ended, also where it reached no server; must not block. */
  readonly recordCall: (call: EndedCall) => void
  /** Called for each request of MCP clients that ended; methods that the hub does not know are `other`. Default: nothing is called. */
  readonly requestEnded?: RequestEnded
  /** Traces tool calls. */
  readonly tracer?: Pick<CallTracer, 'begin'> | undefined
  readonly log: PluginLogger
  /** The hub's own version, for `serverInfo`. */
  readonly version: string
  readonly draining: () => boolean
  /** Milliseconds since 1970, with fractions. */
  readonly now?: () => number
}

const NO_GATES: ReadonlyMap<string, CallGate> = new Map()
/** Longest wait for the records of open sessions when the hub stops, in milliseconds. */
const RECORDS_LAST_MS = 2_000

/** Creates the MCP endpoint: Streamable HTTP of both eras at `/mcp…`, HTTP+SSE at `/sse…`. It runs until `dispose`. */
export function createMcp(deps: McpDeps): McpEndpoint {
  const { upstreams, bus, auth, sealer, log, credentials, version } = deps
  // Date.now has whole milliseconds, and most calls take less than one.
  const now = deps.now ?? (() => performance.timeOrigin + performance.now())
  let drained = false
  const draining = () => drained || deps.draining()
  const keepAlive = new StreamKeepAlive(now)
  const records = deps.sessionRecords ?? NO_SESSION_RECORDS
  const loads = new UserLoads(deps.bytes)
  const sessions = new SessionTable({ sealer, records, now, streamHost: keepAlive, loads })
  const subscribers = new Subscribers(sessions)
  const offlineGrace = new OfflineGracePeriod(upstreams, now)
  const toolSets = new ToolSets(deps.toolSets, log)
  const headersOf = (actor: UserActor, servers: readonly ServerRecord[]) =>
    headersFor(deps.registry.settings, actor, servers)
  const scopeParts = { upstreams, offlineGrace, toolSets, now, itemForms: new ItemForms() }
  const scopes = new ScopeTable(deps.resolver, headersOf, scopeParts, scope => subscribers.inUse(scope))
  const tasks = new TaskTable(now)
  const base = {
    ...{ bus, upstreams, scopes, sessions, loads, subscribers, keepAlive },
    ...{ credentials, sealer, log, version, draining },
  }
  const filters = deps.filters ?? (() => NO_FILTERS)
  const changes = createChanges({ ...base, offlineGrace, tasks, filters })
  sessions.ended.on(({ key }) => {
    tasks.dropConnection(key)
    upstreams.endSession(key)
  })
  emitSessionEvents(sessions, bus)
  const calls = createCalls(deps, { now, scopes, changes, tasks, filters })
  const { router, directCalls, refusals } = calls
  const { scopeChanged, scopeEnded } = changes.fanout
  // The names of other methods are the caller's: any number of different ones.
  const requestEnded: RequestEnded = (method, era, word) =>
    deps.requestEnded?.(router.has(method) ? method : 'other', era, word)
  const legacy = createLegacySide({ ...base, router, requestEnded, scopeChanged, scopeEnded })
  const modern = createModernSide({ ...base, router, requestEnded, changes, tasks: calls.follower })
  const principals = new Principals()
  const inner = new PathClients({ ...base, router, principals, scopeChanged, scopeEnded })
  const endpoint = new HttpEndpoint({
    ...base,
    auth,
    challenge: deps.challenge ?? (() => undefined),
    marks: deps.marks,
    principals,
    eras: new EraDispatcher(legacy.wire, legacy.posts, modern.wire, { bytes: deps.bytes, credentials }),
    sse: legacy.sse,
    refusals,
  })
  let sweepAtMs = now() + SESSION_SWEEP_MS
  keepAlive.tick.on(() => {
    if (now() < sweepAtMs) return
    sweepAtMs = now() + SESSION_SWEEP_MS
    sessions.sweep()
    void records.sweep()
    tasks.sweep()
  })
  // With its server in place of a group, as other direct calls are recorded.
  const recordRefusal = (call: RefusedDirectCall, error: unknown): void => {
    const { id, name } = call.server
    router.refused(call, { id, name: '' }, 'tools/call', { name: call.tool }, error, { id, name })
  }
  const refusal = (call: DirectCall) => (error: unknown) => recordRefusal(call, error)
  return {
    recordRefusal,
    fetch: (request, path, info) => endpoint.fetch(request, path, info),
    callTool: call =>
      loads.withoutSession(call.actor.userId, refusal(call), async () => {
        const headers = await headersOf(call.actor, [call.server])
        const resolve = (server: ServerRecord) => directScope(server, headers)
        const scope = scopes.unbound(call.actor, resolve(call.server))
        await scope.ready()
        const exchange = directExchange(call, scope)
        return directCalls.during(call, scope, resolve, exchange, () => router.handle(exchange, scope))
      }),
    usage(userId) {
      const used = loads.used(userId)
      return {
        sessionsPerUser: used.sessions,
        callsPerUser: used.calls,
        streamsPerUser: used.streams,
        listenStreamsPerUser: modern.listeners.countOf(userId),
        parkedCallsPerUser: modern.parking.countOf(userId),
        tasksPerUser: tasks.countOf(userId),
        leasesPerUser: modern.leases.mostOf(userId),
        bytesInFlightPerUser: deps.bytes.user(userId).used,
        eventReplayBytesPerUser: loads.replayBytes(userId),
      }
    },
    openPath: options => inner.open(options),
    sessions: () => sessions.infos(),
    endSession(key, reason) {
      const session = sessions.byKey(key)
      if (session) void sessions.end(session, reason)
      return session !== undefined
    },
    async groupView(actor, group, servers) {
      await Promise.all(servers.map(({ id }) => upstreams.callerLists(id, actor.userId)))
      const resolved = toResolvedScope({ group, servers }, NO_HEADERS)
      return groupView(actor, resolved, { upstreams, toolSets, seesWhole: seesWhole(deps.registry) })
    },
    checkGroup(group, servers) {
      refuseUnlike(toResolvedScope({ group, servers }, NO_HEADERS), upstreams)
    },
    async drain(timeoutMs) {
      drained = true
      modern.wire.endParked('The hub is stopping')
      const deadlineMs = now() + timeoutMs
      while ((legacy.busy || modern.wire.busy || inner.busy) && now() < deadlineMs)
        await new Promise(resolve => setTimeout(resolve, DRAIN_POLL_MS))
      legacy.endAll('hub_stopped')
      inner.endAll()
      modern.wire.endAll('hub_stopped')
      modern.listeners.endAll()
      // If the database hangs, clients need a new `initialize` after the restart, but the stop is not delayed.
      await within(records.flush(), RECORDS_LAST_MS)
    },
    dispose() {
      legacy.dispose()
      modern.dispose()
      changes.dispose()
      directCalls.dispose()
      keepAlive.dispose()
    },
  }
}

function emitSessionEvents(sessions: SessionTable, bus: EventBus): void {
  sessions.opened.on(({ key, actor: { userId }, scope }) =>
    bus.emit('session.opened', userId, { sessionId: key, userId, scope: scope.path }),
  )
  sessions.ended.on(({ key, actor: { userId } }, reason) =>
    bus.emit('session.ended', userId, { sessionId: key, userId, reason }),
  )
}

function seesWhole({ shares }: Pick<Registry, 'shares'>) {
  return (actor: UserActor, server: ServerRecord): boolean => includesRole(shares.roleOf(actor, server), 'see')
}

interface CallParts {
  readonly now: () => number
  readonly scopes: ScopeTable
  readonly changes: Changes
  readonly tasks: TaskTable
  readonly filters: () => ReadonlyMap<string, ContentFilter>
}

/** Creates the router and the direct calls: they answer the requests of both eras, and tool calls outside any session. */
function createCalls(deps: McpDeps, { now, scopes, changes, tasks: table, filters }: CallParts) {
  const { fanout, subscriptions, levels } = changes
  const refusals = new Refusals(now)
  const directCalls = new DirectCalls(deps.registry.servers, deps.bus)
  const forwarder = new Forwarder({
    upstreams: deps.upstreams,
    seesWhole: seesWhole(deps.registry),
    filters,
    refresh: scope => (scope.path === '' ? directCalls.refresh(scope) : scopes.settle(scope)),
    sharedNotice: (serverId, sessionId, method, params) => fanout.notice(serverId, sessionId, method, params),
    pageVisitId: (sessionId, serverId) => fanout.pageVisitId(sessionId, serverId),
    recordUrlElicitation: (sessionId, serverId, id) => fanout.recordUrlElicitation(sessionId, serverId, id),
  })
  const extension = new ExtensionTasks(table, forwarder, deps.sealer, now)
  const tasks = new Tasks(table, forwarder, extension)
  const { middlewares, watch, recordCall } = deps
  const gates = new CallGates(deps.callGates ?? (() => NO_GATES), deps.log)
  const router = new Router(
    { forwarder, middlewares, watch, recordCall, now, refusals, tasks, gates, tracer: deps.tracer },
    {
      ...listRoutes(new Pages(deps.sealer, deps.marks.make()), (scope, capabilities) =>
        fanout.settled(scope, capabilities),
      ),
      ...subscriptions.routes(forwarder),
      ...tasks.routes(),
      ...new Skills(deps.upstreams, forwarder, deps.sealer).routes(),
      'logging/setLevel': levels.route,
    },
  )
  return { router, directCalls, refusals, follower: new TaskFollower(extension) }
}
