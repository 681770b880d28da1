import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { type Era, eraOf } from '../../domain/era.ts'
import type { HealthCheckResult, ServerStatus } from '../../domain/server/status.ts'
import { asksCallers, OLDER_CONNECTION, type Side, userConnection } from '../../domain/session-scope.ts'
import { visibleText } from '../../domain/text/visible-text.ts'
import type { CredentialChange } from '../../features/credentials.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog, UpstreamFace } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { StoredHead } from '../store/catalog-store.ts'
import { createParts } from './create-parts.ts'
import type { LegacySide } from './legacy-side.ts'
import type { ServerEvent } from './machine/server-events.ts'
import type { SharedContext } from './server-context.ts'
import { type ServerParts, versionOf } from './server-parts.ts'
import { concernsOwner, OWNER_DISABLED, STOPPED } from './server-state.ts'
import { serverStatus } from './server-status.ts'
import { sessionStatus } from './session-status.ts'

const NOT_YOURS: WireError = { code: 'stopped', message: 'You may no longer use this server' }

function mayRun({ problem, ownerDisabled }: ServerRecord): boolean {
  return problem === undefined && ownerDisabled !== true
}

/**
 * One upstream server: its connections, its lists and its state. What happens to it is an event of its state machine
 * (`machine/server-machine.ts`), whose effects its `ServerDriver` carries out.
 */
export class ManagedServer {
  readonly #parts: ServerParts
  readonly older: LegacySide
  #record: ServerRecord
  #stored: StoredHead | undefined

  constructor(record: ServerRecord, shared: SharedContext, stored: StoredHead | undefined) {
    const redact = (text: string): string => visibleText(shared.redactors.of(record.id).text(text))
    const context = { ...shared, redact, stray: {}, deviations: new Set<string>() }
    this.#record = record
    this.#stored = stored
    this.#parts = createParts(context, () => this.#record, record.enabled && mayRun(record))
    this.older = this.#parts.older
  }

  get record(): ServerRecord {
    return this.#record
  }

  /** True when it should run. */
  get wanted(): boolean {
    return this.#parts.driver.state.wanted
  }

  get catalog(): ServerCatalog | undefined {
    return this.#parts.lists.catalog
  }

