import type { WireError } from '../../contract/errors.ts'
import type { ServerRecord, TransportName } from '../../contract/records.ts'
import { listReaderCapabilities } from '../../domain/client-capabilities.ts'
import { eraOf } from '../../domain/era.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog } from '../api.ts'
import type { Connection } from '../connection/connection.ts'
import type { ConnectionEnd, ConnectionEvents } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launcher.ts'
import { openProbe } from '../probe/probe-connection.ts'
import { TransportChoice } from '../probe/transport-choice.ts'
import type { OpenedMessage } from '../protocol.ts'
import { noted } from './noted.ts'
import { isFinal, Recovery, type Verdict } from './recovery.ts'
import type { ServerContext } from './server-context.ts'
import { ServerEra } from './server-era.ts'
import type { ServerState } from './server-state.ts'

/** Time online after which earlier failures no longer count. */
const RESET_MS = 60_000
/** An attempt due within this time is worth waiting for. */
const NEAR_MS = 1_000

/** What a `SharedConnection` needs from its server. */
export interface SharedConnectionOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  readonly serverState: ServerState
  /** The protocol version negotiated with the hub, as far as known. */
  readonly version: () => string
  /** JSON of the tools whose schemas map arguments to headers. */
  readonly knownTools: () => string
  /** Called when a connection is being opened, which will read the lists. */
  readonly opening: () => void
  /** Called when calls can be sent. `again`: there was an earlier connection. */
  readonly opened: (connection: Connection, again: boolean) => void
  /** Called when no more calls can be sent. */
  readonly unusable: () => void
  /** Called when the connection has ended; an event about the next one follows. */
  readonly ended: () => void
  /** Called when there is no connection for this reason; `soon`: the next attempt follows within 1 s. */
  readonly offline: (reason: WireError, soon: boolean) => void
  /** Handlers of its other events; `configHash` is of the configuration that it was opened with. */
  readonly events: (configHash: string) => Omit<ConnectionEvents, 'opened' | 'unusable' | 'ended'>
}

/** The connection to one server that all callers share: opens and reopens it in the server's era and transport. */
export class SharedConnection {
  readonly #options: SharedConnectionOptions
  readonly #recovery: Recovery
  readonly #era: ServerEra
  readonly #transport = new TransportChoice()
  #connection: Connection | undefined
  #effective: EffectiveServer | undefined
  #opened: OpenedMessage | undefined
  #openedAtMs = 0
  #connectedBefore = false
  /** Counts starts and ends, so that late results of an earlier connection are recognized and dropped. */
  #turn = 0
  #attempting = false
  /** The module of the transport that it was last opened with. */
  #module: string | undefined
  #outdated = false
  #closing: Promise<void> = Promise.resolve()
  #retry: ReturnType<typeof setTimeout> | undefined

