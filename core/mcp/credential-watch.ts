import type { Authenticator } from '../auth/api.ts'
import type { UserActor } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { SessionTable } from './sessions.ts'

/** At least this often every session's credential is judged again; five seconds are promised. */
const EVERY_MS = 4_000

/** Ends sessions whose credential has ended: at once when an event says so, and by a regular look. */
export class CredentialWatch {
  readonly #auth: Authenticator
  readonly #sessions: SessionTable
  readonly #now: () => number
  readonly #listening: (() => void)[]
  #nextMs: number
  #running = false

  constructor(auth: Authenticator, sessions: SessionTable, bus: EventBus, now: () => number) {
    this.#auth = auth
    this.#sessions = sessions
    this.#now = now
    this.#nextMs = now() + EVERY_MS
    // Looked at by the next regular sweep: whoever keeps the credentials must have heard of the event before.
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
    void this.#judge().finally(() => {
      this.#running = false
    })
  }

  dispose(): void {
    for (const stop of this.#listening) stop()
  }

  async #judge(): Promise<void> {
    const verdicts = new Map<string, boolean>()
    for (const session of [...this.#sessions]) {
      const key = credentialKey(session.actor)
      let valid = verdicts.get(key)
      if (valid === undefined) {
        valid = await this.#holds(session.actor)
        verdicts.set(key, valid)
      }
      if (!valid) this.#sessions.end(session, 'credential_ended')
    }
  }

  async #holds(actor: UserActor): Promise<boolean> {
    const { credential } = actor
    if (credential.kind !== 'local' && credential.expiresAtMs !== undefined && credential.expiresAtMs <= this.#now())
      return false
    try {
      return await this.#auth.stillValid(actor)
    } catch {
      // The store did not answer: nothing was said against this credential, and the next look asks again.
      return true
    }
  }
}

function credentialKey({ userId, credential }: UserActor): string {
  if (credential.kind === 'session') return `session ${credential.tokenId}`
  return credential.kind === 'key' ? `key ${credential.keyId}` : `local ${userId}`
}
