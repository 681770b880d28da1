import { toWireError, type WireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, ServerStatus } from '../contract/records.ts'
import { type Era, eraOf } from '../domain/era.ts'
import { canUse } from '../domain/ownership.ts'
import { userConnection } from '../domain/session-scope.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { ServerCatalog } from './api.ts'
import type { PendingCall } from './call.ts'
import type { StoredCatalog } from './catalog-store.ts'
import type { Connection } from './connection.ts'
import type { ConnectionEnd, ConnectionEvents } from './connection-events.ts'
import { Latency } from './latency.ts'
import { limitsOf } from './launcher.ts'
import { LEGACY_VERSION } from './links/handshake.ts'
import { noteDefinitions, tellListChange } from './list-news.ts'
import { Observed, STOPPED } from './observed.ts'
import type { OpenedMessage } from './protocol.ts'
import { isFinal, Recovery, type Verdict } from './recovery.ts'
import type { ServerContext } from './server-context.ts'
import { ServerEra } from './server-era.ts'
import { ServerHealth } from './server-health.ts'
import { ServerLanes } from './server-lanes.ts'
import { ServerLists } from './server-lists.ts'
import { serverStatus } from './server-status.ts'
import { TransportChoice } from './transport-choice.ts'
import { upstreamNotices } from './upstream-notices.ts'

/** After so long online, earlier failures are forgotten. */
const RESET_MS = 60_000
/** Lists that a server does not watch itself are read again no oftener. */
const EXPIRED_MS = 60_000
/** An attempt that is so near is worth waiting for. */
const NEAR_MS = 1_000

/** One server: what is wanted of it, what is seen of it, and how the one follows the other. */
export class ManagedServer {
  readonly #context: ServerContext
  readonly #observed: Observed
  readonly #health: ServerHealth
  readonly #lanes: ServerLanes
  readonly #lists: ServerLists
  readonly #latency = new Latency()
  readonly #recovery: Recovery
  readonly #era: ServerEra
  readonly #transport = new TransportChoice()
  #record: ServerRecord
  #stored: StoredCatalog | undefined
  #wanted: boolean
  #effective: EffectiveServer | undefined
  #connection: Connection | undefined
  #opened: OpenedMessage | undefined
  #openedAtMs = 0
  #connectedBefore = false
  /** Counts starts and stops, so that what belongs to an earlier one is recognised and dropped. */
  #turn = 0
  #attempting = false
  #closing: Promise<unknown> = Promise.resolve()
  #retry: ReturnType<typeof setTimeout> | undefined
  /** Connected only to read the lists of a lazy server. */
  #lookingOnly = false
  #expiredAtMs = Number.NEGATIVE_INFINITY

