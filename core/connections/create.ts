import { randomUUID } from 'node:crypto'
import manifest from '../../package.json' with { type: 'json' }
import { LIMITS } from '../config/limits.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import { addressRights } from '../domain/address.ts'
import type { Era } from '../domain/era.ts'
import { cappedRights } from '../domain/server/owner-rights.ts'
import { OpenPrograms } from '../domain/server/programs.ts'
import type { HealthCheckResult, ServerStatus } from '../domain/server/status.ts'
import type { Side } from '../domain/session-scope.ts'
import { UpstreamRecords } from '../telemetry/upstream-records.ts'
import type {
  ProcessInfo,
  ServerCatalog,
  ServerState,
  ToolDefinition,
  TrialListener,
  TrialReport,
  TrialServer,
  UpstreamCall,
  UpstreamFace,
  UpstreamRequest,
} from './api.ts'
import { PendingCall } from './connection/call.ts'
import { CallerCredentials } from './connection/caller-credentials.ts'
import { Launcher } from './connection/launcher.ts'
import { WorkerPool } from './connection/pool.ts'
import type { Connections, ConnectionsOptions } from './options.ts'
import { tryServer } from './probe/trial.ts'
import { findRegistries, type Registries } from './sandbox/registries.ts'
import { LEGACY_PROBE_WAIT_MS } from './server/legacy-side.ts'
import type { ManagedServer } from './server/managed-server.ts'
import { unheardStatus } from './server/server-status.ts'
import { Children } from './spawn/children.ts'
import { PackageInstaller } from './spawn/package-installer.ts'
import { ProgramCopies } from './spawn/program-copies.ts'
import { StartSlots } from './start-slots.ts'
import { AskingStore } from './store/asking-store.ts'
import { CatalogAccount } from './store/catalog-account.ts'
import { CatalogStore } from './store/catalog-store.ts'
import { EraStore } from './store/era-store.ts'
import { ToolDefinitions } from './store/tool-definitions.ts'
import { ACTOR, Supervisor } from './supervisor.ts'
import { UNKNOWN_FACE } from './unknown-face.ts'
import { changedUntil, within } from './within.ts'

const DRAIN_POLL_MS = 25
/** Fewer than starts: rarely does a client wait for a probe. */
const PROBES_AT_ONCE = 4
const CACHE_LAST_MS = 1_000

/** Builds the room; nothing runs before `begin`. */
export function createConnections(options: ConnectionsOptions): Connections {
  return new LocalConnections(options)
}