  constructor(options: SharedConnectionOptions) {
    this.#options = options
    this.#recovery = new Recovery(options.context.random)
    this.#era = new ServerEra(options.context, options.record().id)
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
    return this.#transport.other
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

  /** True when the transport's plugin was started anew since it was opened, as of the last authorization. */
  get outdated(): boolean {
    return this.#outdated
  }

  /** True when a connection is open or being opened. */
  get busy(): boolean {
    return this.#connection !== undefined || this.#attempting
  }

  /** Restores earlier findings that were stored with the lists. */
  restore(catalog: Pick<ServerCatalog, 'transport' | 'readAt'>): void {
    this.#transport.restore(catalog)
  }

  /** The configuration with the transport in effect. Throws HubError. */
  async configured(): Promise<EffectiveServer> {
    return this.#transport.apply(await this.#options.context.effective(this.#options.record().id))
  }

  /**
   * The same after all authorization checks. When its use is forbidden, `forbidden` is called with the reason and the
   * result is undefined. Throws HubError.
   */
  async authorize(forbidden: (reason: WireError) => void): Promise<EffectiveServer | undefined> {
    const turn = this.#turn
    try {
      const effective = await this.configured()
      const { module } = await this.#options.context.launcher.prepare(this.#options.record().id, effective)
      this.#outdated = this.#module !== undefined && this.#module !== module
      return effective
    } catch (error) {
      const reason = toWireError(error)
      if (!isFinal(reason.code)) throw error
      if (turn === this.#turn) forbidden(reason)
      return undefined
    }
  }

  /** The plan for opening another connection now. Throws HubError. */
  async plan(): Promise<LaunchPlan> {
    const { context, record } = this.#options
    const plan = await context.launcher.prepare(record().id, await this.configured())
    return context.launcher.ready(plan, () => true)
  }

  /** The next connection probes the server's era and transport again. */
  forget(): void {
    this.#era.forget()
    this.#transport.forget()
  }

  /** Earlier failures no longer count. */
  resetFailures(): void {
    this.#recovery.reset()
  }

  /** Opens it, and retries on failure. */
  open(): void {
    void this.#attempt()
  }

  /** Ends it, and all attempts. */
  close(reason: WireError): void {
    this.#turn += 1
    this.#attempting = false
    this.#clearRetry()
    const connection = this.#connection
    this.#connection = undefined
    const closing = [this.#closing, this.#era.abandon(reason)]
    if (connection) closing.push(connection.close(reason))
    // Without the values: each would reference the result before it, in an endless chain.
    this.#closing = Promise.all(closing).then(() => undefined)
  }

  /** Ends it because of what the server itself sent; a retry follows as after a failed attempt. */
  fail(reason: WireError): void {
    this.close(reason)
    this.#follow(this.#recovery.failed(reason))
  }

  /** Ends it, and reconnects with nothing remembered but the era. */
  restart(reason: WireError): void {
    this.close(reason)
    this.#recovery.reset()
    this.#transport.forget()
    void this.#attempt()
  }

  /** Periodic tick while it is open. True when the server supports something else now, so that a reconnect is due. */
  poll(nowMs: number): boolean {
    if (nowMs - this.#openedAtMs > RESET_MS) this.#recovery.markStable()
    if (this.#era.stale || this.#transport.stale) void this.ask()
    const { known } = this.#era
    const other = this.#opened && known !== undefined && known !== eraOf(this.#opened.protocolVersion)
    return other || this.#transport.outdated
  }

  /** Probes the era and transport again; the next tick acts on the result. */
  async ask(): Promise<void> {
    const { context, record } = this.#options
    const turn = this.#turn
    const still = (): boolean => turn === this.#turn
    const bySse = this.#transport.other !== undefined
    try {
      // A server used by SSE is probed for Streamable HTTP.
      const effective = await context.effective(record().id)
      const plan = await context.launcher.ready(await context.launcher.prepare(record().id, effective), still)
      if (!still()) return
      const era = await this.#era.decide(plan, effective.configHash, { afresh: true, still })
      if (bySse && still()) {
        const speaks = era === 'modern' || (await this.#speaks(plan))
        if (still()) this.#transport.asked(speaks)
      }
    } catch (error) {
      const { id: serverId, ownerId } = record()
      context.log.debug('What a server speaks could not be asked again', { serverId, ownerId, error: String(error) })
    }
  }

  /** Resolves when all its connections have ended. */
  async closed(): Promise<void> {
    await this.#closing
  }

  async #speaks(plan: LaunchPlan): Promise<boolean> {
    const probe = openProbe(this.#options.context.launcher, plan, 'legacy')
    const { kind } = await probe.outcome
    await probe.end({ code: 'stopped', message: 'The server has said which transport it speaks' })
    return kind === 'opened'
  }

  async #attempt(): Promise<void> {
    const { context, serverState, record, knownTools } = this.#options
    const { launcher } = context
    this.#turn += 1
    const turn = this.#turn
    const still = (): boolean => turn === this.#turn
    this.#attempting = true
    this.#clearRetry()
    const { reason: before } = serverState.now
    // A fault is shown until it is fixed; `stopped` and `idle` end with this start.
    const fault = before?.code !== 'stopped' && before?.code !== 'idle'
    serverState.become('connecting', this.#connectedBefore && fault ? before : undefined)
    let release: (() => void) | undefined
    try {
      await this.#closing
      const effective = await this.configured()
      const plan = await launcher.ready(await launcher.prepare(record().id, effective), still)
      release = await context.starts.acquire(record().ownerId)
      const era = still() ? await this.#era.decide(plan, effective.configHash, { still }) : 'legacy'
      const whole = still() ? await launcher.withDocument(plan) : plan
      if (!still()) {
        release()
        return
      }
      this.#effective = effective
      this.#module = plan.module
      this.#outdated = false
      this.#options.opening()
      this.#connection = launcher.launch(whole, {
        era,
        offers: listReaderCapabilities(effective.settings.session, this.#options.version()),
        knownTools: knownTools(),
        isolate: this.#recovery.alone,
        catalog: true,
        events: this.#events(turn, effective.configHash, release),
      })
      this.#attempting = false
    } catch (error) {
      release?.()
      if (still()) this.#follow(this.#recovery.failed(noted(this.#options.context.log, error)))
    }
  }

  #events(turn: number, configHash: string, release: () => void): ConnectionEvents {
    const current = (): boolean => turn === this.#turn
    const events = this.#options.events(configHash)
    return {
      ...events,
      opened: message => {
        release()
        if (current()) this.#onConnected(message)
      },
      unusable: () => {
        release()
        if (current()) this.#options.unusable()
      },
      ended: end => {
        if (current()) this.#ended(end)
      },
      health: report => {
        if (current()) events.health?.(report)
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

  #onConnected(message: OpenedMessage): void {
    const connection = this.#connection
    if (!connection) return
    this.#opened = message
    this.#openedAtMs = performance.now()
    this.#transport.opened()
    const again = this.#connectedBefore
    this.#connectedBefore = true
    this.#options.opened(connection, again)
  }

  #ended(given: ConnectionEnd): void {
    const { context, serverState, record } = this.#options
    this.#era.ended(given)
    const end = this.#era.explained(given)
    this.#connection = undefined
    this.#options.ended()
    const onlineMs = performance.now() - this.#openedAtMs
    const stderrTail = (): string => {
      const tail = context.children.stderr(record().id).slice(-5)
      return tail.length === 0 ? '' : `; it wrote: ${tail.map(({ line }) => line.slice(0, 200)).join(' | ')}`
    }
    const judged = this.#transport.ended(this.#effective?.settings, end)
    if (judged === 'retry') return this.#follow({ kind: 'now' })
    const verdict = this.#recovery.ended(judged, onlineMs, record().isolate, stderrTail)
    if (verdict.kind === 'now') serverState.become('connecting', end.reason)
    this.#follow(verdict)
  }

  #follow(verdict: Verdict): void {
    if (verdict.kind === 'now') {
      void this.#attempt()
      return
    }
    const { serverState, offline } = this.#options
    this.#attempting = false
    const { reason, delayMs } = verdict
    serverState.attempts += 1
    serverState.become('offline', reason, delayMs)
    offline(reason, delayMs !== undefined && delayMs <= NEAR_MS)
    if (delayMs === undefined) return
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      void this.#attempt()
    }, delayMs)
  }

  #clearRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }
}
