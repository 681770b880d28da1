import type { Authenticator } from '../auth/api.ts'
import { endedCredential } from '../auth/ended-credential.ts'
import type { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'

/** Longest interval between two checks of every credential in use; the documented promise is five seconds. */
const EVERY_MS = 4_000

/** What lives by a credential: a session, a stream, a call. */
export interface CredentialHolder {
  readonly actor: UserActor
  /** Called when the credential has become invalid, with the reason. */
  end(why: HubError): void
}

/** Ends all holders of a credential that has become invalid: at once after an event, and by a periodic check. */
export class CredentialWatch {
  readonly #auth: Authenticator
  readonly #holders: () => Iterable<CredentialHolder>
  readonly #now: () => number
  readonly #listening: (() => void)[]
  #nextMs: number
  #running = false

  constructor(auth: Authenticator, holders: () => Iterable<CredentialHolder>, bus: EventBus, now: () => number) {
    this.#auth = auth
    this.#holders = holders
    this.#now = now
    this.#nextMs = now() + EVERY_MS
    // Left to the next sweep: the credential cache must have handled the event before.
    const soon = () => {
      this.#nextMs = 0
    }
    this.#listening = (['user.updated', 'user.removed', 'key.removed', 'token.revoked'] as const).map(name =>
      bus.on(name, soon),
    )
  }

  /** Called about once a second. */
  sweep(): void {
    if (this.#running || this.#now() < this.#nextMs) return
    this.#nextMs = this.#now() + EVERY_MS
    this.#running = true
    void this.#revalidate().finally(() => {
      this.#running = false
    })
  }

  dispose(): void {
    for (const stop of this.#listening) stop()
  }

  async #revalidate(): Promise<void> {
    const verdicts = new Map<string, boolean>()
    for (const holder of [...this.#holders()]) {
      const key = credentialKey(holder.actor)
      let valid = verdicts.get(key)
      if (valid === undefined) {
        valid = await this.#holds(holder.actor)
        verdicts.set(key, valid)
      }
      if (!valid) holder.end(endedCredential(holder.actor, this.#now()))
    }
  }

  async #holds(actor: UserActor): Promise<boolean> {
    const { credential } = actor
    if (credential.kind !== 'local' && credential.expiresAtMs !== undefined && credential.expiresAtMs <= this.#now())
      return false
    try {
      return await this.#auth.stillValid(actor)
    } catch {
      // The store failed, which says nothing about this credential; the next check tries again.
      return true
    }
  }
}

function credentialKey({ userId, credential }: UserActor): string {
  if (credential.kind === 'session') return `session ${credential.tokenId}`
  return credential.kind === 'key' ? `key ${credential.keyId}` : `local ${userId}`
}
