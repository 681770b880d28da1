import type { Authenticator } from '../../../core/auth/api.ts'
import { LiveCredentials } from '../../../core/auth/live-credentials.ts'
import type {
  ServerCatalog,
  ToolDefinition,
  UpstreamCall,
  UpstreamFace,
  UpstreamReply,
  UpstreamRequest,
  Upstreams,
} from '../../../core/connections/api.ts'
import { HubError } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { PluginContext, PluginDefinition } from '../../../core/contract/plugin.ts'
import type { McpMiddleware } from '../../../core/contract/points.ts'
import type {
  Credential,
  GroupMember,
  GroupRecord,
  ServerRecord,
  ServerRequestKind,
  UserActor,
} from '../../../core/contract/records.ts'
import type { ListKind } from '../../../core/domain/mcp-methods.ts'
import type { ServerStatus } from '../../../core/domain/server/status.ts'
import { type CatalogItem, catalogItem } from '../../../core/domain/tools/catalog-item.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { ToolCallRecord } from '../../../core/features/call-records.ts'
import type { GroupResolver } from '../../../core/features/group-names.ts'
import type { ToolSet } from '../../../core/features/tools.ts'
import type { McpEndpoint } from '../../../core/mcp/api.ts'
import { createMcp } from '../../../core/mcp/create.ts'
import { ToolSets } from '../../../core/mcp/scope/tool-sets.ts'
import type { Registry } from '../../../core/registry/api.ts'
import type { RequestInfo } from '../../../core/request/request-info.ts'
import { HubMarks } from '../../../core/secrets/hub-marks.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import groups from '../../../plugins/groups/plugin.ts'
import resultLimits from '../../../plugins/result-limits/plugin.ts'
import { bytesInFlight } from '../../support/bytes.ts'
import { atMost } from '../../support/pace.ts'
import { bundledTransports } from '../../support/transports.ts'

export const ISO = '2026-01-01T00:00:00.000Z'

export function serverRecord(name: string, more: Partial<ServerRecord> = {}): ServerRecord {
  const owner = more.ownerName ?? 'alice'
  return {
    id: `srv-${owner}-${name}`,
    ownerId: `u-${owner}`,
    ownerName: owner,
    name,
    transport: 'stdio',
    config: {},
    variables: {},
    timeoutMs: 60_000,
    maxTimeoutMs: 600_000,
    visibility: 'private',
    enabled: true,
    start: 'eager',
    isolate: false,
    healthCheck: { enabled: false, interval: 60_000, timeout: 5_000, retries: 3 },
    passthroughHeaders: [],
    tools: {},
    secrets: [],
    origin: 'store',
    revision: 1,
    createdAt: ISO,
    updatedAt: ISO,
    ...more,
  }
}

export function member(server: ServerRecord, more: Partial<GroupMember> = {}): GroupMember {
  return {
    serverId: server.id,
    serverRef: `${server.ownerName}~${server.name}`,
    serverName: server.name,
    tools: 'all',
    prompts: 'all',
    resources: 'all',
    ...more,
  }
}

export function groupRecord(
  name: string,
  members: readonly GroupMember[],
  more: Partial<GroupRecord> = {},
): GroupRecord {
  const owner = more.ownerName ?? 'alice'
  return {
    id: `grp-${owner}-${name}`,
    ownerId: `u-${owner}`,
    ownerName: owner,
    name,
    visibility: 'private',
    naming: 'auto',
    members,
    origin: 'store',
    revision: 1,
    createdAt: ISO,
    updatedAt: ISO,
    ...more,
  }
}

type Lists = Partial<Record<ListKind, readonly JsonObject[]>>

/** A catalogue with items in the form that the upstream writes. */
export function catalog(more: Omit<Partial<ServerCatalog>, ListKind> & Lists = {}): ServerCatalog {
  const has = (list: readonly JsonObject[] | undefined) => list !== undefined && list.length > 0
  const items = (kind: ListKind) => (more[kind] ?? []).map(item => catalogItem(kind, item))
  return {
    capabilities: {
      ...(has(more.tools) ? { tools: {} } : {}),
      ...(has(more.prompts) ? { prompts: {} } : {}),
      ...(has(more.resources) || has(more.resourceTemplates) ? { resources: { subscribe: true } } : {}),
    },
    serverInfo: { name: 'fake', version: '1' },
    protocolVersion: '2025-11-25',
    readAt: ISO,
    warnings: [],
    ...more,
    tools: items('tools'),
    prompts: items('prompts'),
    resources: items('resources'),
    resourceTemplates: items('resourceTemplates'),
  }
}

