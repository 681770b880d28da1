import { LRUCache } from 'lru-cache'
import { HubError } from '../contract/errors.ts'
import type { Credential, UserActor } from '../contract/records.ts'

/** Time for which a proof counts, in milliseconds. */
const RECENT_MS = 10 * 60_000
const MOST = 10_000

/** When sign-ins last proved who their user is: at their beginning, and again later. The later ones are in memory alone. */
export class RecentProofs {
  readonly #proved = new LRUCache<string, number>({ max: MOST })
  readonly #now: () => number

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Notes that the user of a sign-in has just proved who it is. Returns until when that counts, in milliseconds since 1970. */
  note({ credential }: UserActor): number {
    if (credential.kind === 'session') this.#proved.set(credential.familyId, this.#now())
    return this.#now() + RECENT_MS
  }

  /** Throws `insufficient_scope` for another credential than a session token, and `reauth_required` after ten minutes. */
  require({ credential }: UserActor): void {
    if (credential.kind !== 'session') {
      throw new HubError('insufficient_scope', 'This needs a session token, and another credential was sent', {
        hint: 'Sign in with POST /api/auth/login.',
      })
    }
    this.#requireOf(credential)
  }

  /** The same for a session token. Other credentials pass: they have no sign-in that could be old, and were given for this. */
  requireOfSession({ credential }: UserActor): void {
    if (credential.kind === 'session') this.#requireOf(credential)
  }

  #requireOf(credential: Extract<Credential, { kind: 'session' }>): void {
    const provedMs = Math.max(credential.signedInAtMs, this.#proved.get(credential.familyId) ?? 0)
    if (this.#now() - provedMs <= RECENT_MS) return
    throw new HubError('reauth_required', 'You proved who you are more than ten minutes ago')
  }
}
