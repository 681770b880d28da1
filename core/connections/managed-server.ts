import { type ErrorCode, toWireError, type WireError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, ServerStatus } from '../contract/records.ts'
import type { EffectiveServer } from '../registry/api.ts'
import type { ServerCatalog, SessionBinding } from './api.ts'
import { backoffMs, isCrashLoop, RecentCount } from './backoff.ts'
import type { PendingCall } from './call.ts'
import type { StoredCatalog } from './catalog-store.ts'
import type { Connection, ConnectionEnd, ConnectionEvents } from './connection.ts'
import { Lane } from './lane.ts'
import { Latency } from './latency.ts'
import type { OpenedMessage } from './protocol.ts'
import type { ServerContext } from './server-context.ts'
import { ServerLists } from './server-lists.ts'
import { needsOwnConnection, SessionLanes } from './session-lanes.ts'

const STEADY_MS = 5_000
const RESET_MS = 60_000
const CRASH_RETRY_MS = 5 * 60_000
const REFUSED_RETRY_MS = 10 * 60_000
const RECONNECT_WAIT_MS = 5_000
const FIRST_START_WAIT_MS = 35_000
/** A next attempt that is so near is worth waiting for. */
const NEAR_MS = 1_000
const FAULTS_UNTIL_ALONE = 3

/** Reasons that only a change of the configuration, of a role or of the plugins can mend: no attempt is repeated. */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'config_invalid',
  'variable_unknown',
  'stdio_not_permitted',
  'transport_unavailable',
  'loop_detected',
  'quarantined',
])

interface Observed {
  readonly state: ServerStatus['state']
  readonly since: string
  readonly reason?: WireError
  readonly nextAttemptAtMs?: number
}

/** One server: what is wanted of it, what is seen of it, and how the one follows the other. */
export class ManagedServer {
  #record: ServerRecord
  readonly #context: ServerContext
  readonly #lane = new Lane()
  readonly #sessions: SessionLanes
  readonly #lists = new ServerLists()
  readonly #latency = new Latency()
  readonly #exits = new RecentCount()
  readonly #workerFaults = new RecentCount()
  readonly #losses = new RecentCount()
  readonly #watchers = new Set<() => void>()
  #wanted: boolean
  #observed: Observed = { state: 'offline', since: new Date().toISOString(), reason: stopped() }
  #effective: EffectiveServer | undefined
  #connection: Connection | undefined
  #opened: OpenedMessage | undefined
  #openedAtMs = 0
  #connectedBefore = false
  #usedAtMs = 0
  /** Counts starts and stops, so that what belongs to an earlier one is recognised and dropped. */
  #turn = 0
  #closing: Promise<void> = Promise.resolve()
  #attempting = false
  #retry: ReturnType<typeof setTimeout> | undefined
  #attempts = 0
  #failures = 0
  #crashLooping = false
  #aloneNow = false
  #stored: StoredCatalog | undefined
  /** Connected only to read the lists of a lazy server. */
  #lookingOnly = false

