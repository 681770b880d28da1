import { setTimeout as delay } from 'node:timers/promises'
import { type GuardedFetch, HubError, type PluginContext } from 'patchbay/contract'
import { bounded } from '../bounded.ts'
import type { Broker } from '../broker.ts'
import { fetchAround } from '../discovery/reach.ts'
import { newProofKey } from '../tokens/proof-key.ts'
import { TokenEndpoint, TokenRefusal, type Tokens } from '../tokens/tokens.ts'
import { isOfIssuer, readDeviceCode } from './device-code.ts'
import type { DeviceFlow, FlowPlace, Flows } from './flows.ts'
import { complete, fail, refusal } from './outcome.ts'

/** Added to the time between two questions with each `slow_down` (RFC 8628, 3.5). */
const SLOWER_MS = 5_000
/** Longest time between two questions, after faults and `slow_down`. */
const MOST_WAIT_MS = 60_000
/** Codes that one user may ask for within this time. */
const MOST_STARTS = 30
const STARTS_MS = 600_000

/** The server of a sign-in by code. */
interface DevicePlace {
  readonly fetch: GuardedFetch
  readonly url: URL
  readonly ownerId: string
  /** Sent with the request for the code. */
  readonly parameters: Readonly<Record<string, string>>
}

/** Sign-ins by a code that the user enters at the issuer, on any device (RFC 8628). */
export class DeviceSignIns {
  readonly #context: PluginContext<unknown>
  readonly #broker: Broker
  readonly #flows: Flows
  /** Times of starts, by user. */
  readonly #starts = new Map<string, readonly number[]>()

  constructor(context: PluginContext<unknown>, broker: Broker, flows: Flows) {
    this.#context = context
    this.#broker = broker
    this.#flows = flows
  }

