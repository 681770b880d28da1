import type { Alerts } from '../alerts/create.ts'
import type { Assistant } from '../assistant/create.ts'
import type { Auth } from '../auth/create.ts'
import type { HubConfig } from '../config/schema.ts'
import type { Upstreams } from '../connections/api.ts'
import type { HubError } from '../contract/errors.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { Dashboards } from '../dashboards/dashboards.ts'
import type { BytesInFlight } from '../domain/byte-account.ts'
import type { Transports } from '../domain/server/transports.ts'
import type { EventBus } from '../events/bus.ts'
import type { McpEndpoint } from '../mcp/api.ts'
import type { Registry } from '../registry/api.ts'
import type { HubMarks } from '../secrets/hub-marks.ts'
import type { Peer, RequestGuard } from './api.ts'
import { type AppDeps, createApp } from './app.ts'
import type { BodyParser } from './body/body-parser.ts'
import { createConsole } from './console/console.ts'
import { createGuard, createRequestIds } from './guard.ts'
import { LiveFeed, type LiveFeedOptions } from './live/live.ts'
import type { PluginRouteTable } from './plugin-routes.ts'
import { createRequestLog } from './request-log.ts'
import type { Route } from './route.ts'
import { namingChanger } from './routes/changer.ts'
import { docsRoutes } from './routes/hub/docs.ts'
import { type LimitRoutesDeps, limitRoutes } from './routes/hub/limits.ts'
import { streamRoutes } from './routes/hub/stream.ts'
import { authRoutes } from './routes/people/auth.ts'
import { keyRoutes } from './routes/people/keys.ts'
import { resetRoutes } from './routes/people/reset.ts'
import { setupRoutes } from './routes/people/setup.ts'
import { signInRoutes } from './routes/people/sign-ins.ts'
import { userRoutes } from './routes/people/users.ts'
import { type ServeOptions, serveBun } from './serve-bun.ts'

/** Dependencies of the HTTP side on the rest of the hub. */
export interface HttpDeps {
  readonly config: Pick<
    HubConfig,
    | 'host'
    | 'port'
    | 'basePath'
    | 'publicUrl'
    | 'allowedHosts'
    | 'allowedOrigins'
    | 'adminAddresses'
    | 'trustedProxies'
    | 'requestLogs'
    | 'discoveryEnabled'
  >
  readonly registry: Registry
  readonly transports: Transports
  readonly auth: Auth
  readonly bus: EventBus
  readonly log: PluginLogger
  readonly bytes: BytesInFlight
  readonly mcp: Pick<McpEndpoint, 'fetch' | 'usage'>
  readonly alerts: Pick<Alerts, 'usage' | 'channelTypes'>
  readonly dashboards: Pick<Dashboards, 'count'>
  readonly assistant: Pick<Assistant, 'count'>
  readonly limitUses: LimitRoutesDeps['limitUses']
  readonly customMetrics: LimitRoutesDeps['customMetrics']
  readonly upstreams: Pick<Upstreams, 'processesOf' | 'foreignProcessesOf' | 'isolatedThreadsOf' | 'catalogBytesOf'>
  /** Routes of resources; those of sign-in, users, keys, limits, the live stream and the API document are added. */
  readonly routes: readonly Route[]
  readonly pluginRoutes: PluginRouteTable
  /** See `PipelineDeps`. */
  readonly writeObstacle?: () => HubError | undefined
  /** Enables `POST /api/setup` while there is no administrator; undefined: disabled. */
  readonly setupToken: string | undefined
  readonly version: string
  /** Folder of the console's build. */
  readonly consoleFolder: string
  readonly bodyParser: BodyParser
  readonly marks?: HubMarks
  /** Times of the live stream, where they differ from its defaults. */
  readonly live?: Pick<LiveFeedOptions, 'pingMs' | 'stuckMs'>
  /** See `serveBun`. */
  readonly streamIdleSeconds?: number
  /** See `AppDeps`. */
  readonly countRequest?: NonNullable<AppDeps['countRequest']>
  /** Keeps descriptors back from connections. */
  readonly reserve?: ServeOptions['reserve']
}

