import type { Authenticator } from '../../../core/auth/api.ts'
import type {
  ServerCatalog,
  ToolDefinition,
  UpstreamReply,
  UpstreamRequest,
  Upstreams,
} from '../../../core/connections/api.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject, JsonValue } from '../../../core/contract/json.ts'
import type { PluginContext } from '../../../core/contract/plugin.ts'
import type { McpMiddleware } from '../../../core/contract/points.ts'
import type { GroupRecord, Role, ServerRecord, UserActor } from '../../../core/contract/records.ts'
import { LongText } from '../../../core/domain/json/long-text.ts'
import { canUse, roleFor, type Thing, type ThingRole } from '../../../core/domain/ownership.ts'
import type { ServerStatus } from '../../../core/domain/server/status.ts'
import { catalogItem } from '../../../core/domain/tools/catalog-item.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { ClientConfig } from '../../../core/features/clients.ts'
import type { Method, Reply, Route } from '../../../core/http/route.ts'
import { type ResourceRoutesDeps, resourceRoutes } from '../../../core/http/routes/all.ts'
import type { McpEndpoint } from '../../../core/mcp/api.ts'
import { createMcp } from '../../../core/mcp/create.ts'
import type { AuditEntry, EffectiveServer, Registry } from '../../../core/registry/api.ts'
import type { RequestInfo } from '../../../core/request/request-info.ts'
import { HubMarks } from '../../../core/secrets/hub-marks.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { CallLinks } from '../../../core/telemetry/calls/call-links.ts'
import { CustomMetrics } from '../../../core/telemetry/custom-metrics.ts'
import { LogLevels } from '../../../core/telemetry/levels.ts'
import clientConfigPlugin from '../../../plugins/client-config/plugin.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { bundledTransports } from '../../support/transports.ts'

export function actor(name: string, role: Role = 'user'): UserActor {
  return { kind: 'user', userId: `u-${name}`, name, role, credential: { kind: 'local' } }
}

export const ada = actor('ada')
export const bob = actor('bob')
export const root = actor('root', 'admin')

export function serverRecord(change: Partial<ServerRecord> = {}): ServerRecord {
  return {
    id: 's-1',
    ownerId: ada.userId,
    ownerName: 'ada',
    name: 'time',
    transport: 'stdio',
    config: { command: 'uvx', args: ['mcp-server-time'] },
    variables: {},
    timeoutMs: 60_000,
    maxTimeoutMs: 600_000,
    visibility: 'private',
    enabled: true,
    start: 'eager',
    isolate: false,
    healthCheck: { enabled: true, interval: 30_000, timeout: 5_000, retries: 2 },
    passthroughHeaders: [],
    tools: {},
    secrets: [],
    origin: 'store',
    revision: 3,
    createdAt: '2026-11-21T09:00:00.000Z',
    updatedAt: '2026-11-21T09:00:00.000Z',
    ...change,
  }
}

export function groupRecord(change: Partial<GroupRecord> = {}): GroupRecord {
  return {
    id: 'g-1',
    ownerId: ada.userId,
    ownerName: 'ada',
    name: 'daily',
    visibility: 'private',
    naming: 'auto',
    members: ['s-1', 's-2'].map(serverId => ({
      serverId,
      serverRef: `ada~${serverId}`,
      serverName: serverId,
      tools: 'all',
      prompts: 'all',
      resources: 'all',
    })),
    origin: 'store',
    revision: 5,
    createdAt: '2026-11-21T09:00:00.000Z',
    updatedAt: '2026-11-21T09:00:00.000Z',
    ...change,
  }
}

export function catalog(...tools: JsonObject[]): ServerCatalog {
  return {
    tools: tools.filter(({ name }) => name !== undefined).map(tool => catalogItem('tools', tool)),
    prompts: [],
    resources: [],
    resourceTemplates: [],
    capabilities: {},
    serverInfo: {},
    protocolVersion: '2025-11-25',
    readAt: '2026-11-21T09:00:00.000Z',
    warnings: [],
  }
}

export function status(state: ServerStatus['state'] = 'online'): ServerStatus {
  return {
    state,
    since: '2026-11-21T09:00:00.000Z',
    attempts: 0,
    pid: 4711,
    counts: { tools: 2, prompts: 0, resources: 0 },
    ...(state === 'offline' ? { reason: { code: 'crash_loop', message: 'secret path in here' } } : {}),
  }
}