class LocalConnections implements Connections {
  readonly #options: ConnectionsOptions
  readonly credentials: CallerCredentials
  readonly #pool: WorkerPool
  readonly #children: Children
  readonly #catalogs: CatalogStore
  readonly #eras: EraStore
  readonly #askings: AskingStore
  readonly #account = new CatalogAccount()
  readonly #definitions: ToolDefinitions
  readonly #copies: ProgramCopies
  readonly #launcher: Launcher
  readonly #supervisor: Supervisor
  #registries: Promise<Registries> | undefined
  #draining = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
    const { config, log, registry, bus, baseEnv } = options
    const records = new UpstreamRecords(log, undefined, options.filters)
    this.#pool = new WorkerPool({
      size: Math.max(1, config.workers),
      instanceId: options.instanceId,
      version: manifest.version,
      log,
      ended: options.workerEnded ?? (() => {}),
      received: characters => options.garbage?.message(characters),
      ...options.watch,
    })
    this.#children = new Children({
      dataDir: config.dataDir,
      baseEnv,
      sandbox: options.sandbox,
      log,
      heard: (serverId, line) => {
        const record = this.#supervisor.get(serverId)?.record
        if (record) records.write(record, 'info', line, { stream: 'stderr' })
      },
      redactors: options.redactors,
      freeDescriptors: options.freeDescriptors,
      ended: () => this.#copies.tidy(),
      ...(options.relay === undefined ? {} : { relay: options.relay }),
    })
    const programs = options.programs ?? new OpenPrograms()
    this.#copies = new ProgramCopies({
      ...{ programs, log, sandbox: options.sandbox },
      used: () => [...this.#supervisor.programPlaces(), ...this.#children.programPlaces()],
    })
    this.#catalogs = new CatalogStore(options.store.db, log)
    this.#eras = new EraStore(options.store.db, log)
    this.#askings = new AskingStore(options.store.db, log)
    this.#definitions = new ToolDefinitions(options.store.db, log)
    this.credentials = new CallerCredentials(options.credentialSources ?? (() => new Map()), {
      bus,
      effective: serverId => registry.servers.effective(serverId),
      changed: (serverId, userId, change) => this.#supervisor.get(serverId)?.credentialChanged(userId, change),
      missing: (serverId, userId) => this.#supervisor.get(serverId)?.credentialMissing(userId),
    })
    this.#launcher = new Launcher({
      redactors: options.redactors,
      pool: this.#pool,
      children: this.#children,
      stdioPolicy: config.stdioPolicy,
      sandbox: options.sandbox,
      installer: new PackageInstaller(
        this.#children,
        options.sandbox,
        () => {
          this.#registries ??= findRegistries(config.registries, baseEnv)
          return this.#registries
        },
        config.registriesCa,
      ),
      ...{ programs, copies: this.#copies },
      // The limits of an owner's processes and threads grow with what runs for others, so that these take none of the owner's.
      stdioServersOf: id => this.#supervisor.stdioServersOf(id) + this.#children.confinedFor(id, 'foreign'),
      rightsOf: async ownerId => addressRights(config, (await registry.users.byId(ownerId))?.role === 'admin'),
      audit: entry => registry.audit.record(ACTOR, entry),
      rights: admin => addressRights(config, admin),
      hubVersion: manifest.version,
      transports: options.transports,
      headerProviders: options.headerProviders,
      credentialSources: () => this.credentials.watched(),
      ...(options.startTimeoutMs === undefined ? {} : { startTimeoutMs: options.startTimeoutMs }),
      ...(config.startTimeoutMs === undefined ? {} : { usualStartTimeoutMs: config.startTimeoutMs }),
    })
    this.#supervisor = new Supervisor({
      servers: registry.servers,
      users: registry.users,
      ...{ bus, programs },
      catalogs: this.#catalogs,
      followed: () => this.#copies.tidy(),
      context: {
        launcher: this.#launcher,
        children: this.#children,
        starts: new StartSlots(LIMITS.startsAtOnce),
        catalogs: this.#catalogs,
        account: this.#account,
        eras: this.#eras,
        askings: this.#askings,
        ...(options.probes === false ? {} : { probes: new StartSlots(PROBES_AT_ONCE) }),
        definitions: this.#definitions,
        bus,
        log,
        records,
        ...{ reachOf: server => registry.shares.reachOf(server), effective: id => registry.servers.effective(id) },
        redactors: options.redactors,
        isOwnMark: options.isOwnMark ?? (() => false),
        random: options.random ?? Math.random,
      },
    })
  }

  async load(): Promise<void> {
    await this.#definitions.load()
    await this.#supervisor.load()
  }

  async begin(): Promise<void> {
    this.#children.sweep()
    await this.#supervisor.begin()
  }

  request(serverId: string, request: UpstreamRequest): UpstreamCall {
    const call = new PendingCall(request)
    const arriving = this.#supervisor.arriving(serverId)
    if (arriving !== undefined) void arriving.then(() => this.#dispatch(serverId, call))
    else this.#dispatch(serverId, call)
    return call
  }

  #dispatch(serverId: string, call: PendingCall): void {
    if (call.ended) return
    const server = this.#supervisor.get(serverId)
    if (this.#draining) call.fail('draining', 'The hub is stopping and takes no new calls')
    else if (server) server.dispatch(call)
    else call.fail('server_offline', 'The server does not exist any more')
  }

  notify(serverId: string, sessionId: string | undefined, method: string, params: JsonObject | undefined): void {
    this.#supervisor.get(serverId)?.notify(sessionId, method, params)
  }

  endSession(sessionId: string): void {
    for (const server of this.#supervisor.all()) server.endSession(sessionId)
  }

  status(serverId: string, record?: Parameters<typeof unheardStatus>[0], userId?: string): ServerStatus {
    const server = this.#supervisor.get(serverId)
    if (server && (!record || server.record.enabled === record.enabled)) return server.status(userId)
    return unheardStatus(record)
  }

  face(serverId: string, caller?: Era): UpstreamFace {
    return this.#supervisor.get(serverId)?.faceFor(caller) ?? UNKNOWN_FACE
  }

  awaitLegacySides(serverIds: Iterable<string>): Promise<void> | undefined {
    const late: ManagedServer[] = []
    for (const serverId of serverIds) {
      const server = this.#supervisor.get(serverId)
      if (server?.older.findLegacyFace()) late.push(server)
    }
    if (late.length === 0) return undefined
    return changedUntil(late, () => !late.some(server => server.older.findLegacyFace()), LEGACY_PROBE_WAIT_MS)
  }

  catalog(serverId: string, side?: Side, userId?: string): ServerCatalog | undefined {
    return this.#supervisor.get(serverId)?.catalogFor(side, userId)
  }

  callerLists(serverId: string, userId: string, side?: Side): Promise<void> | undefined {
    return this.#supervisor.get(serverId)?.callerLists(userId, side)
  }

  definitions(serverId: string, side?: Side): ReadonlyMap<string, ToolDefinition> {
    return this.#definitions.of(serverId, side)
  }

  approveTool(serverId: string, tool: string, hash: string): void {
    this.#definitions.approve(serverId, tool, hash)
    this.#supervisor.get(serverId)?.toolsChanged()
  }

  async catalogsReady(serverIds: readonly string[], budgetMs: number): Promise<void> {
    const arriving = serverIds.flatMap(serverId => this.#supervisor.arriving(serverId) ?? [])
    if (arriving.length > 0) await within(Promise.all(arriving), budgetMs)
    const late = serverIds.flatMap(serverId => this.#supervisor.get(serverId) ?? []).filter(one => !one.listsReady)
    await changedUntil(late, () => late.every(({ listsReady }) => listsReady), budgetMs)
  }

  start(serverId: string): void {
    this.#supervisor.get(serverId)?.start()
    this.#supervisor.confirm(serverId)
  }

  stop(serverId: string): void {
    this.#supervisor.get(serverId)?.stop()
    this.#supervisor.confirm(serverId)
  }

  restart(serverId: string): void {
    this.#supervisor.get(serverId)?.restart()
    this.#supervisor.confirm(serverId)
  }

  refresh(serverId: string, options?: { readonly probe?: boolean }): void {
    this.#supervisor.get(serverId)?.refresh(options)
  }

  listed(serverId: string, side?: Side, userId?: string): void {
    this.#supervisor.get(serverId)?.listed(side, userId)
  }

  async settled(serverId: string, timeoutMs: number): Promise<ServerStatus> {
    const server = this.#supervisor.get(serverId)
    if (server) await changedUntil([server], () => server.settled, timeoutMs)
    return this.status(serverId)
  }

  counts(): { total: number; online: number; connecting: number; offline: number; tools: number } {
    return this.#supervisor.counts()
  }

  states(): readonly ServerState[] {
    return [...this.#supervisor.all()].map(({ record, state }) => {
      const { id: serverId, ownerId, name } = record
      return { serverId, ownerId, name, state }
    })
  }

  checks(serverId: string): readonly HealthCheckResult[] {
    return this.#supervisor.get(serverId)?.checks() ?? []
  }

  processes(): readonly ProcessInfo[] {
    return this.#children.list()
  }

  catalogBytesOf(ownerId: string): number {
    return this.#account.usedBy(ownerId)
  }

  isolatedThreadsOf(ownerId: string): number {
    return this.#pool.isolatedOf(ownerId)
  }

  processesOf(ownerId: string): number {
    return this.#children.confinedFor(ownerId, 'own')
  }

  foreignProcessesOf(userId: string): number {
    return this.#children.foreignFor(userId)
  }

  stderr(serverId: string): readonly { readonly at: string; readonly line: string }[] {
    return this.#children.stderr(serverId)
  }

  async trial(server: TrialServer, signal: AbortSignal, onStep?: TrialListener): Promise<TrialReport> {
    const owner = await this.#options.registry.users.byId(server.ownerId)
    if (!owner) throw new HubError('token_revoked', 'The account that would own the server does not exist any more')
    if (owner.disabled) throw new HubError('owner_disabled', `The account of ${owner.name} is disabled`)
    // An id of its own, since a sandboxed trial has a work folder.
    const id = `trial-${randomUUID()}`
    const { redactors } = this.#options
    const redact = (text: string): string => redactors.of(id).text(text)
    try {
      const options = { signal, redact, onStep }
      return await tryServer(this.#launcher, id, server, cappedRights(owner, server.rightsCap), options)
    } finally {
      this.#children.forgetServer(id)
      redactors.forget(id)
    }
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true
    const endMs = performance.now() + timeoutMs
    const busy = (): boolean => [...this.#supervisor.all()].some(server => server.inFlight() > 0)
    while (busy() && performance.now() < endMs) await new Promise(resolve => setTimeout(resolve, DRAIN_POLL_MS))
  }

  async dispose(): Promise<void> {
    this.#draining = true
    this.#copies.dispose()
    await this.#supervisor.dispose()
    await this.#children.dispose()
    this.#pool.dispose()
    const caches = [this.#catalogs, this.#definitions, this.#eras, this.#askings]
    await within(Promise.all(caches.map(cache => cache.flush())), CACHE_LAST_MS)
  }
}
