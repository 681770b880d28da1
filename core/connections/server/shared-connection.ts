import type { ServerRecord, TransportName } from '../../contract/records.ts'
import { listReaderCapabilities } from '../../domain/client-capabilities.ts'
import type { ServerStart } from '../../domain/server/status.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd, ConnectionEvents } from '../connection/connection-events.ts'
import type { DrainingConnections } from '../connection/draining-connections.ts'
import { withSaid } from '../connection/end-reason.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { StartDeadline } from '../connection/start-deadline.ts'
import { startProgress } from '../connection/start-progress.ts'
import type { ConnectionTurns } from '../probe/connection-turns.ts'
import type { OpenedMessage } from '../protocol.ts'
import { isFinal, Recovery } from './machine/recovery.ts'
import type { ServerEvent, Verdict } from './machine/server-events.ts'
import type { ProtocolFindings } from './protocol-findings.ts'
import { type ServerContext, wireErrorOf } from './server-context.ts'
import { concernsOwner } from './server-state.ts'

/** Time online after which earlier failures no longer count. */
const RESET_MS = 60_000

/** The parts of its server that a `SharedConnection` uses. */
export interface SharedConnectionOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The protocol version negotiated with the hub, as far as known. */
  readonly version: () => string
  readonly protocol: ProtocolFindings
  /** JSON of the tools whose schemas map arguments to headers. */
  readonly knownTools: () => string
  /** Takes over a connection with calls in flight when another one replaces it. */
  readonly draining: DrainingConnections
  /** No attempt begins while another connection is open alone. */
  readonly turns: Pick<ConnectionTurns, 'free'>
  /** True when the server serves one connection at a time. */
  readonly single: () => boolean
  /** Takes what has happened to the connection. */
  readonly report: (event: ServerEvent) => void
  /** Handlers of its other events; `configHash` is of the configuration that it was opened with. */
  readonly events: (configHash: string) => Omit<ConnectionEvents, 'opened' | 'unusable' | 'ended' | 'retired'>
}

/**
 * The connection to one server that all callers share. It opens and closes as the effects of the server's state machine say,
 * in the server's era and transport, and reports to it.
 */
export class SharedConnection {
  readonly #options: SharedConnectionOptions
  readonly #recovery: Recovery
  readonly #protocol: ProtocolFindings
  readonly #deadline = new StartDeadline()
  #connection: Connection | undefined
  #effective: EffectiveServer | undefined
  #opened: OpenedMessage | undefined
  #openedAtMs = 0
  /** Counts starts and ends, so that late results of an earlier connection are recognized and dropped. */
  #turn = 0
  #losses = 0
  /** The module of the transport that it was last opened with. */
  #module: string | undefined
  /** JSON of the headers that providers gave it then. */
  #lent = ''
  #outdated = false
  #closing: Promise<void> = Promise.resolve()

  constructor(options: SharedConnectionOptions) {
    this.#options = options
    this.#recovery = new Recovery(options.context.random)
    this.#protocol = options.protocol
  }

  /** The connection, open or being opened. */
  get connection(): Connection | undefined {
    return this.#connection
  }

  /** The server's handshake result at the last connection. */
  get opened(): OpenedMessage | undefined {
    return this.#opened
  }

  /** When it was last opened (`performance.now()`). */
  get openedAtMs(): number {
    return this.#openedAtMs
  }

  /** The transport in effect, if not the configured one. */
  get otherTransport(): TransportName | undefined {
    return this.#protocol.otherTransport
  }

  /** A number that changes with every start and end. */
  get turn(): number {
    return this.#turn
  }

  /** The configuration that it was last opened with. */
  get effective(): EffectiveServer | undefined {
    return this.#effective
  }

  /** Sets a configuration that needs no reconnect. */
  set effective(effective: EffectiveServer) {
    this.#effective = effective
  }

  /** True when the transport's plugin was restarted, or header providers give other headers, since it was opened. */
  get outdated(): boolean {
    return this.#outdated
  }

  /** Restores earlier findings that were stored with the lists. */
  restore(catalog: Pick<ServerCatalog, 'transport' | 'readAt' | 'askedVersion'>): void {
    this.#protocol.restore(catalog)
    this.#deadline.restore()
  }