  constructor(record: ServerRecord, context: ServerContext, stored: StoredCatalog | undefined) {
    this.#record = record
    const effective = (serverId: string) => context.effective(serverId).then(one => this.#transport.apply(one))
    this.#context = { ...context, effective }
    this.#stored = stored
    this.#wanted = record.enabled && !record.problem
    this.#observed = new Observed(() => this.#record, this.#context)
    this.#health = new ServerHealth(() => this.#record, this.#context)
    this.#recovery = new Recovery(context.random)
    this.#era = new ServerEra(context, record.id)
    this.#lists = new ServerLists()
    this.#lanes = new ServerLanes({
      context: this.#context,
      record: () => this.#record,
      observed: this.#observed,
      wanted: () => this.#wanted,
      era: () => this.era,
      version: () => (this.#opened ?? this.#lists.catalog)?.protocolVersion ?? LEGACY_VERSION,
      knownTools: () => this.#lists.markedTools,
      wake: () => {
        this.#lookingOnly = false
        void this.#attempt()
      },
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
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
    const said = this.#opened ?? this.#lists.catalog
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
    return this.settled || (this.#lists.catalog !== undefined && !this.#lists.awaited)
  }

  /** The first look at the server: takes what is stored, connects if it should be on. */
  async begin(): Promise<void> {
    await this.#restoreLists()
    if (!this.#wanted || this.#turn > 0) return
    const lazy = this.#record.start === 'lazy'
    if (lazy && this.#lists.catalog) {
      this.#observed.become('offline', { code: 'idle', message: 'The server starts with the first call' })
      return
    }
    this.#lookingOnly = lazy
    void this.#attempt()
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
    this.#lanes.end(userConnection(userId), { code: 'stopped', message: 'The server is not yours to use any more' })
  }

  start(): void {
    if (this.#record.problem) return
    this.#wanted = true
    this.#freshStart()
  }

  stop(reason: WireError = STOPPED): void {
    this.#wanted = false
    this.#lieDown(reason)
  }

  restart(): void {
    if (this.#record.problem) return
    this.#wanted = true
    const reason: WireError = { code: 'connection_lost', message: 'The server is being restarted' }
    // Connecting before the calls come back, so that those that may be repeated wait for the new connection.
    this.#turn += 1
    this.#observed.become('connecting', reason)
    this.#lanes.closeSessions(reason)
    this.#letGo(reason)
    this.#recovery.fresh()
    this.#transport.forget()
    void this.#attempt()
  }

  /** Somebody reads the lists: what the server called fresh for a while is read again after that. */
  listed(): void {
    const now = performance.now()
    const { connection } = this.#lanes.base
    if (!connection || now - this.#expiredAtMs < EXPIRED_MS) return
    const kinds = this.#lists.expired(now)
    if (kinds.length === 0) return
    this.#expiredAtMs = now
    this.#lists.begin({ awaited: false })
    connection.refresh(kinds)
  }

  refresh({ probe = false }: { readonly probe?: boolean } = {}): void {
    if (probe && this.#connection) void this.#askEra()
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
    for (const userId of this.#lanes.users()) if (!canUse(userId, record)) this.endUser(userId)
    // Whatever start() and stop() were told meanwhile: what is kept is what counts.
    this.#wanted = record.enabled
    if (record.problem) return this.stop(record.problem)
    if (!this.#wanted) {
      if (this.state !== 'offline' || this.#observed.now.reason?.code !== 'stopped') this.stop()
      return
    }
    const turn = this.#turn
    const effective = await this.#judge()
    if (turn !== this.#turn || !effective) return
    const other = effective.configHash !== this.#effective?.configHash
    if (this.#connection) {
      this.#effective = effective
      if (other) this.restart()
      else this.#lanes.setLimits(limitsOf(effective.settings))
      return
    }
    // Sessions may have connections of their own while the shared one sleeps.
    if (other) this.#lanes.closeSessions({ code: 'connection_lost', message: 'The server has changed' })
    const asleep = this.#observed.now.reason?.code === 'idle'
    if (asleep && effective.configHash === this.#lists.configHash) return
    this.#lookingOnly = record.start === 'lazy' && asleep
    this.#recovery.fresh()
    void this.#attempt()
  }

  /** Regular look: idle connections end, and what should run but has no next attempt gets one. */
  tick(nowMs: number): void {
    this.#lanes.tick(nowMs)
    const { connection } = this.#lanes.base
    if (connection) {
      if (nowMs - this.#openedAtMs > RESET_MS) this.#recovery.steady()
      if (this.#era.stale) void this.#askEra()
      if (this.#era.known !== undefined && this.#era.known !== this.era && this.inFlight() === 0) return this.restart()
      const { idleTimeoutMs } = this.#record
      const idleMs = nowMs - Math.max(this.#lanes.usedAtMs, this.#openedAtMs)
      if (idleTimeoutMs && idleMs > idleTimeoutMs && connection.inFlight === 0) this.#sleep()
      return
    }
    const { state, reason, nextAttemptAtMs } = this.#observed.now
    const resting = reason?.code === 'idle' || isFinal(reason?.code)
    if (this.#wanted && state === 'offline' && !resting && nextAttemptAtMs === undefined) void this.#attempt()
  }

  status(): ServerStatus {
    return serverStatus(this.#observed, this.#lists.catalog, this.#opened, {
      latencyMs: this.#latency.percentiles(),
      pid: this.#connection?.child?.pid,
      transport: this.#transport.other ?? this.#record.transport,
      health: this.#health.view(),
      connections: { shared: this.#lanes.base.connection ? 1 : 0, ...this.#lanes.counts() },
    })
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    return this.#observed.watch(changed)
  }

  inFlight(): number {
    return (this.#connection?.inFlight ?? 0) + this.#lanes.inFlight()
  }

  /** Resolves when nothing of it is left. */
  async dispose(): Promise<void> {
    this.stop({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all([this.#closing, this.#lanes.dispose()])
  }

  async #restoreLists(): Promise<void> {
    const stored = this.#stored
    this.#stored = undefined
    if (!stored || this.#record.problem) return
    const hash = await this.#context.effective(this.#record.id).then(
      effective => effective.configHash,
      // A server whose variables are missing keeps the lists it had.
      () => stored.configHash,
    )
    if (hash !== stored.configHash || this.#lists.catalog) return
    this.#lists.restore(stored)
    this.#transport.restore(stored.catalog)
  }

  /** The configuration as it would be used now; lies down and returns undefined when it may not be used at all. Throws else. */
  async #judge(): Promise<EffectiveServer | undefined> {
    const turn = this.#turn
    try {
      const effective = await this.#context.effective(this.#record.id)
      await this.#context.launcher.prepare(this.#record.id, effective)
      return effective
    } catch (error) {
      const reason = toWireError(error)
      if (!isFinal(reason.code)) throw error
      if (turn === this.#turn) this.#lieDown(reason)
      return undefined
    }
  }

  #freshStart(): void {
    if (this.#connection || this.#attempting) return
    this.#recovery.fresh()
    this.#lookingOnly = false
    void this.#attempt()
  }

  async #attempt(): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    this.#attempting = true
    this.#clearRetry()
    const { reason: before } = this.#observed.now
    // A fault is told until it is mended; that it was switched off or asleep is over now.
    const fault = before?.code !== 'stopped' && before?.code !== 'idle'
    this.#observed.become('connecting', this.#connectedBefore && fault ? before : undefined)
    let release: (() => void) | undefined
    try {
      await this.#closing
      const effective = await this.#context.effective(this.#record.id)
      const { launcher } = this.#context
      const prepared = await launcher.prepare(this.#record.id, effective)
      const plan = await launcher.ready(prepared, () => turn === this.#turn)
      release = await this.#context.starts.acquire()
      if (turn !== this.#turn) {
        release()
        return
      }
      const still = (): boolean => turn === this.#turn
      const era = await this.#era.decide(plan, effective.configHash, { still })
      if (turn !== this.#turn) {
        release()
        return
      }
      this.#effective = effective
      this.#lists.begin({ awaited: false })
      this.#connection = launcher.launch(plan, {
        era,
        knownTools: this.#lists.markedTools,
        isolate: this.#recovery.alone,
        catalog: true,
        events: this.#events(turn, effective.configHash, release),
      })
      this.#attempting = false
    } catch (error) {
      release?.()
      if (turn === this.#turn) this.#follow(this.#recovery.failed(toWireError(error)))
    }
  }

  /** Finds out anew which era the server speaks; the next look follows the answer. */
  async #askEra(): Promise<void> {
    const turn = this.#turn
    try {
      const effective = await this.#context.effective(this.#record.id)
      const still = (): boolean => turn === this.#turn
      const { launcher } = this.#context
      const plan = await launcher.ready(await launcher.prepare(this.#record.id, effective), still)
      if (still()) await this.#era.decide(plan, effective.configHash, { afresh: true, still })
    } catch (error) {
      this.#context.log.debug('The era of a server could not be asked again', { error: String(error) })
    }
  }

  #events(turn: number, configHash: string, release: () => void): ConnectionEvents {
    const current = (): boolean => turn === this.#turn
    const { context, id } = { context: this.#context, id: this.#record.id }
    return {
      opened: message => {
        release()
        if (current()) this.#wentOnline(message)
      },
      unusable: () => {
        release()
        if (current()) this.#lanes.base.connection = undefined
      },
      ended: end => {
        if (current()) this.#ended(end)
      },
      lost: (call, how, reason) => this.#lanes.lost(call, how, reason),
      input: (call, text) => this.#lanes.input(call, text),
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
      health: report => {
        if (current()) this.#health.checked(report)
      },
      catalog: read => {
        if (!current() || !this.#opened) return
        const kinds = this.#lists.read(read, this.#opened, configHash, this.#transport.other)
        if (this.#lists.catalog) context.catalogs.save(id, configHash, this.#lists.catalog)
        // Before anybody hears of the new list, so that nobody gets a tool that waits for an approval.
        noteDefinitions(context, this.#record, this.#lists.catalog?.tools ?? [])
        tellListChange(context, this.#record, kinds)
        this.#observed.changed()
        const unused = this.#lanes.usedAtMs < this.#openedAtMs && this.#lanes.base.connection?.inFlight === 0
        if (this.#lookingOnly && unused) this.#sleep()
      },
      stale: kinds => {
        if (current()) this.#lists.begin({ awaited: true, kinds })
      },
      ...upstreamNotices(context, () => this.#record),
    }
  }

  /** What the owner makes of the tools has changed, though the lists are the same. */
  toolsChanged(): void {
    tellListChange(this.#context, this.#record, ['tools'])
  }

  #wentOnline(message: OpenedMessage): void {
    const connection = this.#connection
    if (!connection) return
    this.#opened = message
    this.#openedAtMs = performance.now()
    this.#transport.opened()
    this.#observed.attempts = 0
    this.#observed.become('online')
    this.#lanes.opened(connection)
    const again = this.#connectedBefore
    this.#connectedBefore = true
    const { id, ownerId } = this.#record
    this.#context.bus.emit('upstream.connected', ownerId, { serverId: id, again }, 'internal')
  }

  #ended(end: ConnectionEnd): void {
    this.#era.ended(end)
    this.#connection = undefined
    this.#lists.abandon()
    const onlineMs = performance.now() - this.#openedAtMs
    const lastWords = (): string => {
      const tail = this.#context.children.stderr(this.#record.id).slice(-5)
      return tail.length === 0 ? '' : `; it wrote: ${tail.map(({ line }) => line.slice(0, 200)).join(' | ')}`
    }
    const judged = this.#transport.ended(this.#effective?.settings, end)
    if (judged === 'retry') return this.#follow({ kind: 'now' })
    const verdict = this.#recovery.ended(judged, onlineMs, this.#record.isolate, lastWords)
    if (verdict.kind === 'now') this.#observed.become('connecting', end.reason)
    this.#follow(verdict)
  }

  #follow(verdict: Verdict): void {
    if (verdict.kind === 'now') {
      void this.#attempt()
      return
    }
    this.#attempting = false
    this.#observed.attempts += 1
    this.#lists.abandon()
    const { reason, delayMs } = verdict
    this.#health.lost(reason)
    this.#observed.become('offline', reason, delayMs)
    if (delayMs === undefined || delayMs > NEAR_MS) this.#lanes.failWaiting()
    if (delayMs === undefined) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#attempt()
    }, delayMs)
  }

  #sleep(): void {
    this.#lieDown({ code: 'idle', message: 'The server sleeps until the next call' })
  }

  /** Ends the connection, and attempts, for a reason that waiting does not mend. */
  #lieDown(reason: WireError): void {
    this.#turn += 1
    this.#attempting = false
    this.#observed.attempts = 0
    this.#health.forget()
    this.#observed.become('offline', reason)
    this.#lanes.failWaiting()
    if (reason.code !== 'idle') this.#lanes.closeSessions(reason)
    this.#letGo(reason)
  }

  #letGo(reason: WireError): void {
    this.#clearRetry()
    const connection = this.#connection
    this.#connection = undefined
    this.#lanes.base.connection = undefined
    this.#lists.abandon()
    const closing = [this.#closing, this.#era.abandon(reason)]
    if (connection) closing.push(connection.close(reason))
    this.#closing = Promise.all(closing)
  }

  #clearRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }
}
