import type { Authenticator } from '../auth/api.ts'
import type { Upstreams } from '../connections/api.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { GroupResolver, McpMiddleware } from '../contract/points.ts'
import type { ToolCallRecord } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { Registry } from '../registry/api.ts'
import type { McpEndpoint } from './api.ts'
import { CredentialWatch } from './credential-watch.ts'
import { Front } from './endpoint.ts'
import { groupView } from './group-view.ts'
import { initialize } from './initialize.ts'
import { ListChanges } from './list-changes.ts'
import { listRoutes } from './list-routes.ts'
import { ItemTexts } from './merge.ts'
import { Outages } from './outages.ts'
import { Pages, type Sealer } from './pages.ts'
import { Principals, ScopeTable, toResolvedScope } from './paths.ts'
import { LegacyPosts } from './post.ts'
import { Pulse } from './pulse.ts'
import { Relay } from './relay.ts'
import { Router } from './router.ts'
import { SessionTable } from './sessions.ts'
import { hasOwnConnection, Subscriptions } from './subscriptions.ts'
import { UpstreamLevels } from './upstream-levels.ts'
import { LegacyWire } from './wire-legacy.ts'

/** Old sessions and events are looked for this often. */
const SESSION_SWEEP_MS = 30_000
const DRAIN_LOOK_MS = 20

interface McpDeps {
  readonly registry: Registry
  readonly upstreams: Upstreams
  readonly bus: EventBus
  readonly auth: Authenticator
  readonly sealer: Sealer
  /** The plugin that resolves names, as soon as one runs. */
  readonly resolver: () => GroupResolver | undefined
  readonly middlewares: () => readonly McpMiddleware[]
  /** Hears of each finished tools/call; must not block. */
  readonly recordCall: (record: ToolCallRecord) => void
  readonly log: PluginLogger
  /** The hub's own version, for `serverInfo`. */
  readonly version: string
  readonly draining: () => boolean
  /** Milliseconds since 1970, with fractions. */
  readonly now?: () => number
}

/** The MCP endpoint of the hub: legacy streamable HTTP at `/mcp…`. It runs until `dispose`. */
export function createMcp(deps: McpDeps): McpEndpoint {
  const { registry, upstreams, bus, auth, sealer, log } = deps
  // Date.now has whole milliseconds, in which most calls take none at all.
  const now = deps.now ?? (() => performance.timeOrigin + performance.now())
  const texts = new ItemTexts()
  const outages = new Outages(upstreams, now)
  let drained = false
  let sweepAtMs = now() + SESSION_SWEEP_MS

  const pulse = new Pulse(now, () => {
    relay.sweep()
    credentials.sweep()
    if (now() < sweepAtMs) return
    sweepAtMs = now() + SESSION_SWEEP_MS
    sessions.sweep()
  })
  const sessions = new SessionTable({
    sealer,
    now,
    streamHost: pulse,
    opened: ({ key, actor, scope }) => {
      const data = { sessionId: key, userId: actor.userId, scope: scope.path }
      bus.emit('session.opened', actor.userId, data)
    },
    ended: (session, reason) => {
      subscriptions.drop(session)
      levels.drop(session)
      upstreams.endSession(session.key)
      const { key, actor } = session
      bus.emit('session.ended', actor.userId, { sessionId: key, userId: actor.userId, reason })
    },
  })
  const scopeParts = { upstreams, outages, texts, now }
  const scopes = new ScopeTable(deps.resolver, scopeParts, scope => sessions.of(scope).size > 0)
  const subscriptions = new Subscriptions(upstreams, sessions)
  const levels = new UpstreamLevels(upstreams, sessions)
  const changes = new ListChanges(sessions, now)
  const relay = new Relay({ bus, upstreams, scopes, sessions, changes, subscriptions, levels, outages, log })
  const credentials = new CredentialWatch(auth, sessions, bus, now)
  const router: Router = new Router(
    {
      upstreams,
      middlewares: deps.middlewares,
      recordCall: deps.recordCall,
      now,
      sharedNotice: (serverId, sessionId, method, params) => relay.notice(serverId, sessionId, method, params),
      sawElicitation: (sessionId, serverId, id) => relay.sawElicitation(sessionId, serverId, id),
    },
    {
      ...listRoutes(new Pages(sealer), scope => relay.settled(scope)),
      ...subscriptions.routes(() => router),
      'logging/setLevel': levels.route,
    },
  )
  const draining = () => drained || deps.draining()
  const posts = new LegacyPosts({
    router,
    log,
    replies: pulse,
    initialize: (scoped, id, params) => initialize({ sessions, version: deps.version, draining }, scoped, id, params),
    clientNotice: (session, method, params) => {
      if (method !== 'notifications/roots/list_changed') return
      for (const member of session.scope.resolved.members)
        if (hasOwnConnection(upstreams, member, session))
          upstreams.notify(member.server.id, session.key, method, params)
    },
  })
  const wire = new LegacyWire(sessions, posts, now)
  const front = new Front({ auth, principals: new Principals(), scopes, sessions, wire, log })

  const endAll = (reason: string) => {
    for (const session of [...sessions]) sessions.end(session, reason)
  }
  return {
    fetch: (request, path, info) => front.fetch(request, path, info),
    sessions: () => sessions.infos(),
    endSession(key, reason) {
      const session = sessions.byKey(key)
      if (session) sessions.end(session, reason)
      return session !== undefined
    },
    async groupView(actor, group) {
      const members = await registry.groups.usableMembers(actor, group)
      const scope = toResolvedScope({ group, servers: members.map(({ server }) => server) })
      return groupView(scope, upstreams, texts)
    },
    async drain(timeoutMs) {
      drained = true
      const deadlineMs = now() + timeoutMs
      const busy = () => [...sessions].some(session => session.calls.size > 0)
      while (busy() && now() < deadlineMs) await new Promise(resolve => setTimeout(resolve, DRAIN_LOOK_MS))
      pulse.closeStreams()
    },
    dispose() {
      endAll('hub_stopped')
      credentials.dispose()
      relay.dispose()
      pulse.dispose()
    },
  }
}
