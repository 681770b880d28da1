import { type GuardedResponse, HubError, isJsonObject } from 'patchbay/contract'
import { type AnswerIo, fetchFollowing } from 'patchbay/transport-kit'

/** Subtracted from a token's lifetime, so that none expires in flight. */
const MARGIN_MS = 30_000
const DEFAULT_LIFE_S = 300
const LONGEST_LIFE_S = 24 * 3_600
const ANSWER_BYTES = 256 * 1024
const TOKEN_TIMEOUT_MS = 15_000

/** A token endpoint with the client's credentials and scopes. */
export interface TokenPlace {
  /** The token endpoint, or the address of its discovery document. */
  readonly endpoint: { readonly url: string } | { readonly discovery: string }
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
}

interface Held {
  readonly token: Promise<string>
  /** Infinite until the token has arrived. */
  endsMs: number
}

/** Access tokens by OAuth 2 client credentials (RFC 6749, 4.4), cached until shortly before they expire. */
export class Tokens {
  readonly #io: Pick<AnswerIo, 'fetch' | 'signal'>
  readonly #held = new Map<string, Held>()

  constructor(io: Pick<AnswerIo, 'fetch' | 'signal'>) {
    this.#io = io
  }

  /**
   * Concurrent calls share one request. `kept`: it was cached, and the API may have revoked it since. Throws
   * `authorization_required` when the endpoint issues no token.
   */
  async get(place: TokenPlace): Promise<{ readonly token: string; readonly kept: boolean }> {
    const key = keyOf(place)
    const held = this.#held.get(key)
    if (held && performance.now() < held.endsMs) {
      const kept = Number.isFinite(held.endsMs)
      return { token: await held.token, kept }
    }
    const entry: Held = { token: this.#fetch(place, atMs => (entry.endsMs = atMs)), endsMs: Number.POSITIVE_INFINITY }
    this.#held.set(key, entry)
    entry.token.catch(() => this.#drop(key, entry))
    return { token: await entry.token, kept: false }
  }

  /** The API rejected this token: the next call gets a new one. A token that was fetched meanwhile stays. */
  async refused(place: TokenPlace, token: string): Promise<void> {
    const key = keyOf(place)
    const held = this.#held.get(key)
    if (held && (await held.token.catch(() => token)) === token) this.#drop(key, held)
  }

  #drop(key: string, entry: Held): void {
    if (this.#held.get(key) === entry) this.#held.delete(key)
  }

  async #fetch(place: TokenPlace, ends: (ms: number) => void): Promise<string> {
    const { endpoint } = place
    const url = 'url' in endpoint ? endpoint.url : await this.#discover(endpoint.discovery)
    const { clientId, clientSecret, scopes } = place
    const form = new URLSearchParams({ grant_type: 'client_credentials' })
    if (scopes.length > 0) form.set('scope', scopes.join(' '))
    // RFC 6749, 2.3.1: both are form-encoded before they become a user name and a password.
    const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')
    let response = await this.#post(url, form, { authorization: `Basic ${basic}` })
    if (response.status === 400 || response.status === 401) {
      // Some endpoints accept the client's credentials in the form only.
      response.cancel()
      form.set('client_id', clientId)
      form.set('client_secret', clientSecret)
      response = await this.#post(url, form, {})
    }
    const answer = await json(response)
    const { access_token: token, expires_in: life } = answer
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) throw refused('answered without a usable token')
    const seconds = Math.min(
      Number.isFinite(Number(life ?? DEFAULT_LIFE_S)) ? Number(life ?? DEFAULT_LIFE_S) : 0,
      LONGEST_LIFE_S,
    )
    ends(performance.now() + Math.max(seconds * 1_000 - Math.min(MARGIN_MS, seconds * 100), 0))
    return token
  }

  #post(url: string, form: URLSearchParams, headers: Readonly<Record<string, string>>): Promise<GuardedResponse> {
    return this.#io.fetch(url, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      signal: AbortSignal.any([this.#io.signal, AbortSignal.timeout(TOKEN_TIMEOUT_MS)]),
      maxBytes: ANSWER_BYTES,
    })
  }

  async #discover(url: string): Promise<string> {
    const signal = AbortSignal.any([this.#io.signal, AbortSignal.timeout(TOKEN_TIMEOUT_MS)])
    const request = { method: 'GET', headers: { accept: 'application/json' }, signal, maxBytes: ANSWER_BYTES }
    const { token_endpoint: endpoint } = await json((await fetchFollowing(this.#io.fetch, url, request)).response)
    if (typeof endpoint === 'string' && URL.parse(endpoint)) return endpoint
    throw refused('names no token endpoint in its OpenID configuration')
  }
}

function keyOf({ endpoint, clientId, scopes }: TokenPlace): string {
  return JSON.stringify([endpoint, clientId, scopes])
}

async function json(response: GuardedResponse): Promise<Readonly<Record<string, unknown>>> {
  const { status } = response
  if (status < 200 || status > 299) {
    response.cancel()
    throw refused(`answered with HTTP ${status}`)
  }
  try {
    const body: unknown = JSON.parse(await response.text())
    if (isJsonObject(body)) return body
  } catch (error) {
    if (error instanceof HubError) throw error
  }
  throw refused('answered with something else than JSON')
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

function refused(what: string): HubError {
  return new HubError('authorization_required', `The authorization server of the API ${what}`)
}
