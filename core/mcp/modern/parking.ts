import { createHash, randomBytes } from 'node:crypto'
import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { UserActor } from '../../contract/records.ts'
import type { Sealer } from '../call/pages.ts'
import { isPlainObject } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'

const PURPOSE = 'mcp-request-state'

/** A request of a modern client that waits for its retry. */
export interface Parkable {
  readonly actor: UserActor
  readonly principal: string
  readonly scope: Scope
  /** The server whose requests the client answers. */
  readonly serverId: string
  readonly method: string
  /** Without `_meta`, `requestState` and `inputResponses`. */
  readonly params: JsonObject | undefined
  /** Called when it was not retried in time. */
  expired(): void
}

/** The fields of a retry that must equal those of the parked request. */
export type Retry = Pick<Parkable, 'principal' | 'scope' | 'method' | 'params'>

interface Entry<Call extends Parkable> {
  readonly call: Call
  readonly digest: string
  readonly expiresAtMs: number
}

/**
 * Requests of modern clients that wait for the client's input. The client holds only a sealed state, which is valid
 * once, for one request of the same principal, at the same scope, with the same parameters.
 */
export class Parking<Call extends Parkable> {
  readonly #sealer: Sealer
  readonly #now: () => number
  readonly #parked = new Map<string, Entry<Call>>()

  constructor(sealer: Sealer, now: () => number) {
    this.#sealer = sealer
    this.#now = now
  }

  /** Returns the state that the retry must send; undefined when too many of this user, or of all, are parked. */
  park(call: Call): string | undefined {
    if (this.#parked.size >= LIMITS.parkedCalls) return undefined
    if (this.countOf(call.actor.userId) >= LIMITS.parkedCallsPerUser) return undefined
    const id = randomBytes(12).toString('base64url')
    const digest = digestOf(call.params)
    const expiresAtMs = Math.round(this.#now() + LIMITS.parkedMs)
    this.#parked.set(id, { call, digest, expiresAtMs })
    const { principal, scope, serverId, method } = call
    return this.#sealer.sealToken(
      PURPOSE,
      JSON.stringify([id, principal, scope.key, serverId, method, digest, expiresAtMs]),
    )
  }

  countOf(userId: string): number {
    let count = 0
    for (const { call } of this.#parked.values()) if (call.actor.userId === userId) count += 1
    return count
  }

  /** The parked call of a state; `take` removes it. Throws request_state_invalid for every invalid state. */
  find(state: JsonValue, retry: Retry): Call {
    const found = this.#parked.get(this.#open(state, retry) ?? '')
    if (!found || !retry.scope.has(found.call.serverId))
      throw new HubError(
        'request_state_invalid',
        'The requestState stands for nothing: it was used, has expired, was changed, or belongs to another request',
        { hint: 'Send the request again without requestState.' },
      )
    return found.call
  }

  /** Removes a call; false when it is not parked. */
  take(call: Call): boolean {
    for (const [id, entry] of this.#parked) if (entry.call === call) return this.#parked.delete(id)
    return false
  }

  [Symbol.iterator](): Iterator<Call> {
    return [...this.#parked.values()].map(({ call }) => call).values()
  }

  /** Called periodically: ends calls that were not retried in time. */
  sweep(): void {
    for (const [id, { call, expiresAtMs }] of [...this.#parked]) {
      if (this.#now() < expiresAtMs) continue
      this.#parked.delete(id)
      call.expired()
    }
  }

  #open(state: JsonValue, { principal, scope, method, params }: Retry): string | undefined {
    const text = typeof state === 'string' ? this.#sealer.openToken(PURPOSE, state) : undefined
    if (typeof text !== 'string') return undefined
    const [id, ...sealed] = JSON.parse(text) as [string, ...JsonValue[]]
    const entry = this.#parked.get(id)
    if (!entry || this.#now() >= entry.expiresAtMs) return undefined
    const expected = [principal, scope.key, entry.call.serverId, method, digestOf(params), entry.expiresAtMs]
    return JSON.stringify(sealed) === JSON.stringify(expected) ? id : undefined
  }
}

/** A hash that is the same for equal parameters without `_meta`. */
export function digestOf(params: JsonObject | undefined): string {
  const { _meta, ...rest } = params ?? {}
  return createHash('sha256').update(canonical(rest)).digest('base64url')
}

/** JSON text with the keys of every object sorted, since a client may write its retry in another order. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isPlainObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
  return `{${members.join(',')}}`
}