  /** The configuration with the transport in effect. Throws HubError. */
  async configured(): Promise<EffectiveServer> {
    return this.#protocol.configured()
  }

  /**
   * The same after all authorization checks. When its use is forbidden, `forbidden` is called with the reason, and the configuration
   * if that could be read; the result is undefined. Throws HubError.
   */
  async authorize(
    forbidden: (reason: WireError, effective?: EffectiveServer) => void,
  ): Promise<EffectiveServer | undefined> {
    const turn = this.#turn
    let effective: EffectiveServer | undefined
    try {
      effective = await this.configured()
      const { module, lent } = await this.#options.context.launcher.prepare(this.#options.record().id, effective)
      const isOpened = this.#module !== undefined
      this.#outdated = isOpened && (this.#module !== module || this.#lent !== JSON.stringify(lent))
      return effective
    } catch (error) {
      const reason = toWireError(error)
      if (!isFinal(reason)) throw error
      if (turn === this.#turn) forbidden(reason, effective)
      return undefined
    }
  }

  /** The public view of an attempt that began at `sinceMs` (`performance.now()`). */
  starting(sinceMs: number): ServerStart {
    const { context, record } = this.#options
    return startProgress(sinceMs, context.children.stderr(record().id).at(-1))
  }

  /** The plan for opening another connection now. Throws HubError. */
  async plan(): Promise<LaunchPlan> {
    const { context, record } = this.#options
    const plan = await context.launcher.prepare(record().id, await this.configured())
    return context.launcher.ready(plan, () => true)
  }

  /** Earlier failures no longer count. */
  resetFailures(): void {
    this.#recovery.reset()
  }

  /** The failure of the attempt that begins now makes no later delay longer. */
  excuseFailure(): void {
    this.#recovery.excuse()
  }

  /** Deadline of the attempt in progress, in milliseconds from its start; 0 while unknown. */
  get startTimeoutMs(): number {
    return this.#deadline.lastMs
  }

  /** The delay of the next attempt after a failure that the server itself caused; undefined: none follows. */
  failureDelayMs(reason: WireError): number | undefined {
    return this.#recovery.failed(reason).delayMs
  }

  /** Opens it; an attempt in progress is dropped. Reports `launched` and `opened`, or `attempt-failed`. */
  open(): void {
    void this.#attempt()
  }

  /** Number of open connections that ended without being closed by the hub. */
  get losses(): number {
    return this.#losses
  }

  /** Ends it, and the attempt in progress. */
  close(reason: WireError): void {
    this.#end(reason, this.#connection)
  }

  /** The same, but calls in flight may end over the connection, beside the next one. */
  drain(reason: WireError): void {
    const connection = this.#connection
    const isBusy = connection !== undefined && connection.inFlight > 0
    if (isBusy) this.#options.draining.add(connection, reason)
    this.#end(reason, isBusy ? undefined : connection)
  }

  #end(reason: WireError, connection: Connection | undefined): void {
    this.#turn += 1
    this.#connection = undefined
    const closing = [this.#closing, this.#protocol.abandon(reason)]
    if (connection) closing.push(connection.close(reason))
    // Without the values: each would reference the result before it, in an endless chain.
    this.#closing = Promise.all(closing).then(() => undefined)
  }

  /** Periodic tick while it is open. True when the server supports something else now, so that a reconnect is due. */
  poll(nowMs: number): boolean {
    if (nowMs - this.#openedAtMs > RESET_MS) this.#recovery.markStable()
    if (this.#protocol.stale) void this.probe()
    return this.#protocol.outdated(this.#opened?.protocolVersion)
  }

  /** Probes the era and transport again; the next tick acts on the result. Never rejects. */
  async probe(): Promise<void> {
    const turn = this.#turn
    await this.#protocol.probe(() => turn === this.#turn)
  }

  /** Resolves when all its connections have ended. */
  async closed(): Promise<void> {
    await this.#closing
  }

  async #attempt(): Promise<void> {
    const { context, record, knownTools, report } = this.#options
    const { launcher } = context
    this.#turn += 1
    const turn = this.#turn
    const still = (): boolean => turn === this.#turn
    let release: (() => void) | undefined
    let effective: EffectiveServer | undefined
    try {
      await Promise.all([this.#closing, this.#options.turns.free()])
      if (this.#options.single()) await this.#options.draining.givenUp()
      effective = await this.configured()
      const prepared = await launcher.prepare(record().id, effective)
      const plan = this.#deadline.extend(await launcher.ready(prepared, still))
      release = await context.starts.acquire(record().ownerId)
      const era = still() ? await this.#protocol.era(plan, effective.configHash, still) : 'legacy'
      const whole = still() ? await launcher.withDocument(plan) : plan
      if (!still()) {
        release()
        return
      }
      this.#effective = effective
      this.#module = plan.module
      this.#lent = JSON.stringify(plan.lent)
      this.#outdated = false
      this.#connection = launcher.launch(whole, {
        era,
        offers: listReaderCapabilities(effective.settings.session, this.#options.version()),
        knownTools: knownTools(),
        isolate: this.#recovery.alone,
        catalog: true,
        events: this.#events(turn, effective.configHash, release),
      })
      report({ type: 'launched' })
    } catch (error) {
      release?.()
      if (!still()) return
      const verdict = this.#recovery.failed(wireErrorOf(context.log, error))
      // Connections of callers open with it meanwhile.
      if (effective && concernsOwner(record(), verdict.reason)) this.#effective = effective
      report({ type: 'attempt-failed', verdict })
    }
  }

  #events(turn: number, configHash: string, release: () => void): ConnectionEvents {
    const { report } = this.#options
    const current = (): boolean => turn === this.#turn
    const events = this.#options.events(configHash)
    return {
      ...events,
      opened: message => {
        release()
        if (current()) this.#onOpened(message)
      },
      unusable: () => {
        release()
        if (current()) report({ type: 'unusable' })
      },
      ended: end => {
        if (current()) this.#onEnded(end)
      },
      retired: reason => {
        if (current()) this.#onRetired(reason)
      },
      health: found => {
        if (current()) events.health?.(found)
      },
      list: (kind, entries) =>
        current() && this.#opened ? events.list(kind, entries) : 'another connection took its place',
      catalog: read => {
        if (current() && this.#opened) events.catalog(read)
      },
      stale: () => {
        if (current()) events.stale()
      },
    }
  }

  #onOpened(message: OpenedMessage): void {
    if (!this.#connection) return
    this.#opened = message
    this.#openedAtMs = performance.now()
    this.#protocol.opened(message)
    this.#deadline.opened()
    this.#options.report({ type: 'opened' })
  }

  #onEnded(end: ConnectionEnd): void {
    if (end.wasOpen) this.#losses += 1
    // Its process may still run, stopped or deaf to TERM: the next one starts once it is gone.
    if (this.#connection)
      this.#closing = Promise.all([this.#closing, this.#connection.close(end.reason)]).then(() => undefined)
    this.#connection = undefined
    this.#options.report({ type: 'ended', verdict: this.#verdict(end) })
  }

  /** The connection takes no new calls any more. It stays open until its calls in flight are answered. */
  #onRetired(reason: WireError): void {
    if (this.#connection) this.#options.draining.add(this.#connection, reason, { isLost: true })
    this.#turn += 1
    this.#connection = undefined
    this.#options.report({ type: 'unusable' })
    this.#onEnded({ reason, wasOpen: true, exited: false, workerLost: false })
  }

  #verdict(end: ConnectionEnd): Verdict {
    const { record } = this.#options
    const { shown, outcome } = this.#protocol.ended(this.#effective?.settings, end)
    if (!shown.wasOpen) this.#deadline.failed(shown.reason)
    if (outcome === 'retry') return { kind: 'now' }
    const onlineMs = performance.now() - this.#openedAtMs
    const verdict = this.#recovery.ended(outcome, onlineMs, record().isolate)
    if (verdict.kind === 'offline') return { ...verdict, reason: withSaid(verdict.reason, end.said) }
    return verdict.kind === 'now' ? { ...verdict, reason: shown.reason } : verdict
  }
}