/** The HTTP side of a hub, as the composition root uses it. */
export interface Http {
  readonly guard: RequestGuard
  /** All routes: the access table. */
  readonly routes: readonly Route[]
  /** The application without `/mcp`. Never rejects. */
  fetch(request: Request, peer: Peer): Promise<Response>
  /** Throws StartError: port_in_use, bind_failed. */
  listen(): { readonly port: number; readonly address: string }
  /** Connections with a request under way, and open WebSockets. */
  active(): number
  /** Streams of `/api/stream` that a user has open. */
  liveStreams(userId: string): number
  /** Ends live streams, and accepts no new connections. `graceful`: finishes requests in flight first. */
  stop(graceful: boolean): Promise<void>
}

/** Builds the HTTP side. Throws RangeError for an invalid list of addresses. */
export function createHttp(deps: HttpDeps): Http {
  const { config, registry, auth, bus, log, version } = deps
  const nextId = createRequestIds()
  const guard = createGuard(config, nextId)
  const { liveCredentials: credentials } = auth
  const feed = new LiveFeed({
    bus,
    credentials,
    users: registry.users,
    roles: registry.shares,
    bytes: deps.bytes,
    ...deps.live,
  })
  const described: readonly Route[] = [
    ...setupRoutes({ registry, auth, setupToken: deps.setupToken }),
    ...authRoutes({ registry, auth }),
    ...signInRoutes({ registry, auth }),
    ...userRoutes({ registry, passwords: auth.passwords, proofs: auth.proofs }),
    ...resetRoutes({ registry, auth }),
    ...keyRoutes({ registry }),
    ...streamRoutes({ feed, authenticator: auth.authenticator }),
    ...limitRoutes({
      registry,
      signIns: auth.signIns,
      mcp: deps.mcp,
      alerts: deps.alerts,
      dashboards: deps.dashboards,
      assistant: deps.assistant,
      customMetrics: deps.customMetrics,
      upstreams: deps.upstreams,
      liveStreams: userId => feed.readersOf(userId),
      pluginLimits: () => deps.pluginRoutes.limits(),
      limitUses: deps.limitUses,
    }),
    ...deps.routes,
  ]
  const routes = [
    ...docsRoutes({
      ...{ routes: described, version, transports: deps.transports, alerts: deps.alerts },
      pluginRoutes: () => deps.pluginRoutes.all(),
      pluginCodes: () => deps.pluginRoutes.codes(),
      recordRoutes: () => deps.pluginRoutes.records(),
    }),
    ...namingChanger(described, registry.audit),
  ]
  const requestLog = config.requestLogs ? createRequestLog(log) : undefined
  let setupOpen = deps.setupToken !== undefined
  const app = createApp({
    routes,
    plugins: { routes: deps.pluginRoutes, audit: registry.audit },
    console: createConsole({
      folder: deps.consoleFolder,
      basePath: config.basePath,
      setupOpen: async () => {
        // Every page needs this: once there is an administrator, no request reads the store for it.
        setupOpen &&= await registry.users.needsSetup()
        return setupOpen
      },
    }),
    guard,
    authenticator: auth.authenticator,
    rateLimiter: auth.rateLimiter,
    ...(deps.writeObstacle ? { writeObstacle: deps.writeObstacle } : {}),
    log,
    bytes: deps.bytes,
    nextId,
    requestLog,
    ...(deps.countRequest ? { countRequest: deps.countRequest } : {}),
    bodyParser: deps.bodyParser,
    ...(deps.marks ? { marks: deps.marks } : {}),
  })
  const { host, port, basePath } = config
  const { mcp, streamIdleSeconds, reserve } = deps
  const idle = streamIdleSeconds === undefined ? {} : { streamIdleSeconds }
  const server = serveBun({ host, port, basePath, guard, app, mcp, log, nextId, requestLog, reserve, ...idle })
  return {
    guard,
    routes,
    fetch: app.fetch,
    listen: () => server.listen(),
    active: () => server.active(),
    liveStreams: userId => feed.readersOf(userId),
    async stop(graceful) {
      feed.dispose()
      await server.stop(graceful)
    },
  }
}