/** The clients of the bundled plugin. */
export function bundledClients(): ReadonlyMap<string, ClientConfig> {
  const clients = new Map<string, ClientConfig>()
  const contribute = (_point: string, id: string, config: ClientConfig) => void clients.set(id, config)
  void clientConfigPlugin.setup({ contribute } as unknown as PluginContext<undefined>)
  return clients
}

/** The hub's parts as the routes use them, with a record of every operation. */
export class World {
  servers: ServerRecord[] = []
  groups: GroupRecord[] = []
  readonly definitions = new Map<string, ToolDefinition>()
  catalogs = new Map<string, ServerCatalog>()
  states = new Map<string, ServerStatus['state']>()
  stored: Record<string, JsonValue> = {}
  deeds: string[] = []
  audit: AuditEntry[] = []
  records: { readonly tool: string; readonly status: string; readonly group: string }[] = []
  requests: UpstreamRequest[] = []
  cancelled: string[] = []
  readonly bytes = bytesInFlight()
  answer: (request: UpstreamRequest) => UpstreamReply | Promise<UpstreamReply> = () => ({
    kind: 'result',
    text: '{"content":[]}',
    isError: false,
  })
  readonly middlewares: McpMiddleware[] = []
  readonly deps: ResourceRoutesDeps

  constructor(change: Partial<ResourceRoutesDeps> = {}) {
    const upstreams = this.#upstreams()
    this.deps = {
      metricsToken: undefined,
      metricsText: () => Promise.resolve(''),
      usage: () => ({ ownCpu: 0, cores: 1, loadAverage: [0, 0, 0], eventLoopLagMs: 0 }),
      openStreams: () => 0,
      activeConnections: () => 0,
      custom: new CustomMetrics(),
      links: new CallLinks(),
      uptimeRatio: () => undefined,
      stateChanges: () => [],
      ...{ kinds: { all: () => [] }, attached: { names: () => [] } },
      usualHealthCheck: () => ({}),
      fileProblems: () => [],
      transports: bundledTransports(),
      proofs: { requireOfSession: () => {} },
      registry: this.#registry(),
      bus: new EventBus(error => {
        throw error
      }),
      upstreams,
      alerts: {
        rules: {},
        channels: {},
        silences: {},
        channelCounts: async () => new Map(),
      } as unknown as ResourceRoutesDeps['alerts'],
      templates: () => undefined,
      closedFields: () => [],
      exports: { make: async () => new LongText([Buffer.from('{}')]) },
      importSources: () => new Map(),
      leftBehind: {},
      imports: {} as unknown as ResourceRoutesDeps['imports'],
      backups: { make: async () => new ReadableStream() },
      assistant: { endpoints: {} } as unknown as ResourceRoutesDeps['assistant'],
      dashboards: { list: async () => [], get: async () => ({}) } as unknown as ResourceRoutesDeps['dashboards'],
      mcp: {
        callTool: call => this.#mcp(upstreams).callTool(call),
        recordRefusal: () => undefined,
        groupView: async () => ({
          tools: () => [],
          counts: { tools: 7, prompts: 0, resources: 0 },
          tokens: 90,
          warnings: [],
        }),
        openPath: async () => Promise.reject(new Error('not used')),
        sessions: () => [],
        usage: () => ({
          sessionsPerUser: 0,
          callsPerUser: 0,
          streamsPerUser: 0,
          listenStreamsPerUser: 0,
          parkedCallsPerUser: 0,
          tasksPerUser: 0,
          leasesPerUser: 0,
          bytesInFlightPerUser: 0,
          eventReplayBytesPerUser: 0,
        }),
        endSession: () => false,
      },
      credentials: { during: (_actor, signal, work) => work(signal) },
      bytes: this.bytes,
      plugins: {
        pages: () => [],
        builtPages: () => [],
        words: () => ({}),
        list: () => [],
        configure: () => Promise.reject(new Error('not asked for')),
        install: () => Promise.reject(new Error('not asked for')),
        remove: () => Promise.reject(new Error('not asked for')),
      },
      logStore: () => undefined,
      logging: { levels: new LogLevels('info'), sinks: () => [], components: [] },
      healthChecks: {},
      config: { values: {} as ResourceRoutesDeps['config']['values'], sources: {} },
      teamSources: () => new Map(),
      clientConfigs: bundledClients,
      importDocument: async () => ({ entries: [] }),
      version: '1.1.0',
      startedAtMs: performance.now(),
      draining: () => false,
      checks: async () => ({
        store: 'ok',
        sinks: 'none',
        ofPlugins: [],
        plugins: 'ok',
        descriptors: 'ok',
        sandbox: 'none',
      }),
      features: {},
      ...change,
    }
  }

