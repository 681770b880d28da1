import { HubError, type JsonObject } from 'patchbay/contract'
import type { BridgeEndpoint, BridgeLink, BridgeSocket, BridgeTestStep } from 'patchbay/features'
import type { Clock } from './clock.ts'
import { Conversation } from './conversation.ts'
import type { DialGate } from './dial-gate.ts'
import { LinkState } from './link-state.ts'
import { Liveness } from './liveness.ts'
import { MessageLog } from './message-log.ts'
import { EndpointTools } from './tools.ts'
import { type TrialParts, testEndpoint } from './trial.ts'

const FIRST_LISTS_MS = 10_000
const FIRST_DELAY_MS = 1_000
const MOST_DELAY_MS = 60_000
/** Duration after which a connection counts as successful, in milliseconds. */
const GOOD_MS = 60_000
const REFUSED_MS = 10 * 60_000
const IN_USE_MS = 60_000
const REPLACED_TWICE_MS = 10_000
const CALLS_BEFORE_REDIAL_MS = 5 * 60_000
const CODES = { normal: 1000, goingAway: 1001, policy: 1008, replaced: 4001 } as const

/** Why a test does not dial. */
const LIVE: Readonly<Record<string, NonNullable<TrialParts['live']>>> = {
  connected: {
    code: 'connected_already',
    detail: 'The platform is connected; a second connection is never opened beside it',
  },
  dialling: { code: 'dialling', detail: 'The hub is dialling the platform now; try again when it has an outcome' },
}

/** Reason why a connection ended, or was not made. */
type End =
  | { readonly kind: 'redial' }
  | { readonly kind: 'closed'; readonly code: number | undefined; readonly heldMs: number }
  | { readonly kind: 'failed'; readonly error: unknown }

/** An endpoint to which the hub keeps connecting. */
export class OutboundLink implements BridgeLink {
  readonly #endpoint: BridgeEndpoint
  readonly #clock: Clock
  readonly #gate: DialGate
  readonly #log = new MessageLog()
  readonly #state: LinkState
  readonly #running: Promise<void>
  #stop: { readonly code: number; readonly graceMs: number } | undefined
  /** Ends the wait of the link. */
  #interrupt: ((end: End) => void) | undefined
  #failures = 0
  #replacedMs = Number.NEGATIVE_INFINITY
  #conversation: Conversation | undefined
  #tools: EndpointTools | undefined
  /** A test that dials by itself: the link waits until it is over. */
  #testing: Promise<readonly BridgeTestStep[]> | undefined
  readonly #stopped = new AbortController()

  constructor(endpoint: BridgeEndpoint, clock: Clock, gate: DialGate) {
    this.#endpoint = endpoint
    this.#clock = clock
    this.#gate = gate
    this.#state = new LinkState(endpoint, clock, this.#log)
    this.#running = this.#run()
  }

  /** Closes the socket: an outbound endpoint accepts no connections. */
  accept(socket: BridgeSocket): ReturnType<BridgeLink['accept']> {
    socket.close(CODES.policy)
    return { message() {}, alive() {}, closed() {} }
  }

  reconnect(): void {
    this.#failures = 0
    this.#interrupt?.({ kind: 'redial' })
  }

  status(): JsonObject {
    return this.#state.view(this.#conversation?.callsInFlight ?? 0, this.#tools?.offered)
  }

  messages(): readonly JsonObject[] {
    return this.#log.list()
  }

