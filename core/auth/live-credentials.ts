import type { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { Authenticator } from './api.ts'
import { endedCredential } from './ended-credential.ts'

/** Credentials also end by themselves, which no event tells. */
const CHECK_MS = 2_000

interface Watched {
  readonly actor: UserActor
  readonly ended: (why: HubError) => void
}

/** Tells work that lasts longer than a request when the credential ends that it was begun with: within 5 s, mostly at once. */
export class LiveCredentials {
  readonly #authenticator: Pick<Authenticator, 'stillValid'>
  readonly #watched = new Set<Watched>()
  readonly #stops: readonly (() => void)[]
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(bus: Pick<EventBus, 'on'>, authenticator: Pick<Authenticator, 'stillValid'>) {
    this.#authenticator = authenticator
    this.#stops = (['user.updated', 'user.removed', 'key.removed', 'token.revoked'] as const).map(name =>
      // After all listeners of the event have heard it, the one that keeps credentials among them.
      bus.on(name, () => queueMicrotask(() => this.#check())),
    )
  }

  /** Calls `ended` once, with `token_expired` or `token_revoked`, when the actor's credential ends, unless the returned function is called before. */
  watch(actor: UserActor, ended: Watched['ended']): () => void {
    const watched = { actor, ended }
    this.#watched.add(watched)
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS)
    return () => this.#leave(watched)
  }

  /** The work's outcome, unless the credential ends before it: then its signal aborts, and `token_expired` or `token_revoked` is thrown. */
  async during<T>(actor: UserActor, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ended = new AbortController()
    const over = Promise.withResolvers<never>()
    const leave = this.watch(actor, why => {
      over.reject(why)
      ended.abort()
    })
    try {
      return await Promise.race([over.promise, work(AbortSignal.any([signal, ended.signal]))])
    } finally {
      leave()
    }
  }

  dispose(): void {
    for (const stop of this.#stops) stop()
    for (const watched of [...this.#watched]) this.#leave(watched)
  }

  #check(): void {
    for (const watched of this.#watched) void this.#revalidate(watched)
  }

  async #revalidate(watched: Watched): Promise<void> {
    try {
      if (await this.#authenticator.stillValid(watched.actor)) return
    } catch {
      // The store cannot be asked now: asked again at the next look.
      return
    }
    if (this.#leave(watched)) watched.ended(endedCredential(watched.actor, Date.now()))
  }

  #leave(watched: Watched): boolean {
    const known = this.#watched.delete(watched)
    if (this.#watched.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    return known
  }
}