export const tool = (name: string, description = name): JsonObject => ({
  name,
  description,
  inputSchema: { type: 'object' },
})

type Handler = (request: UpstreamRequest, signal: AbortSignal) => UpstreamReply | Promise<UpstreamReply>

interface FakeServer {
  catalog: ServerCatalog | undefined
  status: ServerStatus
  handler: Handler
  /** The kinds of requests to clients that it was seen to send. */
  serverRequests?: readonly ServerRequestKind[]
  /** Its tools for clients that can be asked. */
  able?: readonly CatalogItem[]
}

export function textReply(text: string): UpstreamReply {
  return { kind: 'result', text: JSON.stringify({ content: [{ type: 'text', text }] }), isError: false }
}

const COUNTS = { tools: 0, prompts: 0, resources: 0 }

/** Upstreams without connections: each server is a function. */
export class FakeUpstreams implements Upstreams {
  readonly servers = new Map<string, FakeServer>()
  readonly seen: { readonly serverId: string; readonly request: UpstreamRequest }[] = []
  readonly notified: { readonly serverId: string; readonly sessionId: string | undefined; readonly method: string }[] =
    []
  readonly endedSessions: string[] = []
  /** Tools whose definition changed, by server. */
  readonly changed = new Map<string, string[]>()
  readonly cancelled: string[] = []
  readyWaits: { readonly ids: readonly string[]; readonly budgetMs: number }[] = []
  ready: (ids: readonly string[], budgetMs: number) => Promise<void> = () => Promise.resolve()

  add(id: string, lists: ServerCatalog | undefined, handler: Handler = () => textReply('ok')): FakeServer {
    const server: FakeServer = {
      catalog: lists,
      status: { state: 'online', since: new Date().toISOString(), attempts: 0, counts: COUNTS },
      handler,
    }
    this.servers.set(id, server)
    return server
  }

  foreignProcessesOf(): number {
    return 0
  }

  isolatedThreadsOf(): number {
    return 0
  }

  processesOf(): number {
    return 0
  }

  catalogBytesOf(): number {
    return 0
  }

  request(serverId: string, request: UpstreamRequest): UpstreamCall {
    this.seen.push({ serverId, request })
    const server = this.servers.get(serverId)
    const abort = new AbortController()
    const { promise, resolve } = Promise.withResolvers<UpstreamReply>()
    if (!server) resolve({ kind: 'failed', code: 'server_offline', message: 'no such server' })
    else resolve(server.handler(request, abort.signal))
    return {
      reply: promise,
      cancel: reason => {
        this.cancelled.push(reason ?? '')
        abort.abort()
        resolve({ kind: 'cancelled' })
      },
    }
  }

  notify(serverId: string, sessionId: string | undefined, method: string): void {
    this.notified.push({ serverId, sessionId, method })
  }
  endSession(sessionId: string): void {
    this.endedSessions.push(sessionId)
  }
  status(serverId: string): ServerStatus {
    return (
      this.servers.get(serverId)?.status ?? {
        state: 'offline',
        since: ISO,
        attempts: 0,
        counts: COUNTS,
        reason: { code: 'stopped', message: 'unknown' },
      }
    )
  }
  /** The transport of a server, from its record. */
  transportOf: (serverId: string) => string | undefined = () => undefined
  face(serverId: string): UpstreamFace {
    const server = this.servers.get(serverId)
    const { serverRequests = [], able } = server ?? {}
    const era = server?.status.era ?? 'legacy'
    return {
      side: era,
      era,
      serverRequests,
      kind: bundledTransports().of(this.transportOf(serverId) ?? '')?.kind,
      tools: able?.map(({ key }) => key) ?? [],
      known: true,
      listed: 0,
      probing: undefined,
      toolsFor: () => able,
      ready: () => undefined,
    }
  }
  awaitLegacySides(): undefined {}
  catalog(serverId: string): ServerCatalog | undefined {
    return this.servers.get(serverId)?.catalog
  }
  definitions(serverId: string): ReadonlyMap<string, ToolDefinition> {
    return new Map(this.changed.get(serverId)?.map(tool => [tool, { hash: 'new', changed: true, approved: 'old' }]))
  }
  callerLists(): undefined {}
  approveTool(): void {}
  catalogsReady(ids: readonly string[], budgetMs: number): Promise<void> {
    this.readyWaits.push({ ids, budgetMs })
    return this.ready(ids, budgetMs)
  }
  readonly credentials = { changed: () => {}, standing: async () => undefined }