  /** Beside an open connection, or one that is being opened, it does not dial. A second one meanwhile is the same. */
  test(): Promise<readonly BridgeTestStep[]> {
    if (this.#testing !== undefined) return this.#testing
    const { state } = this.#state
    const live = LIVE[state] === undefined ? {} : { live: LIVE[state] }
    const [endpoint, clock, gate, { signal }] = [this.#endpoint, this.#clock, this.#gate, this.#stopped]
    const testing = testEndpoint({ endpoint, clock, gate, signal, ...live }).finally(() => {
      if (this.#testing === testing) this.#testing = undefined
    })
    this.#testing = testing
    return testing
  }

  async close(code: number, graceMs: number): Promise<void> {
    this.#stop ??= { code, graceMs }
    this.#stopped.abort()
    this.#interrupt?.({ kind: 'redial' })
    await this.#running
  }

  async #run(): Promise<void> {
    // The caller has this object before anything is reported of it.
    await Promise.resolve()
    while (!this.#stop) {
      const end = await this.#once()
      if (this.#stop) return
      const waitMs = this.#next(end)
      if (waitMs > 0) await this.#interruptible(waitMs)
    }
  }

  /** One connection, from reading the tools to its end. */
  async #once(): Promise<End> {
    const { promise: interrupted, resolve } = Promise.withResolvers<End>()
    this.#interrupt = resolve
    const tools = new EndpointTools(this.#endpoint, this.#clock, {
      changed: () => void this.#toolsChanged(),
      ended: () => resolve({ kind: 'redial' }),
    })
    this.#tools = tools
    const dialling = new AbortController()
    try {
      this.#state.set('waiting')
      const ready = await Promise.race([this.#toolsKnown(tools), interrupted])
      if (ready) return ready
      const leave = await this.#turn(interrupted)
      if (typeof leave !== 'function') return leave
      this.#state.set('dialling')
      return await this.#connected(tools, interrupted, dialling.signal, leave)
    } catch (error) {
      return { kind: 'failed', error }
    } finally {
      this.#interrupt = undefined
      this.#conversation = undefined
      dialling.abort()
      tools.close()
    }
  }

  /**
   * Waits for the turn to connect; resolves with the function that ends the turn, or with the reason to stop. A running test
   * delays it.
   */
  async #turn(interrupted: Promise<End>): Promise<End | (() => void)> {
    for (;;) {
      const tested = await Promise.race([Promise.resolve(this.#testing).then(() => undefined), interrupted])
      if (tested) return tested
      const entering = this.#gate.enter()
      const leave = await Promise.race([entering, interrupted])
      if (typeof leave !== 'function') {
        void entering.then(late => late())
        return leave
      }
      if (this.#testing === undefined) return leave
      leave()
    }
  }

  /** Dials when the tools are known, or 10 s later: platforms read them once, when they are connected. */
  async #toolsKnown(tools: EndpointTools): Promise<undefined> {
    await tools.open()
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(FIRST_LISTS_MS, resolve)
    // An error in a list is reported to the assistant that requests it.
    await Promise.race([promise, tools.read().catch(() => undefined)])
    cancel()
    return undefined
  }

  async #connected(
    tools: EndpointTools,
    interrupted: Promise<End>,
    signal: AbortSignal,
    leave: () => void,
  ): Promise<End> {
    const { promise: closed, resolve } = Promise.withResolvers<End>()
    const startedMs = this.#clock.now()
    let conversation: Conversation | undefined
    let liveness: Liveness | undefined
    const early: string[] = []
    const dialled = this.#endpoint.dial(
      {
        message: text => (conversation ? conversation.message(text) : early.push(text)),
        alive: () => liveness?.heard(),
        closed: code => resolve({ kind: 'closed', code, heldMs: this.#clock.now() - startedMs }),
      },
      signal,
    )
    const socket = await Promise.race([dialled, interrupted]).finally(leave)
    if ('kind' in socket) {
      dialled.then(
        late => late.close(CODES.normal),
        () => undefined,
      )
      return socket
    }
    conversation = new Conversation({ endpoint: this.#endpoint, socket, tools, clock: this.#clock, log: this.#log })
    this.#conversation = conversation
    this.#state.latencyMs = undefined
    const silent = () => resolve({ kind: 'closed', code: undefined, heldMs: this.#clock.now() - startedMs })
    liveness = new Liveness(this.#clock, socket, silent, ms => {
      this.#state.latencyMs = ms
    })
    this.#state.set('connected')
    for (const text of early) conversation.message(text)
    const end = await Promise.race([closed, interrupted])
    liveness.end()
    if (this.#stop) await Promise.race([conversation.idle(this.#stop.graceMs), closed])
    conversation.end()
    socket.close(this.#stop?.code ?? (end.kind === 'closed' ? CODES.goingAway : CODES.normal))
    return end
  }

  /** Such platforms read the tools again only after connecting, so it reconnects once no call is in flight. */
  async #toolsChanged(): Promise<void> {
    const conversation = this.#conversation
    if (!conversation) return
    conversation.toolsChanged()
    await conversation.idle(CALLS_BEFORE_REDIAL_MS)
    if (this.#conversation === conversation) this.#interrupt?.({ kind: 'redial' })
  }

  /** Sets the state after a connection, and returns the time to wait in milliseconds. */
  #next(end: End): number {
    if (end.kind === 'redial') return 0
    if (end.kind === 'failed') return this.#afterFailure(end.error)
    this.#state.closeCode = end.code
    if (end.heldMs >= GOOD_MS) this.#failures = 0
    if (end.code === CODES.policy) return this.#refused('The platform closed the connection with 1008')
    if (end.code === CODES.replaced) {
      const nowMs = this.#clock.now()
      const isAgain = nowMs - this.#replacedMs <= REPLACED_TWICE_MS
      this.#replacedMs = nowMs
      if (isAgain) {
        const reason = { code: 'endpoint_in_use', message: 'Another one uses the same address' }
        this.#state.set('replaced', reason, IN_USE_MS)
        return IN_USE_MS
      }
    }
    const how = end.code === undefined ? 'was lost' : `was closed with ${end.code}`
    return this.#backOff({ code: 'connection_lost', message: `The connection ${how}` })
  }

  #afterFailure(error: unknown): number {
    if (!(error instanceof HubError)) return this.#backOff({ code: 'internal', message: 'The hub could not dial' })
    const { code, message } = error
    if (code === 'authorization_required') return this.#refused('The platform refuses the token of the address')
    if (error.status === 404 || code === 'owner_disabled' || code === 'url_address_blocked') {
      const waitMs = this.#delay()
      this.#state.set('refused', { code, message }, waitMs)
      return waitMs
    }
    return this.#backOff({ code, message })
  }

  #refused(message: string): number {
    this.#state.set('refused', { code: 'token_refused', message }, REFUSED_MS)
    return REFUSED_MS
  }

  #backOff(reason: { readonly code: string; readonly message: string }): number {
    const waitMs = this.#delay()
    this.#state.set('backing_off', reason, waitMs)
    return waitMs
  }

  /** With full jitter, so that many endpoints do not dial together after a platform was away. */
  #delay(): number {
    const most = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(this.#failures, 10))
    this.#failures += 1
    return most * this.#clock.random()
  }

  async #interruptible(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#interrupt = resolve
    const cancel = this.#clock.after(ms, () => resolve(undefined))
    await promise
    cancel()
    this.#interrupt = undefined
  }
}
