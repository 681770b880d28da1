import type { WireError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { type Era, eraOf, LATEST_LEGACY } from '../../domain/era.ts'
import { canUse } from '../../domain/ownership.ts'
import type { ServerStatus } from '../../domain/server/status.ts'
import { OLDER_CONNECTION, userConnection } from '../../domain/session-scope.ts'
import type { ServerCatalog, UpstreamFace } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'
import { limitsOf } from '../connection/launcher.ts'
import type { ListsRead } from '../protocol.ts'
import type { StoredHead } from '../store/catalog-store.ts'
import { Arrival } from './arrival.ts'
import { CallDispatcher } from './call-dispatcher.ts'
import { upstreamNotices } from './forward-notices.ts'
import { Latency } from './latency.ts'
import { OlderFace } from './older-face.ts'
import { isFinal, LOOP_MET } from './recovery.ts'
import { askingEvents } from './seen-asking.ts'
import { ServerAsking } from './server-asking.ts'
import type { ServerContext, SharedContext } from './server-context.ts'
import { ServerHealth } from './server-health.ts'
import { ServerLists } from './server-lists.ts'
import { OWNER_DISABLED, ServerState, STOPPED } from './server-state.ts'
import { serverStatus } from './server-status.ts'
import { sessionStatus } from './session-status.ts'
import { SharedConnection } from './shared-connection.ts'

const NOT_YOURS: WireError = { code: 'stopped', message: 'You may no longer use this server' }

function mayRun({ problem, ownerDisabled }: ServerRecord): boolean {
  return problem === undefined && ownerDisabled !== true
}

/** The state machine of one server: the desired state, the observed state, and the actions between them. */
export class ManagedServer {
  readonly #context: ServerContext
  readonly #serverState: ServerState
  readonly #arrival: Arrival
  readonly #health: ServerHealth
  readonly #shared: SharedConnection
  readonly #slots: CallDispatcher
  readonly #lists: ServerLists
  readonly #asking: ServerAsking
  readonly #latency = new Latency()
  readonly older: OlderFace
  #record: ServerRecord
  #stored: StoredHead | undefined
  #wanted: boolean
  /** True while connected only to read the lists of a lazy server. */
  #lookingOnly = false

  constructor(record: ServerRecord, shared: SharedContext, stored: StoredHead | undefined) {
    const context = { ...shared, redact: (text: string) => shared.redactors.of(record.id).text(text) }
    this.#record = record
    this.#context = context
    this.#stored = stored
    this.#wanted = record.enabled && mayRun(record)
    const common = { context, record: () => this.#record }
    this.#serverState = new ServerState(common.record, context)
    this.#arrival = new Arrival(this.#serverState)
    this.#health = new ServerHealth(common.record, context)
    this.#lists = new ServerLists(context, common.record)
    this.#shared = new SharedConnection({
      ...common,
      serverState: this.#serverState,
      version: () => this.#version,
      knownTools: () => this.#lists.markedTools,
      opening: () => this.#lists.begin({ awaited: false }),
      opened: (connection, again) => this.#onConnected(connection, again),
      unusable: () => {
        this.#arrival.end()
        this.#slots.base.connection = undefined
      },
      ended: () => this.#lists.abandon(),
      offline: (reason, soon) => {
        this.#lists.abandon()
        this.#health.lost(reason)
        if (!soon) this.#slots.failWaiting()
      },
      events: configHash => this.#events(configHash),
    })
    this.#asking = new ServerAsking({
      ...common,
      plan: () => this.#shared.plan(),
      era: () => this.era,
      usable: () => this.#wanted && (this.state === 'online' || this.#serverState.now.reason?.code === 'idle'),
      tools: () => this.#lists.catalog?.tools,
      found: extra => this.#lists.alsoListed(extra),
    })
    this.older = new OlderFace({
      ...common,
      plan: () => this.#shared.plan(),
      era: () => this.era,
      ready: () => this.#wanted && (this.state !== 'offline' || this.#serverState.now.reason?.code === 'idle'),
      open: () => this.#slots.openOlder(),
      connection: () => this.#slots.connectionOf(OLDER_CONNECTION),
      changed: () => this.#serverState.changed(),
      loopMet: () => this.#loopMet(),
    })
    this.#slots = new CallDispatcher({
      ...common,
      effective: () => this.#shared.configured(),
      serverState: this.#serverState,
      wanted: () => this.#wanted,
      asking: this.#asking,
      version: () => this.#version,
      knownTools: () => this.#lists.markedTools,
      wake: () => {
        this.#lookingOnly = false
        this.#shared.open()
      },
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
      older: this.older,
    })
  }

  get record(): ServerRecord {
    return this.#record
  }

  /** True when it should run. */
  get wanted(): boolean {
    return this.#wanted
  }

  get catalog(): ServerCatalog | undefined {
    return this.#lists.catalog
  }

  /** The era of the server, as far as known. */
  get era(): Era {
    return eraOf(this.#version)
  }

  get face(): UpstreamFace {
    return this.#asking
  }

  get state(): ServerStatus['state'] {
    return this.#serverState.now.state
  }

  /** True when nothing is in progress: online with its lists, or offline. */
  get settled(): boolean {
    return this.state === 'offline' || (this.state === 'online' && !this.#lists.reading)
  }

  /** True when there is no reason to wait for its lists. */
  get listsReady(): boolean {
    if (this.older.awaited) return false
    return this.settled || (this.#lists.catalog !== undefined && !this.#lists.awaited)
  }

  /** Called once at the start: restores stored data, and connects if the server should run. */
  async begin(): Promise<void> {
    const stored = this.#stored
    this.#stored = undefined
    await this.#asking.restore()
    if (stored && !this.#record.problem && (await this.#lists.restore(stored))) this.#shared.restore(stored.head)
    if (!this.#wanted || this.#shared.turn > 0) return
    const lazy = this.#record.start === 'lazy'
    if (lazy && this.#lists.catalog) {
      this.#serverState.become('offline', { code: 'idle', message: 'The server starts with the first call' })
      return
    }
    this.#lookingOnly = lazy
    this.#shared.open()
  }

  dispatch(call: PendingCall): void {
    this.#slots.dispatch(call)
  }

  notify(sessionId: string | undefined, method: string, params: JsonObject | undefined): void {
    this.#slots.connectionOf(sessionId)?.notify(method, params)
  }

  endSession(sessionId: string): void {
    this.#slots.end(sessionId, { code: 'session_not_found', message: 'The session has ended' })
  }

  /** Ids of the users with a connection of their own. */
  users(): readonly string[] {
    return this.#slots.users()
  }

  /** Ends the connection of a user who may no longer use it. */
  endUser(userId: string): void {
    this.#slots.end(userConnection(userId), NOT_YOURS)
    this.#slots.end(userConnection(userId, 'older'), NOT_YOURS)
  }

  start(): void {
    if (!mayRun(this.#record)) return
    this.#wanted = true
    this.#resetAndConnect()
  }

  stop(reason: WireError = STOPPED): void {
    this.#wanted = false
    this.#goOffline(reason)
  }

  restart(): void {
    if (!mayRun(this.#record)) return
    this.#wanted = true
    const reason: WireError = { code: 'connection_lost', message: 'The server is being restarted' }
    // The state is `connecting` before lost calls return, so that repeatable ones wait for the new connection.
    this.#serverState.become('connecting', reason)
    this.#slots.closeSessions(reason)
    this.#asking.abandon()
    this.older.forget()
    this.#disconnected()
    this.#shared.restart(reason)
  }

  /** A client reads the lists. */
  listed(): void {
    const { connection } = this.#slots.base
    if (connection) this.#lists.listed(connection)
  }

  refresh({ probe = false }: { readonly probe?: boolean } = {}): void {
    if (probe && this.#shared.connection) void this.#shared.ask()
    else if (probe && !this.#shared.busy) this.#shared.forget()
    this.#asking.stale()
    this.older.refresh()
    if (this.#slots.base.connection) {
      this.#lists.begin({ awaited: true })
      this.#slots.base.connection.refresh()
    } else if (this.#wanted && this.state === 'offline') {
      this.#resetAndConnect()
    }
  }

  /**
   * The record, its owner's role or the plugins have changed: reconnects only when the connection would differ. Throws
   * when that cannot be decided now.
   */
  async update(record: ServerRecord): Promise<void> {
    this.#record = record
    this.#slots.endForeign(userId => canUse(userId, record), NOT_YOURS)
    // start() and stop() may have changed it meanwhile; the stored record decides.
    this.#wanted = record.enabled && !record.ownerDisabled
    if (record.ownerDisabled) return this.stop(OWNER_DISABLED)
    if (record.problem) return this.stop(record.problem)
    if (!this.#wanted) {
      if (this.state !== 'offline' || this.#serverState.now.reason?.code !== 'stopped') this.stop()
      return
    }
    const { turn } = this.#shared
    const effective = await this.#shared.authorize(reason => this.#goOffline(reason))
    if (turn !== this.#shared.turn || !effective) return
    const other = effective.configHash !== this.#shared.effective?.configHash || this.#shared.outdated
    if (this.#shared.connection) {
      this.#shared.effective = effective
      if (other) this.restart()
      else this.#slots.setLimits(limitsOf(effective.settings))
      return
    }
    // Sessions may have dedicated connections while the shared one sleeps.
    if (other) {
      this.#slots.closeSessions({ code: 'connection_lost', message: 'The server has changed' })
      this.older.forget()
    }
    const asleep = this.#serverState.now.reason?.code === 'idle'
    if (asleep && effective.configHash === this.#lists.configHash) return
    this.#lookingOnly = record.start === 'lazy' && asleep
    this.#shared.resetFailures()
    this.#shared.open()
  }

  /** Periodic tick: closes idle connections, and schedules an attempt for a server that should run and has none. */
  tick(nowMs: number): void {
    this.#slots.tick(nowMs)
    this.older.tick()
    const { connection } = this.#slots.base
    if (connection) {
      this.#asking.tick()
      if (this.#shared.poll(nowMs) && this.inFlight() === 0) return this.restart()
      const { idleTimeoutMs } = this.#record
      const idleMs = nowMs - Math.max(this.#slots.usedAtMs, this.#shared.openedAtMs)
      if (idleTimeoutMs && idleMs > idleTimeoutMs && connection.inFlight === 0) this.#sleep()
      return
    }
    const { state, reason, nextAttemptAtMs } = this.#serverState.now
    const resting = reason?.code === 'idle' || isFinal(reason?.code)
    if (this.#wanted && state === 'offline' && !resting && nextAttemptAtMs === undefined) this.#shared.open()
  }

  status(): ServerStatus {
    const { face, ...own } = this.#slots.counts()
    return serverStatus(this.#serverState, this.#lists.catalog, this.#shared.opened, {
      latencyMs: this.#latency.percentiles(),
      pid: this.#shared.connection?.child?.pid,
      transport: this.#shared.otherTransport ?? this.#record.transport,
      health: this.#health.view(),
      older: this.older.spoken,
      connections: { ...own, shared: (this.#slots.base.connection ? 1 : 0) + face },
      ...sessionStatus(
        this.#record,
        // The legacy side is the one that sends server requests over its connection.
        this.older.spoken ? this.older.asking : this.#asking,
        this.#slots.refused,
        this.state === 'online',
      ),
    })
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    return this.#serverState.watch(changed)
  }

  inFlight(): number {
    return (this.#shared.connection?.inFlight ?? 0) + this.#slots.inFlight()
  }

  /** A changed definition was approved: other tools are offered, though the lists are the same. */
  toolsChanged(): void {
    this.#lists.toolsChanged()
    this.older.toolsChanged()
  }

  /** Resolves when all its connections and processes have ended. */
  async dispose(): Promise<void> {
    this.stop({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all([this.#shared.closed(), this.#slots.dispose(), this.#asking.dispose(), this.older.dispose()])
    this.#lists.dispose()
  }

  /** The protocol version negotiated with the hub, as far as known. */
  get #version(): string {
    return (this.#shared.opened ?? this.#lists.catalog)?.protocolVersion ?? LATEST_LEGACY
  }

  #resetAndConnect(): void {
    if (this.#shared.busy) return
    this.#lookingOnly = false
    this.#shared.resetFailures()
    this.#shared.open()
  }

  #events(configHash: string): Omit<ConnectionEvents, 'opened' | 'unusable' | 'ended'> {
    return {
      lost: (call, how, reason) => this.#slots.lost(call, how, reason),
      input: (call, text) => this.#slots.input(call, text),
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
      health: report => this.#health.checked(report),
      list: (kind, entries) => this.#lists.part(kind, entries),
      catalog: read => this.#read(read, configHash),
      stale: () => {
        this.#asking.stale()
        this.#lists.begin({ awaited: true })
      },
      ...askingEvents(capability => this.#asking.noted(capability)),
      ...upstreamNotices(this.#context, () => this.#record),
    }
  }

  #read(read: ListsRead, configHash: string): void {
    const { opened, otherTransport, openedAtMs } = this.#shared
    if (!opened) return
    if (read.lists.instances?.some(this.#context.isOwnMark)) return this.#loopMet()
    const before = this.#lists.catalog
    this.#lists.read(read, opened, configHash, otherTransport)
    this.#arrival.read(read.lists)
    const { catalog } = this.#lists
    if (catalog && !read.more) this.#asking.seen({ opened, configHash, tools: catalog.tools })
    if (read.noticed.length > 0 || before?.tools !== catalog?.tools) this.older.mayDiffer()
    this.#serverState.changed()
    const unused = this.#slots.usedAtMs < openedAtMs && this.#slots.base.connection?.inFlight === 0
    if (this.#lookingOnly && unused) this.#sleep()
  }

  #onConnected(connection: Connection, again: boolean): void {
    const { id: serverId, ownerId } = this.#record
    this.#arrival.begin(() => this.#context.bus.emit('upstream.connected', ownerId, { serverId, again }, 'internal'))
    this.#slots.opened(connection)
  }

  /** The server's lists contain this hub's own and would grow forever: they are rejected, the previous ones stay. */
  #loopMet(): void {
    this.#slots.closeSessions(LOOP_MET)
    this.#disconnected()
    this.#shared.fail(LOOP_MET)
  }

  #sleep(): void {
    this.#goOffline({ code: 'idle', message: 'The server sleeps until the next call' })
  }

  /** Ends the connection and all attempts, for a reason that a retry cannot fix. */
  #goOffline(reason: WireError): void {
    this.#serverState.attempts = 0
    this.#health.forget()
    this.#serverState.become('offline', reason)
    this.#slots.failWaiting()
    if (reason.code !== 'idle') {
      this.#slots.closeSessions(reason)
      this.#asking.abandon()
      this.older.forget()
    }
    this.#disconnected()
    this.#shared.close(reason)
  }

  #disconnected(): void {
    this.#arrival.end()
    this.#slots.base.connection = undefined
    this.#lists.abandon()
  }
}
