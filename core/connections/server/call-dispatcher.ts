import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { connectionKey, OLDER_CONNECTION } from '../../domain/session-scope.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { UpstreamRequest } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { Lost } from '../connection/connection-events.ts'
import { ConnectionSlot } from '../connection/connection-slot.ts'
import type { DrainingConnections } from '../connection/draining-connections.ts'
import type { LinkLimits } from '../protocol.ts'
import { DedicatedConnections } from './dedicated-connections.ts'
import { InputRounds } from './input-rounds.ts'
import type { LegacySide } from './legacy-side.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerState } from './server-state.ts'
import type { DedicatedConnectionsOptions, DedicatedTo } from './session-entry.ts'

/** Longest wait of a call for a connection that was open a moment ago. */
const RECONNECT_WAIT_MS = 5_000
/** Shortest time for which a call waits for a start, and the time beyond a start's deadline, in which its outcome arrives. */
const START_WAIT_MS = 35_000
const BEYOND_START_MS = 5_000
const NEAR_MS = 1_000
/**
 * Time for which an unsent call is kept from the connection that rejected it. A link whose server is gone or lost the session
 * rejects every call until it has ended, which takes less than this.
 */
const REFUSED_WAIT_MS = 500
/** Most times that a call may be dispatched to a connection that has just ended. */
const BOUNCES = 3

/** The parts of its server that a `CallDispatcher` uses. */
export interface CallDispatcherOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The configuration with the transport in effect. Throws HubError. */
  readonly effective: () => Promise<EffectiveServer>
  readonly serverState: ServerState
  readonly wanted: () => boolean
  /** True while callers with credentials of their own can use the server, and only its owner has none. */
  readonly forCallers: () => boolean
  /** The server requests that the server sends, as far as known. */
  readonly asking: ServerAsking
  /** The protocol version negotiated with the hub, as far as known. */
  readonly version: () => string
  readonly knownTools: () => string
  /**
   * Starts an attempt for a call to a server that sleeps or waits for its next one, at once or within a second; false:
   * calls start none.
   */
  readonly wake: () => boolean
  /** Deadline of the server's last start attempt, in milliseconds; 0 before the first. */
  readonly startTimeoutMs: () => number
  readonly answered: (call: PendingCall) => void
  /** Takes over connections with calls in flight when others replace them. */
  readonly draining: DrainingConnections
  readonly turns: DedicatedConnectionsOptions['turns']
  readonly older: Pick<LegacySide, 'spoken' | 'asking' | 'version' | 'events' | 'ended'>
  readonly protocol: DedicatedConnectionsOptions['protocol']
  readonly callers: DedicatedConnectionsOptions['callers']
}

/** Routes the calls to one server: to the shared connection or the caller's own, or to a queue until it is open. */
export class CallDispatcher {
  readonly base = new ConnectionSlot()
  readonly #options: CallDispatcherOptions
  readonly #sessions: DedicatedConnections
  readonly #rounds = new InputRounds(call => this.dispatch(call))
  #usedAtMs = 0

