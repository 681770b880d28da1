import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose'
import { type GuardedFetch, HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import { isOwnMachine, isSafeAddress } from './config.ts'

const FETCH_MS = 5_000
const MOST_BYTES = 256 * 1_024
/** Time after which keys are read again, so that withdrawn ones end. */
const FRESH_MS = 600_000
/** Least time between two readings because of a token whose key is not known. */
const UNKNOWN_KEY_MS = 60_000
/** Least time between two readings while none has succeeded. */
const RETRY_MS = 5_000
/** Longest time for which keys are used while the issuer cannot be reached. */
const KEPT_MS = 86_400_000

type Key = ReturnType<typeof createLocalJWKSet>

/** The public keys of one issuer, which are kept while it cannot be reached. */
export class IssuerKeys {
  readonly #issuer: string
  readonly #fetch: GuardedFetch
  readonly #unreachable: (message: string, cause: unknown) => HubError
  #keys: Key | undefined
  #readAtMs = Number.NEGATIVE_INFINITY
  #askedAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  /** `unreachable`: makes the error for keys that cannot be read. */
  constructor(issuer: string, fetch: GuardedFetch, unreachable: (message: string, cause: unknown) => HubError) {
    this.#issuer = issuer
    this.#fetch = fetch
    this.#unreachable = unreachable
  }

  /** The key of a token. Throws jose's errors for one that the issuer does not have, and `issuer_unreachable`. */
  async find(header: JWTHeaderParameters): ReturnType<Key> {
    const keys = await this.#present()
    try {
      return await keys(header)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#sinceAsked() < UNKNOWN_KEY_MS) throw error
    }
    await this.#read().catch(() => undefined)
    return (this.#keys ?? keys)(header)
  }

  /** Keys that are fresh, else those of before while the issuer cannot be reached. */
  async #present(): Promise<Key> {
    const ageMs = Date.now() - this.#readAtMs
    if (this.#keys && ageMs < FRESH_MS) return this.#keys
    const isUsable = this.#keys !== undefined && ageMs < KEPT_MS
    const isDue = this.#reading !== undefined || this.#sinceAsked() >= (isUsable ? UNKNOWN_KEY_MS : RETRY_MS)
    let failure: unknown
    if (isDue) {
      try {
        await this.#read()
      } catch (error) {
        failure = error
      }
    }
    if (this.#keys && Date.now() - this.#readAtMs < KEPT_MS) return this.#keys
    throw this.#unreachable(`The keys of ${this.#issuer} cannot be read`, failure)
  }

  #sinceAsked(): number {
    return Date.now() - this.#askedAtMs
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<void> {
    this.#askedAtMs = Date.now()
    const { jwks_uri: address } = await this.#metadata()
    if (!isSafeAddress(address)) throw new Error('its metadata names no https address of keys')
    // Else an issuer elsewhere could have the hub ask what only this machine may.
    if (isOwnMachine(address) && !isOwnMachine(this.#issuer)) throw new Error('its keys would be on this machine')
    const set = await this.#json(address)
    if (!Array.isArray(set?.keys)) throw new Error('its keys are no JSON Web Key Set')
    this.#keys = createLocalJWKSet(set as unknown as JSONWebKeySet)
    this.#readAtMs = Date.now()
  }

  /** The metadata at the places of OpenID Connect and of RFC 8414, the first that is of this issuer. */
  async #metadata(): Promise<JsonObject> {
    const { origin, pathname } = new URL(this.#issuer)
    const path = pathname.replace(/\/$/, '')
    const places = new Set([
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
    ])
    let failure: unknown
    for (const place of places) {
      try {
        const found = await this.#json(place)
        if (found?.issuer === this.#issuer) return found
        if (found) failure = new Error(`its metadata at ${place} is of another issuer`)
      } catch (error) {
        failure = error
      }
    }
    throw failure ?? new Error('it has no metadata')
  }

  /** Undefined where there is nothing. */
  async #json(url: string): Promise<JsonObject | undefined> {
    const signal = AbortSignal.timeout(FETCH_MS)
    const limits = { headTimeoutMs: FETCH_MS, idleTimeoutMs: FETCH_MS, maxBytes: MOST_BYTES }
    const request = { method: 'GET', headers: { accept: 'application/json' }, signal, ...limits }
    const response = await this.#fetch(url, request)
    if (response.status !== 200) {
      response.cancel()
      if (response.status >= 400 && response.status < 500 && response.status !== 429) return undefined
      throw new HubError('upstream_http_error', `HTTP ${response.status}`)
    }
    const value: unknown = JSON.parse(await response.text())
    return isJsonObject(value) ? value : undefined
  }
}
