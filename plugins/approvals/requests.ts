import { randomUUID } from 'node:crypto'
import type { Credential, JsonObject, UserActor } from 'patchbay/contract'
import type { GatedCall } from 'patchbay/features'
import type { DecisionKeys, Decisions, KeptChange } from './decisions.ts'
import type { WantedAsk } from './policies.ts'
import type { ApprovalState, EndReason } from './types.ts'

/** Time for which a decision holds for the next equal call. */
const DECIDED_MS = 600_000

/** The fields of a request that do not change. */
export interface Asked extends DecisionKeys {
  readonly caller: UserActor
  readonly client: string
  readonly serverId: string
  /** `owner~name`. */
  readonly server: string
  readonly ownerId: string
  /** The path under `/mcp`; empty over REST. */
  readonly path: string
  /** The group of the path. */
  readonly group?: { readonly id: string; readonly ref: string }
  /** The name by which the tool was called. */
  readonly called: string
  /** The team that decides. */
  readonly teamId?: string
  /** The question is of one call alone, which waits for the answer: no later call uses it. */
  readonly isSingle: boolean
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
  reason: EndReason | undefined
  readonly #calls = new WeakSet<object>()
  readonly #callers = new Map<string, UserActor>()
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

  /** The caller, by each of the credentials with which it asked; the newest token of each. */
  get callers(): readonly UserActor[] {
    return [...this.#callers.values()]
  }

  /** Counts a call that waits, once. */
  join(call: Waiting): void {
    this.#callers.set(originOf(call.actor.credential), call.actor)
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

/** A call that waits. */
type Waiting = Pick<GatedCall, 'actor'>

/** Equal for all tokens of a sign-in or of a grant. */
function originOf(credential: Credential): string {
  switch (credential.kind) {
    case 'grant':
      return `grant ${credential.grantId}`
    case 'session':
      return `session ${credential.familyId}`
    case 'key':
      return `key ${credential.keyId}`
    case 'local':
      return 'local'
  }
}

/** A decision, or the lack of one. */
export interface Decided {
  readonly state: Exclude<ApprovalState, 'pending'>
  readonly by?: string
  readonly remember?: boolean
  readonly note?: string | undefined
  readonly reason?: EndReason | undefined
}

export interface RequestLimits {
  readonly perUser: number
  readonly inAll: number
}

/** Called when a request has begun, and when it ended; with the decision that it leaves. */
export type RequestChanged = (request: ApprovalRequest, change?: KeptChange) => void

/** The requests that wait. All of them end with the plugin, which is a no. */
export class Requests {
  readonly #limits: RequestLimits
  readonly #decisions: Decisions
  readonly #changed: RequestChanged
  readonly #pending = new Map<string, ApprovalRequest>()
  readonly #byId = new Map<string, ApprovalRequest>()

  constructor(limits: RequestLimits, decisions: Decisions, changed: RequestChanged) {
    this.#limits = limits
    this.#decisions = decisions
    this.#changed = changed
  }

  /** The request of equal calls. Undefined when too many wait. */
  open(asked: Asked, call: Waiting): ApprovalRequest | undefined {
    const known = this.#pending.get(asked.key)
    if (known) {
      known.join(call)
      return known
    }
    const ofUser = this.pending.filter(one => one.asked.caller.userId === asked.caller.userId)
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

  /** False when it was decided before: of several decisions, the first one counts. */
  decide(request: ApprovalRequest, { state, by, remember, note, reason }: Decided): boolean {
    const { asked } = request
    if (request.state !== 'pending') return false
    const nowMs = Date.now()
    this.#pending.delete(asked.key)
    this.#byId.delete(request.id)
    request.decidedBy = by
    request.decidedAtMs = nowMs
    request.note = note
    request.reason = reason
    const change = state === 'expired' ? undefined : this.#keep(request, state === 'approved', remember === true, nowMs)
    request.settle(state)
    this.#changed(request, change)
    return true
  }

  /** Ends what is over. */
  sweep(): void {
    const nowMs = Date.now()
    for (const request of this.pending) if (request.expiresAtMs <= nowMs) this.decide(request, { state: 'expired' })
    this.#decisions.forget(({ untilMs }) => untilMs <= nowMs)
  }

  /** Ends the requests that fit. */
  end(ends: (asked: Asked) => boolean, reason?: EndReason): void {
    for (const request of this.pending) if (ends(request.asked)) this.decide(request, { state: 'expired', reason })
  }

  /** The decision is for the next equal call, or is remembered where the rule allows that and there is room. */
  #keep({ id, asked }: ApprovalRequest, approved: boolean, remember: boolean, nowMs: number): KeptChange {
    const { key, lastingKey, caller, serverId, ask, isSingle } = asked
    const lasting = approved && remember && ask.rememberMs > 0 && this.#decisions.hasRoom
    return this.#decisions.add({
      ...{ approvalId: id, userId: caller.userId, serverId, approved, lasting },
      key: lasting ? lastingKey : key,
      stored: lasting || (approved && !isSingle),
      untilMs: nowMs + (lasting ? ask.rememberMs : DECIDED_MS),
    })
  }
}
