import type { JsonObject } from 'patchbay/contract'
import type { BridgeEndpoint } from 'patchbay/features'
import type { Clock } from './clock.ts'
import type { MessageLog } from './message-log.ts'
import type { Offered } from './offered.ts'

/** State of an endpoint's link. */
export type State = 'waiting' | 'dialling' | 'connected' | 'backing_off' | 'refused' | 'replaced'

/** Why it is not connected. `message`: for people. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** The state of one link, as its owner sees it. */
export class LinkState {
  readonly #endpoint: BridgeEndpoint
  readonly #clock: Clock
  readonly #log: MessageLog
  #state: State = 'waiting'
  #since: string
  #reason: Reason | undefined
  #nextTryAt: string | undefined
  #reported: string | undefined
  closeCode: number | undefined
  connects = 0
  latencyMs: number | undefined

  constructor(endpoint: BridgeEndpoint, clock: Clock, log: MessageLog) {
    this.#endpoint = endpoint
    this.#clock = clock
    this.#log = log
    this.#since = clock.time()
  }

  get state(): State {
    return this.#state
  }

  set(state: State, reason?: Reason, nextTryMs?: number): void {
    if (state !== this.#state) this.#since = this.#clock.time()
    this.#state = state
    this.#reason = reason
    this.#nextTryAt = nextTryMs === undefined ? undefined : this.#clock.time(nextTryMs)
    if (state === 'connected') this.connects += 1
    this.#report(state === 'connected' ? state : reason?.code, reason)
    this.#endpoint.stateChanged()
  }

  /** Reports a state once until it changes: a platform that is unreachable for a day is not reported with each attempt. */
  #report(what: string | undefined, reason: Reason | undefined): void {
    if (what === undefined || what === this.#reported) return
    this.#reported = what
    if (reason) this.#endpoint.report('warn', `The assistant endpoint is not connected: ${reason.message}`)
    else this.#endpoint.report('info', 'The assistant endpoint is connected')
  }

  view(callsInFlight: number, offered: Offered | undefined): JsonObject {
    const { lastAt } = this.#log
    return {
      ...{ state: this.#state, since: this.#since, ...this.#reason },
      ...(this.#nextTryAt === undefined ? {} : { nextTryAt: this.#nextTryAt }),
      ...(this.closeCode === undefined ? {} : { closeCode: this.closeCode }),
      ...{ connects: this.connects, callsInFlight },
      ...(offered ? { tools: [...offered.names], leftOut: [...offered.leftOut] } : {}),
      ...(lastAt === undefined ? {} : { lastMessageAt: lastAt }),
      ...(this.latencyMs === undefined ? {} : { latencyMs: this.latencyMs }),
    }
  }
}
