import { toWireError, type WireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, ServerStatus } from '../contract/records.ts'
import { type Era, eraOf } from '../domain/era.ts'
import { canUse } from '../domain/ownership.ts'
import { OLDER_CONNECTION, userConnection } from '../domain/session-scope.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { ServerCatalog } from './api.ts'
import type { PendingCall } from './call.ts'
import type { StoredHead } from './catalog-store.ts'
import type { Connection } from './connection.ts'
import type { ConnectionEvents } from './connection-events.ts'
import { Latency } from './latency.ts'
import { limitsOf } from './launcher.ts'
import { LEGACY_VERSION } from './links/handshake.ts'
import { Observed, OWNER_DISABLED, STOPPED } from './observed.ts'
import { OlderFace } from './older-face.ts'
import type { ListsRead } from './protocol.ts'
import { isFinal } from './recovery.ts'
import type { ServerContext, SharedContext } from './server-context.ts'
import { ServerHealth } from './server-health.ts'
import { ServerLanes } from './server-lanes.ts'
import { ServerLists } from './server-lists.ts'
import { serverStatus } from './server-status.ts'
import { SharedConnection } from './shared-connection.ts'
import { upstreamNotices } from './upstream-notices.ts'

const NOT_YOURS: WireError = { code: 'stopped', message: 'You may no longer use this server' }

function mayRun({ problem, ownerDisabled }: ServerRecord): boolean {
  return problem === undefined && ownerDisabled !== true
}

/** One server: what is wanted of it, what is seen of it, and how the one follows the other. */
export class ManagedServer {
  readonly #context: ServerContext
  readonly #observed: Observed
  readonly #health: ServerHealth
  readonly #shared: SharedConnection
  readonly #lanes: ServerLanes
  readonly #lists: ServerLists
  readonly #latency = new Latency()
  readonly older: OlderFace
  #record: ServerRecord
  #stored: StoredHead | undefined
  #wanted: boolean
  /** Connected only to read the lists of a lazy server. */
  #lookingOnly = false

  constructor(record: ServerRecord, shared: SharedContext, stored: StoredHead | undefined) {
    const context = { ...shared, redact: (text: string) => shared.redactors.of(record.id).text(text) }
    this.#record = record
    this.#context = context
    this.#stored = stored
    this.#wanted = record.enabled && mayRun(record)
    const common = { context, record: () => this.#record }
    this.#observed = new Observed(common.record, context)
    this.#health = new ServerHealth(common.record, context)
    this.#lists = new ServerLists(context, common.record)
    this.#shared = new SharedConnection({
      ...common,
      observed: this.#observed,
      version: () => this.#version,
      knownTools: () => this.#lists.markedTools,
      opening: () => this.#lists.begin({ awaited: false }),
      opened: (connection, again) => this.#wentOnline(connection, again),
      unusable: () => {
        this.#lanes.base.connection = undefined
      },
      ended: () => this.#lists.abandon(),
      offline: (reason, soon) => {
        this.#lists.abandon()
        this.#health.lost(reason)
        if (!soon) this.#lanes.failWaiting()
      },
      events: configHash => this.#events(configHash),
    })
    this.older = new OlderFace({
      ...common,
      era: () => this.era,
      ready: () => this.#wanted && (this.state !== 'offline' || this.#observed.reason?.code === 'idle'),
      open: () => this.#lanes.openOlder(),
      connection: () => this.#lanes.connectionOf(OLDER_CONNECTION),
      changed: () => this.#observed.changed(),
    })
    this.#lanes = new ServerLanes({
      ...common,
      effective: () => this.#shared.configured(),
      observed: this.#observed,
      wanted: () => this.#wanted,
      era: () => this.era,
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

  /** Whether it should run. */
  get wanted(): boolean {
    return this.#wanted
  }

  get catalog(): ServerCatalog | undefined {
    return this.#lists.catalog
  }

  /** What the server speaks, as far as is known. */
  get era(): Era {
    const said = this.#shared.opened ?? this.#lists.catalog
    return said ? eraOf(said.protocolVersion) : 'legacy'
  }

  get state(): ServerStatus['state'] {
    return this.#observed.now.state
  }

