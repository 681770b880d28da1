import type { HubError } from '../contract/errors.ts'
import type { Credential, UserActor } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { Authenticator } from './api.ts'
import { endedCredential, requireLive } from './ended-credential.ts'

/** Interval of checks, in milliseconds: credentials also expire, without an event. */
const CHECK_MS = 2_000

/** An owner of a credential that ends with it: a session, a stream, a call. */
export interface CredentialHolder {
  readonly actor: UserActor
  /** Called with `token_expired` or `token_revoked` when the credential has ended. */
  end(why: HubError): void
}

/** Notifies work that lasts longer than a request when its credential ends: within 5 s, mostly at once. */
export class LiveCredentials {
  readonly #authenticator: Pick<Authenticator, 'stillValid'>
  readonly #watched = new Set<CredentialHolder>()
  readonly #sources = new Set<() => Iterable<CredentialHolder>>()
  /** Keys of the credentials that are being validated: each is requested from a slow store only once at a time. */
  readonly #validating = new Set<string>()
  readonly #stops: readonly (() => void)[]
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(bus: Pick<EventBus, 'on'>, authenticator: Pick<Authenticator, 'stillValid'>) {
    this.#authenticator = authenticator
    this.#stops = (['user.updated', 'user.removed', 'key.removed', 'token.revoked'] as const).map(name =>
      // In a microtask, so that the authenticator's listener has dropped its cached credentials before.
      bus.on(name, () => queueMicrotask(() => this.#check())),
    )
  }

  /** Calls `ended` once, when the actor's credential ends, unless the returned function was called before. */
  watch(actor: UserActor, ended: CredentialHolder['end']): () => void {
    const holder: CredentialHolder = {
      actor,
      end: why => {
        if (this.#leave(holder)) ended(why)
      },
    }
    this.#watched.add(holder)
    this.#follow()
    return () => this.#leave(holder)
  }

  /**
   * Ends the holders of this source whose credential has ended, until the returned function is called. Holders that
   * remain in the source are ended again with the next check.
   */
  watchAll(holders: () => Iterable<CredentialHolder>): () => void {
    this.#sources.add(holders)
    this.#follow()
    return () => {
      this.#sources.delete(holders)
      this.#follow()
    }
  }

  /** The outcome of `work`. When the credential ends first, aborts the signal and throws `token_expired` or
   * `token_revoked`. */
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

  /** See {@link requireLive}. */
  require(actor: UserActor): undefined | Promise<undefined> {
    return requireLive(this.#authenticator, actor)
  }

  dispose(): void {
    for (const stop of this.#stops) stop()
    this.#watched.clear()
    this.#sources.clear()
    this.#follow()
  }

  /** Runs the timer only while there are holders. */
  #follow(): void {
    if (this.#watched.size === 0 && this.#sources.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else this.#timer ??= setInterval(() => this.#check(), CHECK_MS)
  }

  /** Validates each credential once, however many holders it has. */
  #check(): void {
    const byCredential = new Map<string, CredentialHolder[]>()
    const add = (holder: CredentialHolder): void => {
      const key = credentialKey(holder.actor)
      const holders = byCredential.get(key)
      if (holders) holders.push(holder)
      else byCredential.set(key, [holder])
    }
    for (const holder of this.#watched) add(holder)
    for (const source of this.#sources) for (const holder of source()) add(holder)
    for (const [key, holders] of byCredential) void this.#revalidate(key, holders)
  }

  async #revalidate(key: string, holders: readonly CredentialHolder[]): Promise<void> {
    const [first] = holders
    if (!first || this.#validating.has(key)) return
    this.#validating.add(key)
    try {
      if (await this.#isValid(first.actor)) return
    } catch {
      // The store does not respond, so nothing is known about the credential: the next check tries again.
      return
    } finally {
      this.#validating.delete(key)
    }
    for (const holder of holders) holder.end(endedCredential(holder.actor, Date.now()))
  }

  async #isValid(actor: UserActor): Promise<boolean> {
    const { credential } = actor
    const expired = credential.kind !== 'local' && credential.expiresAtMs !== undefined
    return !(expired && credential.expiresAtMs <= Date.now()) && this.#authenticator.stillValid(actor)
  }

  #leave(holder: CredentialHolder): boolean {
    const known = this.#watched.delete(holder)
    this.#follow()
    return known
  }
}

/** Equal for actors that are valid or invalid together. An actor has another key after a change of its role. */
function credentialKey({ userId, role, restricted, credential }: UserActor): string {
  return JSON.stringify([credential.kind, idOf(credential) ?? userId, role, restricted ?? false])
}

function idOf(credential: Credential): string | undefined {
  if (credential.kind === 'grant') return `${credential.grantId} ${credential.expiresAtMs}`
  if (credential.kind === 'session') return credential.tokenId
  return credential.kind === 'key' ? credential.keyId : undefined
}