  start(): void {}
  stop(): void {}
  restart(): void {}
  refresh(): void {}
  listed(): void {}
  settled(serverId: string): Promise<ServerStatus> {
    return Promise.resolve(this.status(serverId))
  }
  states() {
    return []
  }

  counts() {
    return { total: 0, online: 0, connecting: 0, offline: 0, tools: 0 }
  }
  checks() {
    return []
  }

  processes() {
    return []
  }
  stderr() {
    return []
  }
  trial(): Promise<never> {
    return Promise.reject(new Error('no trials here'))
  }
}

/** The registry and its people: only names, rights and credentials. */
export class World {
  readonly servers: ServerRecord[] = []
  readonly groups: GroupRecord[] = []
  readonly actors = new Map<string, UserActor>()
  readonly revoked = new Set<string>()

  person(name: string, token = name, credential?: Credential): UserActor {
    const actor: UserActor = {
      kind: 'user',
      userId: `u-${name}`,
      name,
      role: 'user',
      credential: credential ?? {
        kind: 'session',
        tokenId: `t-${token}`,
        familyId: `t-${token}`,
        signedInAtMs: 0,
        expiresAtMs: Date.now() + 86_400_000,
      },
    }
    this.actors.set(token, actor)
    return actor
  }

  readonly auth: Authenticator = {
    authenticate: headers => {
      const token = headers.get('authorization')?.replace(/^Bearer /, '')
      if (token === undefined) throw new HubError('unauthenticated', 'A credential is needed')
      const actor = this.actors.get(token)
      if (!actor || this.revoked.has(token)) throw new HubError('token_invalid', 'The token is not valid')
      return actor
    },
    authenticateToken: () => Promise.reject(new Error('not used')),
    stillValid: actor => {
      const token = [...this.actors].find(([, known]) => known === actor)?.[0]
      return token !== undefined && !this.revoked.has(token)
    },
    continues: async actor => this.auth.stillValid(actor),
  }

  usable(actor: { kind: string }, group: GroupRecord) {
    return group.members.flatMap(choice => {
      const server = this.servers.find(each => each.id === choice.serverId)
      const own = server && 'userId' in actor && server.ownerId === actor.userId
      return server && (own || server.visibility === 'public') ? [{ member: choice, server }] : []
    })
  }

  resolver(): GroupResolver {
    let found: GroupResolver | undefined
    const owner = (actor: { kind: string }, name: string | undefined) =>
      name ?? ('name' in actor ? String(actor.name) : '')
    const byName = <T extends { name: string; ownerName: string }>(
      list: readonly T[],
      ownerName: string,
      name: string,
    ) => list.find(each => each.ownerName === ownerName && each.name.toLowerCase() === name.toLowerCase())
    const context = {
      registry: {
        group: async (actor: UserActor, name: string | undefined, group: string) =>
          byName(this.groups, owner(actor, name), group),
        serverByName: async (actor: UserActor, name: string | undefined, server: string) =>
          byName(this.servers, owner(actor, name), server),
        mayUse: (userId: string, { ownerId, visibility }: ServerRecord | GroupRecord) =>
          ownerId === userId || visibility === 'public',
        ownServers: async (actor: UserActor) => this.servers.filter(each => each.ownerId === actor.userId),
        usableMembers: async (actor: UserActor, group: GroupRecord) => this.usable(actor, group),
      },
      contribute: (_point: string, _id: string, resolver: GroupResolver) => {
        found = resolver
      },
    }
    groups.setup(context as unknown as PluginContext<undefined>)
    if (!found) throw new Error('the groups plugin contributed no resolver')
    return found
  }
}

