import type { GuardedFetch, PluginContext } from 'patchbay/contract'
import type { HeldPlace, HeldTokens, WaitingToken } from '../credentials/held-tokens.ts'
import { fetchAround, timely } from '../discovery/reach.ts'
import { TokenEndpoint } from './tokens.ts'

/** Waits after each try, in milliseconds; after the last try the tokens are left to their end. */
const WAITS_MS = [30_000, 120_000, 600_000, 3_600_000, 21_600_000]
/** Requests at a time, for one user and for all. */
const OF_ONE = 2
const AT_ONCE = 50
const LOOKED_AT = 1_000

/** Takes tokens back at their issuers (RFC 7009), in the background: nothing waits for it, and nothing fails with it. */
export class Revocations {
  readonly #context: PluginContext<unknown>
  readonly #held: HeldTokens
  /** Holders of those that are under way, by id. */
  readonly #running = new Map<string, string>()
  /** The first look for those that ended while the hub did not run. */
  #found: Promise<void> | undefined

  constructor(context: PluginContext<unknown>, held: HeldTokens) {
    this.#context = context
    this.#held = held
    // A job of its own would find it some seconds later.
    held.whenDue(() => void this.due().catch(() => undefined))
  }

  /** Begins what is due. An issuer that is slow holds up the tokens of its own users alone. */
  async due(): Promise<void> {
    this.#found ??= this.#held.find()
    await this.#found.catch((error: unknown) => {
      this.#found = undefined
      throw error
    })
    for (const token of await this.#held.waiting(LOOKED_AT)) {
      const { id, holder } = token
      const ofHolder = [...this.#running.values()].filter(other => other === holder).length
      if (this.#running.has(id) || ofHolder >= OF_ONE || this.#running.size >= AT_ONCE) continue
      this.#running.set(id, holder)
      void this.#take(token)
        .catch((error: unknown) => this.#context.log.warn('A token cannot be taken back', { error: String(error) }))
        .finally(() => this.#running.delete(id))
    }
  }

  async #take(token: WaitingToken): Promise<void> {
    const waitMs = WAITS_MS[token.tries]
    const held = await this.#held.attempt(token, new Date(Date.now() + (waitMs ?? 0)))
    if (!held) return
    const { proofKey, client, endpoints, place } = held
    const endpoint = new TokenEndpoint(this.#context, await this.#fetch(place), endpoints, client, proofKey)
    const isTaken = await endpoint.takeBack(held)
    if (this.#context.signal.aborted || (!isTaken && waitMs !== undefined)) return
    if (!isTaken) this.#context.log.info('An issuer did not take a token back', { issuer: endpoints.issuer })
    await this.#held.remove(token)
  }

  /** With the rights of the server's owner, as before; those of an ordinary user where the owner is gone. */
  async #fetch(place: HeldPlace): Promise<GuardedFetch> {
    const owner = await this.#context.people.byId(place.ownerId)
    if (!owner || owner.disabled) return timely(this.#context.fetchFor(undefined, 'user'))
    return fetchAround(this.#context, place)
  }
}
