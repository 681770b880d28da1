import type { WireError } from '../../contract/errors.ts'
import type { ServerRecord } from '../../contract/records.ts'
import { connectionKey, OLDER_CONNECTION } from '../../domain/session-scope.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { UpstreamRequest } from '../api.ts'
import type { PendingCall } from '../connection/call.ts'
import type { Connection } from '../connection/connection.ts'
import type { Lost } from '../connection/connection-events.ts'
import type { LinkLimits } from '../protocol.ts'
import { ConnectionSlot } from './connection-slot.ts'
import { DedicatedConnections, type LaneOwner } from './dedicated-connections.ts'
import { InputRounds } from './input-rounds.ts'
import type { OlderFace } from './older-face.ts'
import type { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import type { ServerState } from './server-state.ts'

/** How long a call waits for a connection that was there a moment ago. */
const RECONNECT_WAIT_MS = 5_000
/** How long for one that nobody could expect to be there: longer than any start may take. */
const FIRST_START_WAIT_MS = 35_000
const NEAR_MS = 1_000
/**
 * How long a call that was not sent stays away from the connection that refused it. Longer than a link takes to end whose
 * server is gone or has forgotten the session: until then it refuses whatever comes.
 */
const REFUSED_WAIT_MS = 500
/** How often a call may meet connections that have just ended. */
const BOUNCES = 3

export interface ServerLanesOptions {
  readonly context: ServerContext
  readonly record: () => ServerRecord
  /** The configuration with the transport in effect. */
  readonly effective: () => Promise<EffectiveServer>
  readonly serverState: ServerState
  readonly wanted: () => boolean
  /** What the server speaks and asks, as far as is known. */
  readonly asking: ServerAsking
  /** The version that it speaks with the hub, as far as is known. */
  readonly version: () => string
  readonly knownTools: () => string
  /** A call came for a sleeping server. */
  readonly wake: () => void
  readonly answered: (call: PendingCall) => void
  readonly older: Pick<OlderFace, 'spoken' | 'asking' | 'version' | 'events' | 'ended'>
}

/** Where the calls to one server go: the shared connection or the caller's own, or a place to wait for it. */
export class CallDispatcher {
  readonly base = new ConnectionSlot()
  readonly #options: ServerLanesOptions
  readonly #sessions: DedicatedConnections
  readonly #rounds = new InputRounds(call => this.dispatch(call))
  #usedAtMs = 0

  constructor(options: ServerLanesOptions) {
    this.#options = options
    this.#sessions = new DedicatedConnections({
      context: options.context,
      record: options.record,
      effective: options.effective,
      era: () => options.asking.era,
      version: options.version,
      online: () => this.base.connection !== undefined,
      knownTools: options.knownTools,
      input: (call, text) => this.input(call, text),
      lost: (call, how, reason) => this.lost(call, how, reason),
      answered: options.answered,
      asking: options.asking,
      older: options.older,
      shared: (call, reason) => this.#share(call, reason),
    })
  }

  /** Why some session shares the connection that should not, if so. */
  get refused(): string | undefined {
    return this.#sessions.refused
  }

  /** When the last call came for the shared connection (`performance.now()`). */
  get usedAtMs(): number {
    return this.#usedAtMs
  }

  dispatch(call: PendingCall): void {
    const { slot, key, shares } = this.#way(call)
    if (shares && this.#isMissing(call)) return call.failFor(shares)
    if (key === undefined) this.#usedAtMs = call.startedAtMs
    if (slot.connection) slot.connection.send(call)
    else this.#wait(slot, call, key)
  }

  /** A call came back unanswered: it is sent again where that cannot do anything twice. */
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

  /** The server wants to hear more before it answers. */
  input(call: PendingCall, text: string): void {
    if (call.request.modern) call.finish({ kind: 'input_required', text })
    else this.#rounds.begin(call, text)
  }

  opened(connection: Connection): void {
    this.base.opened(connection)
    // Only now is it known which era the server speaks, on which it depends where these belong.
    for (const call of this.#sessions.takeWaiting()) this.dispatch(call)
  }

  failWaiting(): void {
    this.base.failWaiting(this.#options.serverState.offlineError())
  }

  connectionOf(key: string | undefined): Connection | undefined {
    return (key === undefined ? this.base : this.#sessions.known(key))?.connection
  }

  /** Opens the connection of the older face, unless it is open or on its way. */
  openOlder(): void {
    this.#sessions.olderSlot()
    this.#sessions.open(OLDER_CONNECTION)
  }

  /** Ends the connection of this key, if there is one. */
  end(key: string, reason: WireError): void {
    this.#sessions.end(key, reason)
  }

  /** Ends the connections of callers who may not use the server. */
  endForeign(mayUse: (userId: string) => boolean, reason: WireError): void {
    this.#sessions.endForeign(mayUse, reason)
  }

  /** Users that have a connection of their own. */
  users(): readonly string[] {
    return this.#sessions.users()
  }

  /** Open connections besides the shared one. */
  counts(): Readonly<Record<LaneOwner['kind'], number>> {
    return this.#sessions.counts()
  }

  closeSessions(reason: WireError): void {
    this.#sessions.closeAll(reason)
  }

  setLimits(limits: LinkLimits): void {
    this.base.connection?.setLimits(limits)
    this.#sessions.setLimits(limits)
  }

  tick(nowMs: number): void {
    this.#sessions.tick(nowMs)
  }

  /** Calls that wait here or for their callers, and those of the sessions. */
  inFlight(): number {
    return this.base.waiting + this.#sessions.inFlight() + this.#rounds.size
  }

  async dispose(): Promise<void> {
    await this.#sessions.dispose()
  }

  /** The lane of a call; `key` when it is not the shared one. */
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

  /** Where all go who share the older side. */
  #older(request: UpstreamRequest): { readonly slot: ConnectionSlot; readonly key: string } {
    this.#sessions.olderSlot()
    return { slot: this.#sessions.slot(OLDER_CONNECTION, undefined, request), key: OLDER_CONNECTION }
  }

  #isOlder({ older = false }: UpstreamRequest): boolean {
    return older && this.#options.older.spoken
  }

  /** What is known of the side that a request is for. */
  #asking(request: UpstreamRequest): ServerAsking {
    return this.#isOlder(request) ? this.#options.older.asking : this.#options.asking
  }

  #share(call: PendingCall, reason: WireError): void {
    if (this.#isMissing(call)) call.failFor(reason)
    else this.dispatch(call)
  }

  /** A tool that the server has only on a connection of the session's own. */
  #isMissing({ request }: PendingCall): boolean {
    const { method, params } = request
    return (
      method === 'tools/call' && typeof params?.name === 'string' && this.#asking(request).tools.includes(params.name)
    )
  }

  #wait(slot: ConnectionSlot, call: PendingCall, key: string | undefined): void {
    const { serverState, record, wanted, wake } = this.#options
    const { state, reason, nextAttemptAtMs } = serverState.now
    // As soon as it answers, before its lists are read.
    const reachable = this.base.connection !== undefined
    const waitMs = (): number | undefined => {
      if (reachable && key !== undefined) return FIRST_START_WAIT_MS
      if (state !== 'offline') return record().start === 'lazy' ? FIRST_START_WAIT_MS : RECONNECT_WAIT_MS
      if (reason?.code === 'idle' && wanted()) return FIRST_START_WAIT_MS
      const inMs = nextAttemptAtMs === undefined ? Number.POSITIVE_INFINITY : nextAttemptAtMs - Date.now()
      return inMs <= (call.repeated || call.refused ? RECONNECT_WAIT_MS : NEAR_MS) ? RECONNECT_WAIT_MS : undefined
    }
    const limitMs = waitMs()
    if (limitMs === undefined) {
      call.failFor(serverState.offlineError())
      return
    }
    slot.wait(call, limitMs, () => serverState.offlineError())
    if (state === 'offline' && reason?.code === 'idle') wake()
    else if (reachable && key !== undefined) this.#sessions.open(key)
  }
}