  /** The real endpoint, as far as calls without a session need it. */
  #mcp(upstreams: Upstreams): McpEndpoint {
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    return createMcp({
      marks: new HubMarks('key'),
      watch: { pluginOf: () => 'test', ended: () => undefined },
      registry: this.deps.registry,
      upstreams,
      bus: new EventBus(error => {
        throw error
      }),
      auth: {} as Authenticator,
      credentials: { watchAll: () => () => {}, require: () => undefined },
      sealer: createSealer([new Uint8Array(32).fill(7)]),
      bytes: bytesInFlight(),
      resolver: () => undefined,
      middlewares: () => this.middlewares,
      toolSets: () => new Map(),
      recordCall: record => this.records.push(record),
      log,
      version: '1.1.0',
      draining: () => false,
    })
  }

  #server(who: UserActor, ref: string, right: ThingRole): ServerRecord {
    const [owner, name] = ref.includes('~') ? ref.split('~') : [who.name, ref]
    const found = this.servers.find(record => record.ownerName === owner && record.name === name)
    const edits = who.role === 'admin' || found?.ownerId === who.userId
    if (!found || !(edits || found.visibility === 'public')) throw new HubError('server_not_found', `No server ${ref}`)
    if (right !== 'use' && !edits) throw new HubError('not_owner', 'Not yours')
    return found
  }

  #registry(): Registry {
    const servers = {
      list: async (_who: unknown, query: JsonObject) => {
        this.deeds.push(`list ${JSON.stringify(query)}`)
        return query.scope === 'public' ? this.servers.filter(each => each.visibility === 'public') : this.servers
      },
      resolve: async (who: UserActor, ref: string, right: ThingRole) => this.#server(who, ref, right),
      create: async (who: UserActor, body: JsonObject) => {
        if (body.name === 'bad') throw new HubError('validation_failed', 'bad', { errors: [fieldError] })
        const record = serverRecord({ ownerId: who.userId, ownerName: who.name, name: String(body.name), revision: 1 })
        if (this.servers.some(each => each.name === record.name)) throw new HubError('server_name_taken', 'taken')
        this.servers.push(record)
        return record
      },
      draft: async (_who: UserActor, body: JsonObject): Promise<EffectiveServer> => {
        if (String(body.name).startsWith('bad'))
          throw new HubError('validation_failed', 'bad', { errors: [fieldError] })
        return {
          settings: serverRecord({ name: String(body.name) }),
          ownerId: 'u-ada',
          ownerRole: 'user',
          ownerNumber: 1,
          ownerGrants: { network: 'none' },
          secrets: [],
          configHash: '',
        }
      },
      patch: async (who: UserActor, ref: string, patch: JsonObject, options: JsonObject) => {
        this.deeds.push(`patch ${JSON.stringify(patch)} ${JSON.stringify(options)}`)
        const record = this.#server(who, ref, 'change')
        return { ...record, revision: record.revision + 1, tools: { ...record.tools, ...(patch.tools as object) } }
      },
      remove: async (_who: UserActor, ref: string) => this.deeds.push(`remove ${ref}`),
      setEnabled: async (who: UserActor, ref: string, enabled: boolean) => {
        this.deeds.push(`enabled ${enabled}`)
        return { ...this.#server(who, ref, 'change'), enabled, revision: 4 }
      },
      publicBody: (record: ServerRecord) => ({ name: record.name, transport: record.transport, ...record.config }),
    }
    const roles = { sharedRole: () => undefined }
    const shares = {
      roleOf: (who: UserActor, thing: Thing) => roleFor(who, thing, roles),
      mayUse: (userId: string, thing: Thing) => canUse(userId, thing, roles),
      isMissedBySome: () => false,
    }
    const groups = {
      list: async () => this.groups,
      resolve: async (_who: UserActor, ref: string) => {
        const found = this.groups.find(record => record.name === ref)
        if (!found) throw new HubError('group_not_found', `No group ${ref}`)
        return found
      },
      lostMembers: async () => [],
      usableMembers: async (who: UserActor, group: GroupRecord) =>
        group.members.flatMap(member => {
          const server = this.servers.find(each => each.id === member.serverId)
          const usable = server && (server.visibility === 'public' || server.ownerId === who.userId)
          return usable ? [{ member, server }] : []
        }),
      publicBody: (record: GroupRecord) => ({
        name: record.name,
        members: record.members.map(({ serverRef }) => ({ server: serverRef })),
      }),
    }
    const settings = {
      allSystem: async () => this.stored,
      systemRevision: async () => 0,
      setSystem: async (_who: UserActor, values: Record<string, JsonValue>) => {
        Object.assign(this.stored, values)
      },
    }
    const audit = { record: (_who: unknown, entry: AuditEntry) => this.audit.push(entry) }
    return { servers, groups, shares, settings, audit } as unknown as Registry
  }

  #upstreams(): Upstreams {
    const note = (verb: string) => (id: string) => this.deeds.push(`${verb} ${id}`)
    return {
      face: () => ({
        ...{ era: 'legacy', serverRequests: [], tools: [], known: true, listed: 0, probing: undefined },
        toolsFor: () => undefined,
        ready: () => undefined,
      }),
      status: (id: string) => status(this.states.get(id) ?? 'online'),
      catalog: (id: string) => this.catalogs.get(id),
      definitions: () => this.definitions,
      approveTool: (id: string, tool: string, hash: string) => this.deeds.push(`approve ${id} ${tool} ${hash}`),
      catalogsReady: async () => {},
      callerLists: () => undefined,
      counts: () => ({ total: 2, online: 1, connecting: 0, offline: 1, tools: 7 }),
      stderr: () => [1, 2, 3].map(n => ({ at: '2026-11-21T09:00:00.000Z', line: `line ${n}` })),
      start: note('start'),
      stop: note('stop'),
      restart: note('restart'),
      refresh: note('refresh'),
      settled: async (id: string, timeoutMs: number) => {
        this.deeds.push(`settled ${id} ${timeoutMs}`)
        return status()
      },
      request: (_id: string, request: UpstreamRequest) => {
        this.requests.push(request)
        const reply = Promise.resolve(this.answer(request))
        return { reply, cancel: (reason = '') => this.cancelled.push(reason) }
      },
    } as unknown as Upstreams
  }
}

