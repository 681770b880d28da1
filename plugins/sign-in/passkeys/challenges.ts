import { randomUUID } from 'node:crypto'
import { HubError } from 'patchbay/contract'
import type { PluginSealing } from 'patchbay/features'
import type { Fail } from '../errors.ts'
import type { Place } from './place.ts'

const LIFE_MS = 5 * 60_000
const PURPOSE = 'passkey'
/** Challenges that are remembered as used. Only users who have passkeys use any up. */
const MOST_USED = 10_000

/** The use of a challenge: to set a passkey, to sign in, or to prove again who one is. */
export type Use = 'set' | 'sign-in' | 'reauth'

/** A challenge for a passkey. */
export interface Challenge extends Place {
  readonly id: string
  readonly use: Use
  /** The user of `set` and `reauth`. For `sign-in` the ticket that the password opened; absent without a password. */
  readonly of?: string
  /** The start of the hub that made it: what was used is not remembered longer. */
  readonly start: string
  readonly expiresAtMs: number
}

/** Challenges are sealed texts, so that nothing is kept for somebody who does not come back. Each is for one use within 5 minutes. */
export class Challenges {
  readonly #sealing: PluginSealing
  readonly #fail: Fail
  readonly #start = randomUUID()
  readonly #used = new Map<string, number>()

  constructor(sealing: PluginSealing, fail: Fail) {
    this.#sealing = sealing
    this.#fail = fail
  }

  /** The challenge in base64url, as the browser sends it back. */
  make(use: Use, { host, origin }: Place, of?: string): string {
    const about = { host, origin, id: randomUUID(), use, start: this.#start, expiresAtMs: Date.now() + LIFE_MS }
    const made: Challenge = of === undefined ? about : { ...about, of }
    return this.#sealing.token(PURPOSE, new TextEncoder().encode(JSON.stringify(made)))
  }

  /** Throws `second_factor_ended` for one that is not of this hub, use and user, too old, or used. */
  open(text: string, use: Use, of: string | undefined): Challenge {
    const bytes = this.#sealing.openToken(PURPOSE, text)
    const found = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Challenge)
    const isOwn = found?.use === use && found.of === of && found.start === this.#start
    if (!isOwn || found.expiresAtMs <= Date.now() || this.#used.has(found.id)) throw this.#ended()
    return found
  }

  /** Uses it up, before its answer is checked: of two answers at once, one is looked at. Throws `second_factor_ended`. */
  take({ id, expiresAtMs }: Challenge): void {
    if (this.#used.has(id)) throw this.#ended()
    if (this.#used.size >= MOST_USED) this.#sweep()
    if (this.#used.size >= MOST_USED)
      throw new HubError('overloaded', 'Too many passkeys sign in at this moment', { retryAfterSeconds: 60 })
    this.#used.set(id, expiresAtMs)
  }

  #sweep(): void {
    const now = Date.now()
    for (const [id, endsAtMs] of this.#used) if (endsAtMs <= now) this.#used.delete(id)
  }

  #ended(): HubError {
    return this.#fail('second_factor_ended', 'The question to the passkey was answered already, or is too old')
  }
}