  /** True once nothing is under way: online with its lists, or offline. */
  get settled(): boolean {
    return this.state === 'offline' || (this.state === 'online' && !this.#lists.reading)
  }

  /** True when waiting for its lists is pointless or done. */
  get listsReady(): boolean {
    if (this.older.awaited) return false
    return this.settled || (this.#lists.catalog !== undefined && !this.#lists.awaited)
  }

  /** The first look at the server: takes what is stored, connects if it should be on. */
  async begin(): Promise<void> {
    const stored = this.#stored
    this.#stored = undefined
    if (stored && !this.#record.problem && (await this.#lists.restore(stored))) this.#shared.restore(stored.head)
    if (!this.#wanted || this.#shared.turn > 0) return
    const lazy = this.#record.start === 'lazy'
    if (lazy && this.#lists.catalog) {
      this.#observed.become('offline', { code: 'idle', message: 'The server starts with the first call' })
      return
    }
    this.#lookingOnly = lazy
    this.#shared.open()
  }

  dispatch(call: PendingCall): void {
    this.#lanes.dispatch(call)
  }

  notify(sessionId: string | undefined, method: string, params: JsonObject | undefined): void {
    this.#lanes.connectionOf(sessionId)?.notify(method, params)
  }

  endSession(sessionId: string): void {
    this.#lanes.end(sessionId, { code: 'session_not_found', message: 'The session has ended' })
  }

  /** Users that have a connection of their own. */
  users(): readonly string[] {
    return this.#lanes.users()
  }

  /** Ends the connection of a user who may not use it any more. */
  endUser(userId: string): void {
    this.#lanes.end(userConnection(userId), NOT_YOURS)
    this.#lanes.end(userConnection(userId, 'older'), NOT_YOURS)
  }

  start(): void {
    if (!mayRun(this.#record)) return
    this.#wanted = true
    this.#freshStart()
  }

  stop(reason: WireError = STOPPED): void {
    this.#wanted = false
    this.#lieDown(reason)
  }

  restart(): void {
    if (!mayRun(this.#record)) return
    this.#wanted = true
    const reason: WireError = { code: 'connection_lost', message: 'The server is being restarted' }
    // Connecting before the calls come back, so that those that may be repeated wait for the new connection.
    this.#observed.become('connecting', reason)
    this.#lanes.closeSessions(reason)
    this.older.forget()
    this.#lanes.base.connection = undefined
    this.#lists.abandon()
    this.#shared.restart(reason)
  }

  /** Somebody reads the lists. */
  listed(): void {
    const { connection } = this.#lanes.base
    if (connection) this.#lists.listed(connection)
  }

  refresh({ probe = false }: { readonly probe?: boolean } = {}): void {
    if (probe && this.#shared.connection) void this.#shared.ask()
    else if (probe && !this.#shared.busy) this.#shared.forget()
    this.older.refresh()
    if (this.#lanes.base.connection) {
      this.#lists.begin({ awaited: true })
      this.#lanes.base.connection.refresh()
    } else if (this.#wanted && this.state === 'offline') {
      this.#freshStart()
    }
  }

  /**
   * The record, its owner's role or what the plugins offer has changed: restarts only when the connection would be another
   * one. Throws when that cannot be told now.
   */
  async update(record: ServerRecord): Promise<void> {
    this.#record = record
    this.#lanes.endForeign(userId => canUse(userId, record), NOT_YOURS)
    // Whatever start() and stop() were told meanwhile: what is kept is what counts.
    this.#wanted = record.enabled && !record.ownerDisabled
    if (record.ownerDisabled) return this.stop(OWNER_DISABLED)
    if (record.problem) return this.stop(record.problem)
    if (!this.#wanted) {
      if (this.state !== 'offline' || this.#observed.now.reason?.code !== 'stopped') this.stop()
      return
    }
    const { turn } = this.#shared
    const effective = await this.#judge()
    if (turn !== this.#shared.turn || !effective) return
    const other = effective.configHash !== this.#shared.effective?.configHash
    if (this.#shared.connection) {
      this.#shared.effective = effective
      if (other) this.restart()
      else this.#lanes.setLimits(limitsOf(effective.settings))
      return
    }
    // Sessions may have connections of their own while the shared one sleeps.
    if (other) {
      this.#lanes.closeSessions({ code: 'connection_lost', message: 'The server has changed' })
      this.older.forget()
    }
    const asleep = this.#observed.now.reason?.code === 'idle'
    if (asleep && effective.configHash === this.#lists.configHash) return
    this.#lookingOnly = record.start === 'lazy' && asleep
    this.#shared.forgive()
    this.#shared.open()
  }

  /** Regular look: idle connections end, and what should run but has no next attempt gets one. */
  tick(nowMs: number): void {
    this.#lanes.tick(nowMs)
    const { connection } = this.#lanes.base
    if (connection) {
      if (this.#shared.look(nowMs) && this.inFlight() === 0) return this.restart()
      const { idleTimeoutMs } = this.#record
      const idleMs = nowMs - Math.max(this.#lanes.usedAtMs, this.#shared.openedAtMs)
      if (idleTimeoutMs && idleMs > idleTimeoutMs && connection.inFlight === 0) this.#sleep()
      return
    }
    const { state, reason, nextAttemptAtMs } = this.#observed.now
    const resting = reason?.code === 'idle' || isFinal(reason?.code)
    if (this.#wanted && state === 'offline' && !resting && nextAttemptAtMs === undefined) this.#shared.open()
  }

  status(): ServerStatus {
    const { face, ...own } = this.#lanes.counts()
    return serverStatus(this.#observed, this.#lists.catalog, this.#shared.opened, {
      latencyMs: this.#latency.percentiles(),
      pid: this.#shared.connection?.child?.pid,
      transport: this.#shared.otherTransport ?? this.#record.transport,
      health: this.#health.view(),
      older: this.older.spoken,
      connections: { ...own, shared: (this.#lanes.base.connection ? 1 : 0) + face },
    })
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    return this.#observed.watch(changed)
  }

  inFlight(): number {
    return (this.#shared.connection?.inFlight ?? 0) + this.#lanes.inFlight()
  }

  /** What the owner makes of the tools has changed, though the lists are the same. */
  toolsChanged(): void {
    this.#lists.toolsChanged()
  }

  /** Resolves when nothing of it is left. */
  async dispose(): Promise<void> {
    this.stop({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all([this.#shared.closed(), this.#lanes.dispose()])
    this.#lists.dispose()
    this.older.dispose()
  }

  /** The configuration as it would be used now; lies down and returns undefined when it may not be used at all. Throws else. */
  async #judge(): Promise<EffectiveServer | undefined> {
    const { turn } = this.#shared
    try {
      return await this.#shared.judge()
    } catch (error) {
      const reason = toWireError(error)
      if (!isFinal(reason.code)) throw error
      if (turn === this.#shared.turn) this.#lieDown(reason)
      return undefined
    }
  }

  /** The version that the server speaks with the hub, as far as is known. */
  get #version(): string {
    return (this.#shared.opened ?? this.#lists.catalog)?.protocolVersion ?? LEGACY_VERSION
  }

  #freshStart(): void {
    if (this.#shared.busy) return
    this.#lookingOnly = false
    this.#shared.forgive()
    this.#shared.open()
  }

  #events(configHash: string): Omit<ConnectionEvents, 'opened' | 'unusable' | 'ended'> {
    return {
      lost: (call, how, reason) => this.#lanes.lost(call, how, reason),
      input: (call, text) => this.#lanes.input(call, text),
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
      health: report => this.#health.checked(report),
      list: (kind, entries) => this.#lists.part(kind, entries),
      catalog: read => this.#read(read, configHash),
      stale: () => this.#lists.begin({ awaited: true }),
      ...upstreamNotices(this.#context, () => this.#record),
    }
  }

  #read(read: ListsRead, configHash: string): void {
    const { opened, otherTransport, openedAtMs } = this.#shared
    if (!opened) return
    const before = this.#lists.catalog
    this.#lists.read(read, opened, configHash, otherTransport)
    if (read.noticed.length > 0 || before?.tools !== this.#lists.catalog?.tools) this.older.mayDiffer()
    this.#observed.changed()
    const unused = this.#lanes.usedAtMs < openedAtMs && this.#lanes.base.connection?.inFlight === 0
    if (this.#lookingOnly && unused) this.#sleep()
  }

  #wentOnline(connection: Connection, again: boolean): void {
    const { id, ownerId } = this.#record
    this.#observed.attempts = 0
    this.#observed.become('online')
    this.#lanes.opened(connection)
    this.#context.bus.emit('upstream.connected', ownerId, { serverId: id, again }, 'internal')
  }

  #sleep(): void {
    this.#lieDown({ code: 'idle', message: 'The server sleeps until the next call' })
  }

  /** Ends the connection, and attempts, for a reason that waiting does not mend. */
  #lieDown(reason: WireError): void {
    this.#observed.attempts = 0
    this.#health.forget()
    this.#observed.become('offline', reason)
    this.#lanes.failWaiting()
    if (reason.code !== 'idle') {
      this.#lanes.closeSessions(reason)
      this.older.forget()
    }
    this.#lanes.base.connection = undefined
    this.#lists.abandon()
    this.#shared.close(reason)
  }
}
