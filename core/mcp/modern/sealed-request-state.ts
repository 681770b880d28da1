import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Sealer } from '../call/pages.ts'
import { digestOf, type Parkable, type Retry } from './parking.ts'

const PURPOSE = 'mcp-passed-state'

/**
 * The `requestState` of modern servers on its way through a modern client. The hub stores nothing: the client holds the
 * server's state, sealed for its principal, scope, server and request.
 */
export class SealedRequestState {
  readonly #sealer: Sealer
  readonly #now: () => number

  constructor(sealer: Sealer, now: () => number) {
    this.#sealer = sealer
    this.#now = now
  }

  /** Throws upstream_protocol for a state that would be longer than what `open` takes. */
  seal({ principal, scope, serverId, method, params }: Parkable, state: string): string {
    if (state.length > LIMITS.sealedTokenCharacters) throw tooLong()
    const expiresAtMs = Math.round(this.#now() + LIMITS.parkedMs)
    const sealed = [principal, scope.key, method, digestOf(params), serverId, expiresAtMs, state]
    const token = this.#sealer.sealToken(PURPOSE, JSON.stringify(sealed))
    if (token.length > LIMITS.sealedTokenCharacters) throw tooLong()
    return token
  }

  /**
   * The server and its state, byte for byte; undefined for a state that was not sealed here. Throws
   * request_state_invalid for one that belongs to another request or has expired.
   */
  open(
    state: JsonValue,
    { principal, scope, method, params }: Retry,
  ): { readonly serverId: string; readonly state: string } | undefined {
    const text = typeof state === 'string' ? this.#sealer.openToken(PURPOSE, state) : undefined
    if (typeof text !== 'string') return undefined
    const sealed = JSON.parse(text) as readonly [...request: string[], serverId: string, until: number, state: string]
    const [serverId, until, original] = sealed.slice(-3) as [string, number, string]
    const expected = [principal, scope.key, method, digestOf(params)]
    if (JSON.stringify(sealed.slice(0, -3)) === JSON.stringify(expected) && this.#now() < until)
      return { serverId, state: original }
    throw new HubError('request_state_invalid', 'The requestState has expired or belongs to another request', {
      hint: 'Send the request again without requestState.',
    })
  }
}

function tooLong(): HubError {
  return new HubError(
    'upstream_protocol',
    `The server sent a requestState that is longer than ${LIMITS.sealedTokenCharacters} characters once sealed`,
  )
}