  /** The era of the server, as far as known. */
  get era(): Era {
    return eraOf(versionOf(this.#parts))
  }

  /** Its side for callers of an era. */
  faceFor(caller: Era | undefined): UpstreamFace {
    return caller === 'legacy' && this.older.spoken ? this.older.asking : this.#parts.asking
  }

  get state(): ServerStatus['state'] {
    return this.#parts.serverState.now.state
  }

  /** True when nothing is in progress: online with its lists, or offline. */
  get settled(): boolean {
    return this.state === 'offline' || (this.state === 'online' && !this.#parts.lists.reading)
  }

  /** True when there is no reason to wait for its lists. */
  get listsReady(): boolean {
    if (this.older.awaited) return false
    return this.settled || (this.#parts.lists.catalog !== undefined && !this.#parts.lists.awaited)
  }

  /** Called once at the start: restores stored data, and connects if the server should run. */
  async begin(): Promise<void> {
    const stored = this.#stored
    this.#stored = undefined
    await this.#parts.asking.restore()
    if (stored && !this.#record.problem && (await this.#parts.lists.restore(stored)))
      this.#parts.shared.restore(stored.head)
    const lazy = this.#record.start === 'lazy'
    this.#dispatch({ type: 'loaded', lazy, sleeps: lazy && this.#parts.lists.catalog !== undefined })
  }

  dispatch(call: PendingCall): void {
    this.#parts.slots.dispatch(call)
  }

  notify(sessionId: string | undefined, method: string, params: JsonObject | undefined): void {
    this.#parts.slots.notify(sessionId, method, params)
  }

  endSession(sessionId: string): void {
    this.#parts.slots.end(sessionId, { code: 'session_not_found', message: 'The session has ended' })
  }

  /** Ids of the users with a connection of their own. */
  users(): readonly string[] {
    return [...this.#parts.slots.users(), ...this.#parts.callers.users()]
  }

  /** Ends the connection of a user who may no longer use it. */
  endUser(userId: string): void {
    this.#parts.callers.hide(userId)
    this.#parts.slots.end(userConnection(userId), NOT_YOURS)
    this.#parts.slots.end(userConnection(userId, 'older'), NOT_YOURS)
    this.#parts.callers.forget(userId)
  }

  /** The lists for a user, and for this side: those of the owner, or the user's own. */
  catalogFor(side: Side | undefined, userId: string | undefined): ServerCatalog | undefined {
    const { callers } = this.#parts
    if (userId !== undefined && callers.reads(userId)) return callers.catalog(userId, this.#spokenSide(side))
    return this.#spokenSide(side) === 'older' ? this.older.catalog : this.catalog
  }

  /** See `Upstreams.callerLists`. */
  callerLists(userId: string, side: Side | undefined): Promise<void> | undefined {
    return this.#parts.callers.ready(userId, this.#spokenSide(side))
  }

  #spokenSide(side: Side | undefined): Side | undefined {
    return side === 'older' && !this.older.spoken ? undefined : side
  }

  async #credentialRenewed(serverId: string, userId: string, change: CredentialChange): Promise<void> {
    const { callers, context } = this.#parts
    if (change === 'gained') callers.hide(userId)
    await context.launcher.credentialRenewed(serverId, userId)
    // Lists that are read before would be those of the former account.
    if (change !== 'gained') return
    callers.renew(userId)
    if (userId === this.#record.ownerId && this.state === 'online') this.refresh()
  }

  /** A user holds no valid credential for the server any more. */
  credentialMissing(userId: string): void {
    this.#parts.callers.hide(userId)
  }

  /** A user's credential for the server is there, is another one, or must not be used any more. */
  credentialChanged(userId: string, change: CredentialChange): void {
    const { id, ownerId } = this.#record
    if (change === 'lost') this.endUser(userId)
    else void this.#credentialRenewed(id, userId, change)
    if (userId !== ownerId || !this.wanted || !mayRun(this.#record)) return
    if (change === 'lost' && asksCallers(this.#record)) this.#endShared()
    else if (change === 'lost') this.restart()
    else if (this.state === 'offline') this.start()
  }

  /** Ends what carries the credential of the owner, and nothing else. */
  #endShared(): void {
    this.#parts.slots.end(OLDER_CONNECTION, NOT_YOURS)
    this.#dispatch({ type: 'credential-lost' })
  }

  start(): void {
    if (mayRun(this.#record)) this.#dispatch({ type: 'start' })
  }

  stop(reason: WireError = STOPPED): void {
    this.#dispatch({ type: 'stop', reason })
  }

  restart(): void {
    if (mayRun(this.#record)) this.#dispatch({ type: 'restart' })
  }

  /** A client reads the lists. */
  listed(side: Side | undefined, userId: string | undefined): void {
    const { callers } = this.#parts
    if (userId !== undefined && callers.reads(userId)) return callers.listed(userId, this.#spokenSide(side))
    if (side === 'older') return this.older.listed()
    const { connection } = this.#parts.slots.base
    if (connection) this.#parts.lists.listed(connection)
  }

  refresh({ probe = false }: { readonly probe?: boolean } = {}): void {
    if (probe && this.#parts.shared.connection) void this.#parts.shared.probe()
    else if (probe && this.#parts.driver.state.phase !== 'preparing') this.#parts.protocol.forget()
    if (probe) this.#parts.asking.forgetOnlyOne()
    this.#parts.asking.stale()
    this.older.refresh()
    this.#dispatch({ type: 'refresh' })
  }

  /**
   * The record, its owner's role or the plugins have changed: reconnects only when the connection would differ. Throws
   * when that cannot be decided now.
   */
  async update(record: ServerRecord): Promise<void> {
    this.#record = record
    const mayUse = await this.#parts.context.reachOf(record)
    this.#parts.slots.endForeign(mayUse, NOT_YOURS)
    for (const userId of this.#parts.callers.users())
      if (!mayUse(userId) || !this.#parts.callers.reads(userId)) this.endUser(userId)
    if (record.ownerDisabled) return this.stop(OWNER_DISABLED)
    if (record.problem) return this.stop(record.problem)
    if (!record.enabled) return this.stop()
    // start() and stop() may have changed it meanwhile; the stored record decides.
    this.#dispatch({ type: 'enabled' })
    const { turn } = this.#parts.shared
    const effective = await this.#parts.shared.authorize((reason, read) => this.#forbidden(reason, read))
    if (turn !== this.#parts.shared.turn || !effective) return
    const { shared } = this.#parts
    const differs = effective.configHash !== shared.effective?.configHash || shared.outdated
    const listsKept = effective.configHash === this.#parts.lists.configHash
    if (this.#parts.shared.connection) this.#parts.shared.effective = effective
    this.#dispatch({ type: 'configured', differs, listsKept, lazy: record.start === 'lazy' })
  }

  /** Callers with credentials of their own keep their connections while the configuration is the same. */
  #forbidden(reason: WireError, effective: EffectiveServer | undefined): void {
    const { shared } = this.#parts
    if (!effective || !concernsOwner(this.#record, reason)) return this.#dispatch({ type: 'forbidden', reason })
    const isSame = effective.configHash === shared.effective?.configHash
    shared.effective = effective
    this.#dispatch({ type: 'forbidden', reason, callers: isSame ? 'stay' : 'drain' })
  }

  /** Periodic tick: closes what is idle, and reconnects where the server speaks something else now. */
  tick(nowMs: number): void {
    this.#parts.slots.tick(nowMs)
    this.older.tick()
    const { connection } = this.#parts.slots.base
    if (connection) this.#parts.asking.tick()
    const outdated = connection !== undefined && this.#parts.shared.poll(nowMs) && this.inFlight() === 0
    const { idleTimeoutMs } = this.#record
    const idleMs = nowMs - Math.max(this.#parts.slots.usedAtMs, this.#parts.shared.openedAtMs)
    const idle =
      idleTimeoutMs !== undefined && idleTimeoutMs > 0 && idleMs > idleTimeoutMs && connection?.inFlight === 0
    this.#dispatch({ type: 'tick', outdated, idle })
  }

  /** `userId`: as a user sees it whose own credential is enough while that of the owner is missing. */
  status(userId?: string): ServerStatus {
    const { serverState, callers } = this.#parts
    const isFor = userId !== undefined && this.wanted && serverState.wantsOwner && callers.reads(userId)
    const own = isFor ? callers.state(userId) : undefined
    if (!own) return this.#status()
    const { reason: _, nextAttemptAt: __, ...status } = this.#status()
    return { ...status, ...own }
  }

  #status(): ServerStatus {
    const { face, ...own } = this.#parts.slots.counts()
    return serverStatus(this.#parts.serverState, this.#parts.lists.catalog, this.#parts.shared.opened, {
      starting: this.#starting(),
      latencyMs: this.#parts.latency.percentiles(),
      pid: this.#parts.shared.connection?.child?.pid,
      transport: this.#parts.shared.otherTransport ?? this.#record.transport,
      health: this.#parts.health.view(),
      older: this.older.spoken,
      connections: { ...own, shared: (this.#parts.slots.base.connection ? 1 : 0) + face },
      ...sessionStatus(
        this.#record,
        this.#parts.context,
        // The legacy side is the one that sends server requests over its connection.
        this.older.spoken ? this.older.asking : this.#parts.asking,
        this.#parts.slots.refused,
        this.state === 'online',
      ),
    })
  }

  /** The last 100 checks of its health, oldest first. */
  checks(): readonly HealthCheckResult[] {
    return this.#parts.health.checks()
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    return this.#parts.serverState.watch(changed)
  }

  inFlight(): number {
    const { shared, slots, draining } = this.#parts
    return (shared.connection?.inFlight ?? 0) + slots.inFlight() + draining.inFlight
  }

  /** A changed definition was approved: other tools are offered, though the lists are the same. */
  toolsChanged(): void {
    this.#parts.lists.toolsChanged()
    this.older.toolsChanged()
  }

  /** Resolves when all its connections and processes have ended. */
  async dispose(): Promise<void> {
    this.stop({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all([
      this.#parts.shared.closed(),
      this.#parts.draining.ended(),
      this.#parts.slots.dispose(),
      this.#parts.asking.dispose(),
      this.older.dispose(),
    ])
    this.#parts.lists.dispose()
    this.#parts.callers.dispose()
  }

  #starting(): ServerStatus['starting'] {
    const sinceMs = this.#parts.driver.startingSinceMs
    return sinceMs === undefined ? undefined : this.#parts.shared.starting(sinceMs)
  }

  #dispatch(event: ServerEvent): void {
    this.#parts.driver.dispatch(event)
  }
}
