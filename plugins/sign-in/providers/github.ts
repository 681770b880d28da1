import { calculatePKCECodeChallenge } from 'oauth4webapi'
import { type GuardedFetch, HubError, isJsonObject, type JsonValue } from 'patchbay/contract'
import type { ProviderConfig } from '../config.ts'
import type { Fail } from '../errors.ts'
import type { Account, Asked, Provider } from './provider.ts'
import { asWebFetch, isSafe } from './web.ts'

const GITHUB = 'https://github.com'
const SCOPES = ['read:user', 'user:email']

/** GitHub, or an own one (`issuer`): no OpenID Connect, but a number for each person and its verified main address. */
export class GitHub implements Provider {
  readonly config: ProviderConfig
  readonly issuer: string
  readonly #api: string
  readonly #fetch: ReturnType<typeof asWebFetch>
  readonly #fail: Fail

  constructor(config: ProviderConfig, fetch: GuardedFetch, fail: Fail) {
    if (config.issuer !== undefined && !isSafe(config.issuer))
      throw new Error(`"issuer" of the provider "${config.id}" must be an https address, or one of this machine`)
    if (config.claims?.groups !== undefined)
      throw new Error(`"claims.groups" of the provider "${config.id}" needs OpenID Connect: GitHub sends no groups`)
    this.config = config
    this.issuer = (config.issuer ?? GITHUB).replace(/\/$/, '')
    this.#api = this.issuer === GITHUB ? 'https://api.github.com' : `${this.issuer}/api/v3`
    this.#fetch = asWebFetch(fetch)
    this.#fail = fail
  }

  async authorizeUrl({ state, verifier, redirectUri }: Asked): Promise<string> {
    const url = new URL(`${this.issuer}/login/oauth/authorize`)
    const parameters = {
      ...{ client_id: this.config.clientId, redirect_uri: redirectUri, state },
      ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      scope: (this.config.scopes ?? SCOPES).join(' '),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  async identify(parameters: URLSearchParams, { verifier, redirectUri }: Asked): Promise<Account> {
    const [code, ...more] = parameters.getAll('code')
    if (!code || more.length > 0 || parameters.has('error')) throw this.#refused()
    const { clientId, clientSecret = '' } = this.config
    const body = new URLSearchParams({
      ...{ client_id: clientId, client_secret: clientSecret, code, redirect_uri: redirectUri },
      code_verifier: verifier,
    })
    const answer = await this.#json(`${this.issuer}/login/oauth/access_token`, 'POST', undefined, body)
    // GitHub answers errors with HTTP 200.
    const token = isJsonObject(answer) ? answer.access_token : undefined
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,1024}$/.test(token)) throw this.#refused()
    const person = await this.#json(`${this.#api}/user`, 'GET', token)
    if (!isJsonObject(person) || !Number.isSafeInteger(person.id)) throw this.#refused()
    const addresses = await this.#json(`${this.#api}/user/emails`, 'GET', token)
    const main = (Array.isArray(addresses) ? addresses : []).find(
      one => isJsonObject(one) && one.primary === true && one.verified === true,
    )
    const email = isJsonObject(main) && typeof main.email === 'string' ? main.email : undefined
    const name = typeof person.login === 'string' ? person.login : 'user'
    // The login can be given up and taken by somebody else; the number cannot.
    return { issuer: this.issuer, subject: String(person.id), name, email }
  }

  async #json(url: string, method: 'GET' | 'POST', token?: string, body?: URLSearchParams): Promise<JsonValue> {
    const headers = {
      ...{ accept: 'application/json', 'user-agent': 'patchbay' },
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    }
    try {
      const response = await this.#fetch(url, { method, headers, ...(body ? { body } : {}) })
      if (response.status !== 200) return null
      return (await response.json()) as JsonValue
    } catch (error) {
      if (error instanceof SyntaxError) return null
      const why = error instanceof HubError ? `: ${error.message}` : ''
      throw this.#fail('provider_unreachable', `The provider "${this.config.id}" does not answer${why}`, error)
    }
  }

  #refused(): HubError {
    return this.#fail('provider_refused', `The provider "${this.config.id}" gave no answer that signs anybody in`)
  }
}