  constructor(options: CallDispatcherOptions) {
    this.#options = options
    this.#sessions = new DedicatedConnections({
      context: options.context,
      record: options.record,
      effective: options.effective,
      era: () => options.asking.era,
      version: options.version,
      online: () => this.base.connection !== undefined,
      forCallers: options.forCallers,
      protocol: options.protocol,
      knownTools: options.knownTools,
      input: (call, text) => this.input(call, text),
      lost: (call, how, reason) => this.lost(call, how, reason),
      answered: options.answered,
      asking: options.asking,
      older: options.older,
      callers: options.callers,
      draining: options.draining,
      turns: options.turns,
      shared: (call, reason) => this.#share(call, reason),
    })
  }

  /** Why some session uses the shared connection instead of a dedicated one; undefined if none does. */
  get refused(): string | undefined {
    return this.#sessions.refused
  }

  /** When the shared connection was last requested by a call (`performance.now()`). */
  get usedAtMs(): number {
    return this.#usedAtMs
  }

  dispatch(call: PendingCall): void {
    const { slot, key, shares } = this.#way(call)
    if (shares && this.#isMissing(call)) return call.failFor(shares)
    if (key === undefined) this.#usedAtMs = call.startedAtMs
    else this.#observeTrial(call, key)
    if (slot.connection) slot.connection.send(call)
    else this.#wait(slot, call, key)
  }

  /** Handles a call that got no response: it is sent again if that cannot repeat an action, otherwise it fails. */
  lost(call: PendingCall, how: Lost, { code, message }: WireError): void {
    const { wanted } = this.#options
    if (!wanted()) {
      call.fail(code, message)
    } else if (how === 'not-begun' && call.bounces < BOUNCES) {
      call.bounces += 1
      this.dispatch(call)
    } else if (how === 'not-sent' && !call.refused) {
      call.refused = true
      const { slot } = this.#way(call)
      if (slot.connection) slot.hold(call, REFUSED_WAIT_MS, () => this.dispatch(call))
      else this.dispatch(call)
    } else if (how === 'repaired' ? !call.repeated : how === 'begun' && call.mayRepeat) {
      call.repeated = true
      this.dispatch(call)
    } else {
      // Not repeated: a tools/call may have acted before the connection was lost, and MCP has no idempotency key.
      call.fail(code, message)
    }
  }

  /** The server requests input before it responds. */
  input(call: PendingCall, text: string): void {
    if (call.request.modern) call.finish({ kind: 'input_required', text })
    else this.#rounds.begin(call, text)
  }

  opened(connection: Connection): void {
    this.base.opened(connection)
    // The server's era is known only now, and it decides to which connection these calls belong.
    for (const call of this.#sessions.takeWaiting()) this.dispatch(call)
  }

  failWaiting(): void {
    const reason = this.#options.serverState.offlineError()
    this.base.failWaiting(reason)
    // Calls that waited for the shared connection, and have one of their own.
    if (this.#options.forCallers()) for (const call of this.#sessions.takeUnopened()) this.dispatch(call)
    this.#sessions.failUnopened(reason)
  }

  /** Sends a client's notification over the connection with this key; undefined: the shared one. */
  notify(key: string | undefined, method: string, params: JsonObject | undefined): void {
    if (key === undefined) this.base.connection?.notify(method, params)
    else this.#sessions.notify(key, method, params)
  }

  connectionOf(key: string | undefined): Connection | undefined {
    return (key === undefined ? this.base : this.#sessions.known(key))?.connection
  }

  /** Opens the connection of the legacy side, unless it is open or being opened. */
  openOlder(): void {
    this.#sessions.olderSlot()
    this.#sessions.open(OLDER_CONNECTION)
  }

  /** Opens the connection of a user, unless it is open or being opened. */
  openUser(key: string, userId: string, older: boolean): void {
    this.#sessions.openUser(key, userId, older)
  }

  /** Ends the connection with this key, if any. */
  end(key: string, reason: WireError): void {
    this.#sessions.end(key, reason)
  }

  /** Ends the connections of callers who may not use the server. */
  endForeign(mayUse: (userId: string) => boolean, reason: WireError): void {
    this.#sessions.endForeign(mayUse, reason)
  }

  /** Ids of the users with a dedicated connection. */
  users(): readonly string[] {
    return this.#sessions.users()
  }

  /** Numbers of open connections besides the shared one, by kind. */
  counts(): Readonly<Record<DedicatedTo['kind'], number>> {
    return this.#sessions.counts()
  }

  /** Ends all connections but the shared one at once, and all that drain. */
  closeSessions(reason: WireError): void {
    this.#sessions.closeAll(reason)
    this.#options.draining.close(reason)
  }

  /** Ends all connections but the shared one, each with its calls in flight. */
  drainSessions(reason: WireError): void {
    // The era of the server may be another one: what waits opens its connection after the shared one.
    this.base.connection = undefined
    for (const call of this.#sessions.drainAll(reason)) this.dispatch(call)
  }

  setLimits(limits: LinkLimits): void {
    this.base.connection?.setLimits(limits)
    this.#sessions.setLimits(limits)
  }

  tick(nowMs: number): void {
    this.#sessions.tick(nowMs)
  }

  /** Number of calls that are queued here, wait for input, or belong to dedicated connections. */
  inFlight(): number {
    return this.base.waiting + this.#sessions.inFlight() + this.#rounds.size
  }

  async dispose(): Promise<void> {
    await this.#sessions.dispose()
  }

  /** The slot of a call; `key` is set when it is not the shared one. */
  #way({ request }: PendingCall): {
    readonly slot: ConnectionSlot
    readonly key?: string
    readonly shares?: WireError
  } {
    const { session } = request
    const key = connectionKey(this.#options.record(), session, this.#asking(request))
    if (key === undefined) return { slot: this.base }
    if (key === OLDER_CONNECTION) return this.#older(request)
    const shares = this.#sessions.shares(key)
    if (shares) return this.#isOlder(request) ? { ...this.#older(request), shares } : { slot: this.base, shares }
    return { slot: this.#sessions.slot(key, session, request), key }
  }

  /** The slot of the shared connection of the legacy side. */
  #older(request: UpstreamRequest): { readonly slot: ConnectionSlot; readonly key: string } {
    this.#sessions.olderSlot()
    return { slot: this.#sessions.slot(OLDER_CONNECTION, undefined, request), key: OLDER_CONNECTION }
  }

  #isOlder({ older = false }: UpstreamRequest): boolean {
    return older && this.#options.older.spoken
  }

  /** Findings about server requests, for the protocol era of a request. */
  #asking(request: UpstreamRequest): ServerAsking {
    return this.#isOlder(request) ? this.#options.older.asking : this.#options.asking
  }

  /** Records the answer of a tool to a caller on whose connection it is tried for server requests. */
  #observeTrial({ request, reply }: PendingCall, key: string): void {
    const { session, method, params } = request
    const { trials, fragile } = this.#asking(request)
    const tool = params?.name
    if (fragile) void reply.then(() => queueMicrotask(() => this.#sessions.endTurn(key)))
    if (method !== 'tools/call' || typeof tool !== 'string' || !session || !trials.has(session.id)) return
    void reply.then(answer => {
      const own = trials.has(session.id)
      trials.ended(session, tool, own && answer.kind === 'result' && !answer.isError)
    })
  }

  #share(call: PendingCall, reason: WireError): void {
    if (this.#isMissing(call)) call.failFor(reason)
    else this.dispatch(call)
  }

  /** True for a tool that the server lists only on a dedicated connection. */
  #isMissing({ request }: PendingCall): boolean {
    const { method, params } = request
    return (
      method === 'tools/call' && typeof params?.name === 'string' && this.#asking(request).tools.includes(params.name)
    )
  }

  #wait(slot: ConnectionSlot, call: PendingCall, key: string | undefined): void {
    const { serverState } = this.#options
    // True as soon as the server is connected, before its lists are read.
    const isReady = this.base.connection !== undefined || (key !== OLDER_CONNECTION && this.#options.forCallers())
    const opensOwn = key !== undefined && isReady
    const limitMs = opensOwn ? this.#startWaitMs() : this.#waitMs(call)
    if (limitMs === undefined) {
      call.failFor(serverState.offlineError())
      return
    }
    slot.wait(call, limitMs, () => serverState.offlineError())
    if (opensOwn) this.#sessions.open(key)
  }

  /** Longest wait of a call for the start attempt that it triggers, in milliseconds; undefined: calls do not trigger one. */
  #waitMs({ repeated, refused }: PendingCall): number | undefined {
    const { serverState, wanted, wake } = this.#options
    if (serverState.now.state !== 'offline') return this.#startWaitMs()
    if (wanted() && wake()) return this.#startWaitMs()
    const { nextAttemptAtMs } = serverState.now
    const inMs = nextAttemptAtMs === undefined ? Number.POSITIVE_INFINITY : nextAttemptAtMs - Date.now()
    return inMs <= (repeated || refused ? RECONNECT_WAIT_MS : NEAR_MS) ? RECONNECT_WAIT_MS : undefined
  }

  /** Longest wait for the start that is in progress, or begins. */
  #startWaitMs(): number {
    return Math.max(START_WAIT_MS, this.#options.startTimeoutMs() + BEYOND_START_MS)
  }
}
