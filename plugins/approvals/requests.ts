import { randomUUID } from 'node:crypto'
import type { JsonObject } from 'patchbay/contract'
import type { WantedAsk } from './policies.ts'
import type { ApprovalState } from './types.ts'

/** Time for which a decision holds for the next equal call. */
const DECIDED_MS = 600_000
/** Calls that are allowed without a question, of one user and of all. */
const MOST_REMEMBERED = 200
const MOST_REMEMBERED_IN_ALL = 5_000

/** The fields of a request that do not change. */
export interface Asked {
  /** Equal for equal calls: who calls, where, the tool and its definition, the arguments, the rule. */
  readonly key: string
  readonly callerId: string
  readonly caller: string
  readonly client: string
  readonly serverId: string
  readonly server: string
  readonly tool: string
  readonly ask: WantedAsk
  /** As the one who decides may see them. */
  readonly shown: JsonObject
}

/** A request for a decision. */
export class ApprovalRequest {
  readonly id = randomUUID()
  readonly asked: Asked
  readonly createdAtMs: number
  readonly expiresAtMs: number
  count = 0
  state: ApprovalState = 'pending'
  decidedBy: string | undefined
  decidedAtMs: number | undefined
  note: string | undefined
  readonly #calls = new WeakSet<object>()
  readonly #settled = Promise.withResolvers<void>()
  readonly #withdrawn = new AbortController()

  constructor(asked: Asked, nowMs: number) {
    this.asked = asked
    this.createdAtMs = nowMs
    this.expiresAtMs = nowMs + asked.ask.timeoutMs
  }

  /** Aborts with the decision. */
  get signal(): AbortSignal {
    return this.#withdrawn.signal
  }

  /** Counts a call that waits, once. */
  join(call: object): void {
    if (this.#calls.has(call)) return
    this.#calls.add(call)
    this.count += 1
  }

  settle(state: Exclude<ApprovalState, 'pending'>): void {
    this.state = state
    this.#settled.resolve()
    this.#withdrawn.abort()
  }

  /** Resolves with the decision, after `ms`, or when the signal aborts. */
  async settled(ms: number, signal: AbortSignal): Promise<void> {
    if (this.state !== 'pending' || signal.aborted) return
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, ms)
    const left = () => over.resolve()
    signal.addEventListener('abort', left, { once: true })
    try {
      await Promise.race([this.#settled.promise, over.promise])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', left)
    }
  }
}

/** A decision, or the lack of one. */
export interface Decided {
  readonly state: Exclude<ApprovalState, 'pending'>
  readonly by?: string
  readonly remember?: boolean
  readonly note?: string | undefined
}

interface Held {
  readonly approved: boolean
  readonly untilMs: number
}

export interface RequestLimits {
  readonly perUser: number
  readonly inAll: number
}

/** The requests that wait, and decisions that no call has used yet. All of it ends with the plugin, which is a no to all that wait. */
export class Requests {
  readonly #limits: RequestLimits
  readonly #changed: (request: ApprovalRequest) => void
  readonly #pending = new Map<string, ApprovalRequest>()
  readonly #byId = new Map<string, ApprovalRequest>()
  readonly #decisions = new Map<string, Held>()
  /** The end of each yes that a call has taken and may give back. */
  readonly #taken = new Map<string, number>()
  readonly #remembered = new Map<string, { readonly userId: string; readonly untilMs: number }>()

  /** `changed`: called when a request has begun, and when it was decided. */
  constructor(limits: RequestLimits, changed: (request: ApprovalRequest) => void) {
    this.#limits = limits
    this.#changed = changed
  }

  /** Takes the decision for one equal call: undefined while there is none. A yes is taken once. */
  take(key: string): 'approved' | 'denied' | undefined {
    const nowMs = Date.now()
    const remembered = this.#remembered.get(key)
    if (remembered && remembered.untilMs > nowMs) return 'approved'
    this.#remembered.delete(key)
    const held = this.#decisions.get(key)
    if (!held) return undefined
    this.#decisions.delete(key)
    if (held.untilMs <= nowMs) return undefined
    if (!held.approved) return 'denied'
    this.#taken.set(key, held.untilMs)
    return 'approved'
  }

  /** The call that took a yes was not sent, or its server wants the same call again. The yes ends when it would have. */
  giveBack(key: string): void {
    const untilMs = this.#taken.get(key)
    this.#taken.delete(key)
    if (untilMs !== undefined) this.#decisions.set(key, { approved: true, untilMs })
  }

  /** The request of equal calls. Undefined when too many wait. */
  open(asked: Asked, call: object): ApprovalRequest | undefined {
    const known = this.#pending.get(asked.key)
    if (known) {
      known.join(call)
      return known
    }
    const ofUser = [...this.#pending.values()].filter(one => one.asked.callerId === asked.callerId)
    if (ofUser.length >= this.#limits.perUser || this.#pending.size >= this.#limits.inAll) return undefined
    const request = new ApprovalRequest(asked, Date.now())
    request.join(call)
    this.#pending.set(asked.key, request)
    this.#byId.set(request.id, request)
    this.#changed(request)
    return request
  }

  byId(id: string): ApprovalRequest | undefined {
    return this.#byId.get(id)
  }

  get pending(): readonly ApprovalRequest[] {
    return [...this.#pending.values()]
  }

  /** False when it was decided before. */
  decide(request: ApprovalRequest, { state, by, remember, note }: Decided): boolean {
    const { asked } = request
    if (request.state !== 'pending') return false
    const nowMs = Date.now()
    this.#pending.delete(asked.key)
    this.#byId.delete(request.id)
    request.decidedBy = by
    request.decidedAtMs = nowMs
    request.note = note
    const isRemembered = state === 'approved' && remember === true && this.#remember(asked, nowMs)
    if (state !== 'expired' && !isRemembered)
      this.#decisions.set(asked.key, { approved: state === 'approved', untilMs: nowMs + DECIDED_MS })
    request.settle(state)
    this.#changed(request)
    return true
  }

  /** Ends what is over. */
  sweep(): void {
    const nowMs = Date.now()
    for (const request of this.pending) if (request.expiresAtMs <= nowMs) this.decide(request, { state: 'expired' })
    for (const [key, { untilMs }] of this.#decisions) if (untilMs <= nowMs) this.#decisions.delete(key)
    for (const [key, untilMs] of this.#taken) if (untilMs <= nowMs) this.#taken.delete(key)
    for (const [key, { untilMs }] of this.#remembered) if (untilMs <= nowMs) this.#remembered.delete(key)
  }

  /** Ends the requests that fit. */
  end(ends: (asked: Asked) => boolean): void {
    for (const request of this.pending) if (ends(request.asked)) this.decide(request, { state: 'expired' })
  }

  /** False when the rule allows no such yes, or too many are remembered. */
  #remember({ key, callerId, ask }: Asked, nowMs: number): boolean {
    if (ask.rememberMs === 0) return false
    const ofUser = [...this.#remembered].filter(([, { userId }]) => userId === callerId)
    const oldest = ofUser.length >= MOST_REMEMBERED ? ofUser[0]?.[0] : undefined
    if (oldest !== undefined) this.#remembered.delete(oldest)
    if (this.#remembered.size >= MOST_REMEMBERED_IN_ALL) return false
    this.#remembered.set(key, { userId: callerId, untilMs: nowMs + ask.rememberMs })
    return true
  }
}