  constructor(record: ServerRecord, context: ServerContext, stored: StoredCatalog | undefined) {
    this.#record = record
    this.#context = context
    this.#wanted = record.enabled
    this.#stored = stored
    this.#sessions = new SessionLanes({
      serverId: record.id,
      context,
      record: () => this.#record,
      lost: (call, begun, reason) => this.#lost(call, begun, reason),
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
    })
    if (record.problem) this.#observed = { ...this.#observed, reason: record.problem }
    else if (record.enabled) this.#observed = { state: 'connecting', since: this.#observed.since }
  }

  get record(): ServerRecord {
    return this.#record
  }

  get catalog(): ServerCatalog | undefined {
    return this.#lists.catalog
  }

  get state(): ServerStatus['state'] {
    return this.#observed.state
  }

  /** The first look at the server: takes what is stored, connects if it should be on. */
  async begin(): Promise<void> {
    if (this.#record.problem) return
    const stored = this.#stored
    this.#stored = undefined
    if (stored) {
      const hash = await this.#context.effective(this.#record.id).then(
        effective => effective.configHash,
        // A server whose variables are missing keeps the lists it had.
        () => stored.configHash,
      )
      if (hash === stored.configHash && !this.#lists.catalog) this.#lists.restore(stored.catalog)
    }
    if (!this.#wanted || this.#turn > 0) return
    if (this.#record.start === 'lazy' && this.#lists.catalog) {
      this.#observe('offline', { code: 'idle', message: 'The server starts with the first call' })
      return
    }
    this.#lookingOnly = this.#record.start === 'lazy'
    void this.#attempt()
  }

  dispatch(call: PendingCall): void {
    const { session } = call.request
    const lane = session && needsOwnConnection(this.#record, session) ? this.#sessions.lane(session) : this.#lane
    const { connection } = lane
    if (connection) {
      this.#usedAtMs = performance.now()
      connection.send(call)
    } else {
      this.#wait(lane, call, session)
    }
  }

  notify(sessionId: string | undefined, method: string, params: JsonObject | undefined): void {
    const lane = sessionId === undefined ? this.#lane : this.#sessions.known(sessionId)
    lane?.connection?.notify(method, params)
  }

  endSession(sessionId: string): void {
    this.#sessions.end(sessionId)
  }

  start(): void {
    this.#wanted = true
    this.#freshStart()
  }

  stop(reason: WireError = stopped()): void {
    this.#wanted = false
    this.#lieDown(reason)
  }

  restart(): void {
    this.#wanted = true
    this.#lieDown({ code: 'connection_lost', message: 'The server is being restarted' })
    this.#freshStart()
  }

  refresh(): void {
    if (this.#lane.connection) {
      this.#lists.begin()
      this.#lane.connection.refresh()
    } else if (this.#wanted && this.#observed.state === 'offline') {
      this.#freshStart()
    }
  }

  /** The record has changed: restarts only when the connection would be another one. */
  async update(record: ServerRecord): Promise<void> {
    const before = this.#record
    this.#record = record
    if (record.enabled !== before.enabled) this.#wanted = record.enabled
    if (record.problem) {
      this.#lieDown(record.problem)
      return
    }
    if (!this.#wanted) {
      if (this.#observed.state !== 'offline') this.stop()
      return
    }
    if (!this.#connection) {
      // Asleep stays asleep; everything else is worth a try with the new configuration.
      if (this.#observed.reason?.code !== 'idle') this.#freshStart()
      return
    }
    const turn = this.#turn
    let effective: EffectiveServer
    try {
      effective = await this.#context.effective(record.id)
    } catch (error) {
      if (turn === this.#turn) this.#lieDown(toWireError(error))
      return
    }
    if (turn !== this.#turn || !this.#connection) return
    if (effective.configHash !== this.#effective?.configHash) {
      this.restart()
      return
    }
    this.#effective = effective
    const { timeoutMs, maxTimeoutMs } = effective.settings
    this.#connection.setLimits(timeoutMs, maxTimeoutMs)
    this.#sessions.setLimits(timeoutMs, maxTimeoutMs)
  }

  /** Asks the rules again: the owner's role, or what the plugins offer, may have changed. */
  async judgeAgain(): Promise<void> {
    if (!this.#wanted || this.#record.problem) return
    const turn = this.#turn
    try {
      const effective = await this.#context.effective(this.#record.id)
      await this.#context.launcher.prepare(this.#record.id, effective)
    } catch (error) {
      const reason = toWireError(error)
      if (turn === this.#turn && FINAL.has(reason.code)) this.#lieDown(reason)
      return
    }
    const code = this.#observed.reason?.code
    if (turn === this.#turn && this.#observed.state === 'offline' && code && FINAL.has(code)) this.#freshStart()
  }

  /** Regular look: idle connections end, and what should run but has no next attempt gets one. */
  tick(nowMs: number): void {
    this.#sessions.tick(nowMs)
    const { idleTimeoutMs } = this.#record
    const connection = this.#lane.connection
    if (connection) {
      if (nowMs - this.#openedAtMs > RESET_MS) this.#steady()
      const idleMs = nowMs - Math.max(this.#usedAtMs, this.#openedAtMs)
      if (idleTimeoutMs && idleMs > idleTimeoutMs && connection.inFlight === 0) this.#sleep()
      return
    }
    const { state, reason, nextAttemptAtMs } = this.#observed
    const final = reason && (FINAL.has(reason.code) || reason.code === 'idle')
    if (this.#wanted && state === 'offline' && !final && nextAttemptAtMs === undefined && !this.#record.problem) {
      void this.#attempt()
    }
  }

  status(): ServerStatus {
    const { state, since, reason, nextAttemptAtMs } = this.#observed
    const lists = this.#lists.catalog
    const opened = this.#opened ?? lists
    const latencyMs = this.#latency.percentiles()
    const pid = this.#connection?.child?.pid
    return {
      state,
      since,
      ...(reason ? { reason: { code: reason.code, message: this.#context.redact(reason.message) } } : {}),
      attempts: this.#attempts,
      ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: new Date(nextAttemptAtMs).toISOString() }),
      ...(opened
        ? {
            era: 'legacy' as const,
            protocolVersion: opened.protocolVersion,
            serverInfo: opened.serverInfo,
            capabilities: opened.capabilities,
          }
        : {}),
      counts: {
        tools: lists?.tools.length ?? 0,
        prompts: lists?.prompts.length ?? 0,
        resources: lists?.resources.length ?? 0,
      },
      ...(pid === undefined ? {} : { pid }),
      ...(latencyMs ? { latencyMs } : {}),
    }
  }

  /** True once nothing is under way: online with its lists, or offline. */
  get settled(): boolean {
    const { state } = this.#observed
    return state === 'offline' || (state === 'online' && !this.#lists.reading)
  }

  /** True when waiting for its lists is pointless or done. */
  get listsReady(): boolean {
    return this.settled || (this.#lists.catalog !== undefined && !this.#lists.reading)
  }

  /** Calls back on every change of state or lists, until the returned function is called. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  /** Resolves when nothing of it is left. */
  async dispose(): Promise<void> {
    this.#wanted = false
    this.#lieDown({ code: 'draining', message: 'The hub is stopping' })
    await Promise.all([this.#closing, this.#sessions.dispose()])
  }

  inFlight(): number {
    return (this.#connection?.inFlight ?? 0) + this.#lane.waiting + this.#sessions.inFlight()
  }

  #freshStart(): void {
    if (this.#record.problem || this.#connection || this.#attempting) return
    this.#failures = 0
    this.#crashLooping = false
    this.#aloneNow = false
    this.#exits.clear()
    this.#workerFaults.clear()
    this.#lookingOnly = false
    void this.#attempt()
  }

  async #attempt(): Promise<void> {
    this.#turn += 1
    const turn = this.#turn
    this.#attempting = true
    this.#clearRetry()
    this.#observe('connecting', this.#attempts > 0 || this.#connectedBefore ? this.#observed.reason : undefined)
    let release: (() => void) | undefined
    try {
      await this.#closing
      const effective = await this.#context.effective(this.#record.id)
      const plan = await this.#context.launcher.prepare(this.#record.id, effective)
      release = await this.#context.starts.acquire()
      if (turn !== this.#turn) {
        release()
        return
      }
      this.#effective = effective
      this.#lists.begin()
      this.#connection = this.#context.launcher.launch(plan, {
        isolate: this.#aloneNow,
        catalog: true,
        events: this.#events(turn, release),
      })
      this.#attempting = false
    } catch (error) {
      release?.()
      if (turn === this.#turn) this.#failed(toWireError(error))
    }
  }

  #events(turn: number, release: () => void): ConnectionEvents {
    const current = (): boolean => turn === this.#turn
    const { name, id, ownerId } = this.#record
    return {
      opened: message => {
        release()
        if (current()) this.#wentOnline(message)
      },
      unusable: () => {
        release()
        if (current()) this.#lane.connection = undefined
      },
      ended: end => {
        if (current()) this.#ended(end)
      },
      lost: (call, begun, reason) => this.#lost(call, begun, reason),
      answered: call => this.#latency.add(performance.now() - call.startedAtMs),
      catalog: (texts, noticed) => {
        if (!current() || !this.#opened || !this.#effective) return
        const kinds = this.#lists.read(texts, noticed, this.#opened)
        const catalog = this.#lists.catalog
        if (catalog) this.#context.catalogs.save(id, this.#effective.configHash, catalog)
        if (kinds.length > 0) {
          this.#context.bus.emit('catalog.changed', ownerId, { serverId: id, name: this.#record.name, kinds })
        }
        this.#changed()
        if (this.#lookingOnly && this.#usedAtMs < this.#openedAtMs && this.#lane.connection?.inFlight === 0)
          this.#sleep()
      },
      stale: kinds => {
        if (current()) this.#lists.begin(kinds)
      },
      notification: (method, params) => {
        if (method === 'notifications/message') {
          this.#context.log.info('Log message of a server', {
            server: name,
            ownerId,
            ...(params ? { record: params } : {}),
          })
        } else {
          this.#context.bus.emit('upstream.notification', ownerId, { serverId: id, method, params }, 'internal')
        }
      },
      log: (level, message) => this.#context.log[level](message, { server: name, ownerId }),
    }
  }

  #wentOnline(message: OpenedMessage): void {
    const connection = this.#connection
    if (!connection) return
    this.#opened = message
    this.#openedAtMs = performance.now()
    this.#attempts = 0
    this.#observe('online')
    this.#lane.opened(connection)
    const again = this.#connectedBefore
    this.#connectedBefore = true
    const { id, ownerId } = this.#record
    this.#context.bus.emit('upstream.connected', ownerId, { serverId: id, again }, 'internal')
  }

  #ended(end: ConnectionEnd): void {
    const now = performance.now()
    this.#connection = undefined
    this.#lists.abandon()
    if (end.exited && isCrashLoop(this.#exits.add(now))) this.#crashLooping = true
    if (end.workerLost && this.#quarantine(now)) return
    const firstLoss = this.#losses.add(now) === 1
    const wasSteady = end.wasOpen && (now - this.#openedAtMs >= STEADY_MS || firstLoss)
    if (this.#crashLooping && end.exited) {
      const tail = this.#context.children.stderr(this.#record.id).slice(-5)
      const said = tail.length > 0 ? `; it wrote: ${tail.map(({ line }) => line.slice(0, 200)).join(' | ')}` : ''
      this.#failed({ code: 'crash_loop', message: `${end.reason.message}, again and again${said}` }, CRASH_RETRY_MS)
    } else if (wasSteady || end.workerLost) {
      this.#observed = { ...this.#observed, reason: end.reason }
      void this.#attempt()
    } else {
      this.#failed(end.reason)
    }
  }

  /** A server that takes its thread down three times in a minute gets one alone; if that dies too, it stays off. */
  #quarantine(nowMs: number): boolean {
    const faults = this.#workerFaults.add(nowMs)
    if (this.#aloneNow || (this.#record.isolate && faults >= FAULTS_UNTIL_ALONE)) {
      this.#failed({ code: 'quarantined', message: 'The server took its worker thread down, alone in it at last' })
      return true
    }
    this.#aloneNow = faults >= FAULTS_UNTIL_ALONE
    return false
  }

  #failed(reason: WireError, delayMs?: number): void {
    this.#attempting = false
    this.#attempts += 1
    this.#lists.abandon()
    const waitMs = FINAL.has(reason.code) ? undefined : (delayMs ?? this.#delayAfter(reason.code))
    this.#failures += 1
    this.#observe('offline', reason, waitMs)
    if (waitMs === undefined || waitMs > NEAR_MS) this.#lane.failWaiting(this.#offlineError())
    if (waitMs === undefined) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#attempt()
    }, waitMs)
  }

  #delayAfter(code: ErrorCode): number {
    if (code === 'authorization_required') return REFUSED_RETRY_MS
    return backoffMs(this.#failures, this.#context.random)
  }

  #steady(): void {
    this.#failures = 0
    this.#crashLooping = false
    this.#aloneNow = false
  }

  #sleep(): void {
    this.#lieDown({ code: 'idle', message: 'The server sleeps until the next call' })
  }

  /** Ends the connection, and attempts, for a reason that is no fault. */
  #lieDown(reason: WireError): void {
    this.#turn += 1
    this.#attempting = false
    this.#clearRetry()
    const connection = this.#connection
    this.#connection = undefined
    this.#lane.connection = undefined
    this.#lists.abandon()
    this.#attempts = 0
    this.#observe('offline', reason)
    this.#lane.failWaiting(this.#offlineError())
    if (reason.code !== 'idle') this.#sessions.closeAll(reason)
    if (connection) this.#closing = Promise.all([this.#closing, connection.close(reason)]).then(() => undefined)
  }

  #clearRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }

  #wait(lane: Lane, call: PendingCall, session: SessionBinding | undefined): void {
    const { state, reason, nextAttemptAtMs } = this.#observed
    const reasonNow = (): WireError => this.#offlineError()
    if (reason?.code === 'idle' && this.#wanted && state === 'offline') {
      this.#lookingOnly = false
      this.#usedAtMs = performance.now()
      void this.#attempt()
      lane.wait(call, FIRST_START_WAIT_MS, reasonNow)
    } else if (lane !== this.#lane && session && state === 'online') {
      lane.wait(call, FIRST_START_WAIT_MS, reasonNow)
      this.#sessions.open(session.id)
    } else if (state !== 'offline') {
      lane.wait(call, this.#record.start === 'lazy' ? FIRST_START_WAIT_MS : RECONNECT_WAIT_MS, reasonNow)
    } else if (
      nextAttemptAtMs !== undefined &&
      nextAttemptAtMs - Date.now() <= (call.repeated ? RECONNECT_WAIT_MS : NEAR_MS)
    ) {
      lane.wait(call, RECONNECT_WAIT_MS, reasonNow)
    } else {
      const { code, message } = reasonNow()
      call.fail(code, message)
      return
    }
  }

  #lost(call: PendingCall, begun: boolean, reason: WireError): void {
    if (!this.#wanted) {
      call.fail('connection_lost', reason.message)
    } else if (!begun && call.bounces < 3) {
      call.bounces += 1
      this.dispatch(call)
    } else if (begun && call.mayRepeat) {
      call.repeated = true
      this.dispatch(call)
    } else {
      // Not repeated: a tools/call may have acted before the connection was lost, and MCP has no idempotency key.
      call.fail(reason.code === 'stopped' ? 'server_offline' : 'connection_lost', reason.message)
    }
  }

  #offlineError(): WireError {
    const { state, reason } = this.#observed
    const { name } = this.#record
    const why = reason ? `: ${this.#context.redact(reason.message)}` : ''
    const said =
      state === 'offline' ? `Server "${name}" is offline${why}` : `Server "${name}" is not connected yet${why}`
    return { code: 'server_offline', message: said }
  }

  #observe(state: ServerStatus['state'], reason?: WireError, nextAttemptInMs?: number): void {
    const before = this.#observed
    this.#observed = {
      state,
      since: before.state === state ? before.since : new Date().toISOString(),
      ...(reason ? { reason } : {}),
      ...(nextAttemptInMs === undefined ? {} : { nextAttemptAtMs: Date.now() + nextAttemptInMs }),
    }
    if (before.state !== state || before.reason?.code !== reason?.code) {
      const { id, ownerId, name } = this.#record
      const safe = reason && { code: reason.code, message: this.#context.redact(reason.message) }
      this.#context.bus.emit('connection.state', ownerId, {
        serverId: id,
        name,
        state,
        ...(safe ? { reason: safe } : {}),
        attempts: this.#attempts,
      })
    }
    if (state === 'online') this.#sessions.openWaiting()
    this.#changed()
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

function stopped(): WireError {
  return { code: 'stopped', message: 'The server was stopped by hand' }
}