export interface Hub extends AsyncDisposable {
  readonly url: string
  readonly mcp: McpEndpoint
  readonly bus: EventBus
  readonly world: World
  readonly upstreams: FakeUpstreams
  readonly middlewares: McpMiddleware[]
  readonly toolSets: Map<string, ToolSet>
  readonly calls: ToolCallRecord[]
  readonly clock: { skewMs: number }
  draining: boolean
}

/** Like the hub's own: an object whose methods need `this`. */
class Info implements RequestInfo {
  readonly requestId: string
  readonly baseUrl: string
  readonly clientAddress = '127.0.0.1'
  readonly untrustedForwarding = false
  readonly viaProxy = false
  readonly addressKey = '127.0.0.1'
  readonly mayAdminister = true
  readonly #keepOpen: () => void

  constructor(requestId: string, baseUrl: string, keepOpen: () => void) {
    this.requestId = requestId
    this.baseUrl = baseUrl
    this.#keepOpen = keepOpen
  }

  keepOpen(): void {
    this.#keepOpen()
  }
}

/** For scopes without tools of plugins. */
export const noToolSets = new ToolSets(() => new Map(), console)

/** Collects the contributions of a plugin's setup, without a host. */
function contributionsOf(plugin: PluginDefinition, contribute: (id: string, contribution: unknown) => void): void {
  const context = {
    limits: plugin.limits,
    contribute: (point: string, id: string, contribution: unknown) => point === 'tools' && contribute(id, contribution),
    metrics: { count() {}, gauge() {} },
  }
  void plugin.setup(context as unknown as PluginContext<undefined>)
}

/** The MCP side of a hub over real HTTP on a free port. */
export function startHub(setUp: (world: World, upstreams: FakeUpstreams) => void): Hub {
  const world = new World()
  const upstreams = new FakeUpstreams()
  upstreams.transportOf = serverId => world.servers.find(({ id }) => id === serverId)?.transport
  world.person('alice')
  world.person('bob')
  setUp(world, upstreams)
  const bus = new EventBus(error => {
    throw error
  })
  const calls: ToolCallRecord[] = []
  const middlewares: McpMiddleware[] = []
  const toolSets = new Map<string, ToolSet>()
  contributionsOf(resultLimits, (id, set) => toolSets.set(id, set as ToolSet))
  const clock = { skewMs: 0 }
  const resolver = world.resolver()
  const log = {
    debug() {},
    info() {},
    warn() {},
    error: (message: string, fields?: object) => console.error(message, fields),
  }
  const registry = {
    groups: { usableMembers: async (actor: UserActor, group: GroupRecord) => world.usable(actor, group) },
    shares: {
      roleOf: (actor: UserActor, { ownerId, visibility }: ServerRecord) =>
        ownerId === actor.userId ? 'owner' : visibility === 'public' ? 'use' : undefined,
    },
  } as unknown as Registry
  const credentials = new LiveCredentials(bus, world.auth)
  const mcp = createMcp({
    marks: new HubMarks('key'),
    registry,
    upstreams,
    bus,
    auth: world.auth,
    credentials,
    sealer: createSealer([new Uint8Array(32).fill(7)]),
    bytes: bytesInFlight(),
    resolver: () => resolver,
    middlewares: () => middlewares,
    watch: { pluginOf: () => 'test', ended: () => undefined },
    toolSets: () => toolSets,
    recordCall: record => calls.push(record),
    log,
    version: '9.9.9',
    draining: () => hub.draining,
    now: () => performance.timeOrigin + performance.now() + clock.skewMs,
  })
  let requests = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request, bun) {
      requests += 1
      const url = new URL(request.url)
      return mcp.fetch(request, url.pathname, new Info(`r${requests}`, url.origin, () => bun.timeout(request, 0)))
    },
  })
  const hub: Hub = {
    url: `http://127.0.0.1:${server.port}`,
    mcp,
    bus,
    world,
    upstreams,
    middlewares,
    toolSets,
    calls,
    clock,
    draining: false,
    async [Symbol.asyncDispose]() {
      mcp.dispose()
      credentials.dispose()
      await server.stop(true)
    },
  }
  return hub
}

/** Waits until the condition holds; throws after twenty seconds by default. */
export async function until(holds: () => boolean, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + atMost(timeoutMs)
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${holds}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