  /** Throws `rate_limited` for a user who asks for codes without end. Counts before anybody is asked. */
  count(userId: string): void {
    const now = Date.now()
    const recent = (this.#starts.get(userId) ?? []).filter(at => now - at < STARTS_MS)
    const [first = now] = recent
    if (recent.length >= MOST_STARTS)
      throw new HubError(
        'rate_limited',
        `You began ${MOST_STARTS} sign-ins by code within ${STARTS_MS / 60_000} minutes`,
        {
          retryAfterSeconds: Math.ceil((first + STARTS_MS - now) / 1_000),
        },
      )
    bounded(this.#starts).set(userId, [...recent, now])
  }

  /** Gets a code, and asks the issuer for the outcome from then on. `ownerId`: of the server. */
  async begin(place: FlowPlace, { fetch, url, ownerId, parameters }: DevicePlace): Promise<DeviceFlow> {
    const { issuer, client, scopes, sendsResource, resource } = place
    const endpoint = new TokenEndpoint(this.#context, fetch, issuer, client)
    const answer = await endpoint
      .askDevice(scopes, sendsResource ? resource : undefined, parameters)
      .catch(async (cause: unknown) => {
        if (!(cause instanceof TokenRefusal)) throw cause
        throw await refusal(this.#context, this.#broker, place, cause, 'to give a code')
      })
    const code = readDeviceCode(this.#context, issuer.issuer, answer, url)
    await this.#requirePage(place, ownerId, code.verificationUri)
    const flow = this.#flows.beginDevice(place, code)
    this.#follow(flow).catch((thrown: unknown) => {
      fail(flow, thrown)
      if (thrown instanceof HubError) return
      this.#context.log.error('A sign-in by code failed', { serverId: flow.serverId, error: String(thrown) })
    })
    return flow
  }

  /**
   * Throws `issuer_unusable` for a page that is not the issuer's, unless the server is the user's own or an administrator's: an
   * issuer could pass on a code that it got for itself elsewhere, and get the account of the user who enters it.
   */
  async #requirePage({ userId, issuer: { issuer } }: FlowPlace, ownerId: string, page: string): Promise<void> {
    const { error, people } = this.#context
    if (isOfIssuer(page, issuer) || ownerId === userId || (await people.byId(ownerId))?.role === 'admin') return
    throw error(
      'issuer_unusable',
      `${issuer} wants its code entered at ${new URL(page).origin}, which only servers of your own and of administrators may`,
    )
  }

  /** Ends with an outcome, with the plugin, or when another start takes the place of the flow. */
  async #follow(flow: DeviceFlow): Promise<void> {
    const signal = AbortSignal.any([flow.ended.signal, this.#context.signal])
    const proofKey = flow.isBound ? await newProofKey() : undefined
    const pace = new Pace(flow.intervalMs)
    while (await passed(Math.min(pace.waitMs, flow.expiresAtMs - Date.now()), signal)) {
      if (Date.now() >= flow.expiresAtMs) throw this.#expired(flow)
      const endpoint = await this.#endpoint(flow, proofKey)
      const answer = await this.#ask(flow, endpoint)
      if (typeof answer !== 'string') return this.#complete(flow, answer, endpoint, signal)
      pace.take(answer)
    }
  }

  /** The tokens, or why there are none yet. Throws what ends the sign-in. */
  async #ask(flow: DeviceFlow, endpoint: TokenEndpoint): Promise<Tokens | Pause> {
    try {
      return await endpoint.device(flow.deviceCode, flow.sendsResource ? flow.resource : undefined)
    } catch (cause) {
      if (cause instanceof HubError && cause.code === 'issuer_unreachable') return 'fault'
      if (!(cause instanceof TokenRefusal)) throw cause
      if (cause.error === 'authorization_pending' || cause.error === 'slow_down') return cause.error
      if (cause.error === 'expired_token') throw this.#expired(flow)
      throw await refusal(this.#context, this.#broker, flow, cause, 'the sign-in')
    }
  }

  /** Throws `flow_unknown` for a user who is disabled, or may not use the server any more. */
  async #endpoint({ userId, serverId, issuer, client }: DeviceFlow, proofKey: FlowProofKey): Promise<TokenEndpoint> {
    const { error, people, registry, states } = this.#context
    const actor = await people.actor(userId)
    if (!actor || !(await registry.server(actor, serverId)))
      throw error('flow_unknown', 'The server of this sign-in is gone, or you may not use it any more')
    const fetch = fetchAround(this.#context, await states.target(serverId))
    return new TokenEndpoint(this.#context, fetch, issuer, client, proofKey)
  }

  async #complete(flow: DeviceFlow, tokens: Tokens, endpoint: TokenEndpoint, signal: AbortSignal): Promise<void> {
    // Tokens of a flow that was replaced meanwhile are nobody's.
    if (signal.aborted) return void (await endpoint.takeBack(tokens))
    await complete(this.#context, this.#broker, flow, tokens)
    const actor = await this.#context.people.actor(flow.userId)
    if (actor) this.#context.audit(actor, 'finish', flow.server, flow.userId)
  }

  #expired({ issuer }: DeviceFlow): HubError {
    return this.#context.error('flow_expired', `The code of ${issuer.issuer} was not entered while it was valid`)
  }
}

type FlowProofKey = ConstructorParameters<typeof TokenEndpoint>[4]

/** The reason for which the issuer is asked again. */
type Pause = 'authorization_pending' | 'slow_down' | 'fault'

/** The time between two questions to the issuer. */
class Pace {
  #everyMs: number
  waitMs: number

  constructor(everyMs: number) {
    this.#everyMs = everyMs
    this.waitMs = everyMs
  }

  /** `slow_down` holds for all questions from then on. An issuer that does not answer is asked less and less often until it does. */
  take(pause: Pause): void {
    if (pause === 'slow_down') this.#everyMs = Math.min(this.#everyMs + SLOWER_MS, MOST_WAIT_MS)
    this.waitMs = pause === 'fault' ? Math.min(this.waitMs * 2, MOST_WAIT_MS) : this.#everyMs
  }
}

/** True after the time; false when the signal aborts before. */
function passed(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(Math.max(ms, 0), true, { signal, ref: false }).catch(() => false)
}