const fieldError = { pointer: '#/command', code: 'required', detail: 'command is required' } as const

export interface Asked {
  readonly actor?: UserActor | undefined
  readonly params?: object
  readonly query?: object
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export const info: RequestInfo = {
  requestId: 'r-1',
  clientAddress: '127.0.0.1',
  untrustedForwarding: false,
  viaProxy: false,
  addressKey: '127.0.0.1',
  mayAdminister: true,
  baseUrl: 'http://hub.test/base',
  keepOpen: () => {},
}

interface Callable {
  handle(context: object): Promise<Reply | Response>
}

/** Runs one route as the application does: the parts of the request go through their schemas first. */
export async function ask(deps: ResourceRoutesDeps, method: Method, path: string, asked: Asked = {}) {
  const route = resourceRoutes(deps).find(each => each.method === method && each.path === path)
  if (!route) throw new Error(`There is no route ${method} ${path}`)
  const reply = await (route as unknown as Callable).handle({
    request: new Request(`http://hub.test${path}`, { method, headers: asked.headers ?? {} }),
    info,
    actor: 'actor' in asked ? asked.actor : ada,
    params: route.params?.parse(asked.params ?? {}),
    query: route.query?.parse(asked.query ?? {}),
    body: route.body?.parse(asked.body),
    signal: asked.signal ?? new AbortController().signal,
    take() {},
  })
  if (reply instanceof Response || reply.text !== undefined) {
    const response = reply instanceof Response ? reply : writtenResponse(reply)
    return { status: response.status, headers: {}, body: undefined as unknown, response }
  }
  const answered = { status: reply.status ?? 200, headers: reply.headers ?? {}, body: reply.body as unknown }
  checkAnswer(route, answered.status, answered.body)
  return { ...answered, response: undefined }
}

function writtenResponse({ status = 200, text, type = 'application/json', headers }: Reply): Response {
  return new Response(String(text), { status, headers: { ...headers, 'content-type': type } })
}

/** Throws unless a route's answer agrees with its document. */
export function checkAnswer(route: Route, code: number, body: unknown): void {
  const spec = route.responses[code]
  if (!spec) throw new Error(`${route.method} ${route.path} answered ${code}, which it does not declare`)
  if (spec.schema) spec.schema.parse(body === undefined ? undefined : JSON.parse(JSON.stringify(body)))
  else if (body !== undefined) throw new Error(`${route.method} ${route.path} has a body with ${code}`)
}

/** A member of a body that the test knows to be there. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not so
export function of(body: unknown): any {
  return JSON.parse(JSON.stringify(body))
}
