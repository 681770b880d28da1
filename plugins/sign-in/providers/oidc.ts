import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discoveryRequest,
  getValidatedIdTokenClaims,
  type IDToken,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processUserInfoResponse,
  userInfoRequest,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi'
import { type GuardedFetch, HubError } from 'patchbay/contract'
import type { ProviderConfig } from '../config.ts'
import type { Fail } from '../errors.ts'
import { type GroupsClaim, groupsClaim } from './groups.ts'
import type { Account, Asked, Provider } from './provider.ts'
import { asWebFetch, isOwnMachine, isSafe } from './web.ts'

const GOOGLE = 'https://accounts.google.com'
const SCOPES = ['openid', 'profile', 'email']
/** Time for which metadata is used without being read again, in milliseconds. */
const KEEP_MS = 10 * 60_000
const CLOCK_TOLERANCE_S = 60

/** An issuer of OpenID Connect: code, PKCE, state, nonce, and an ID token whose signature is checked. */
export class OidcProvider implements Provider {
  readonly config: ProviderConfig
  readonly issuer: string
  readonly #fail: Fail
  readonly #options: { [customFetch]: ReturnType<typeof asWebFetch>; [allowInsecureRequests]: true }
  #metadata: { readonly read: Promise<AuthorizationServer>; readonly untilMs: number } | undefined

  constructor(config: ProviderConfig, fetch: GuardedFetch, fail: Fail) {
    if (!isSafe(config.issuer))
      throw new Error(`"issuer" of the provider "${config.id}" must be an https address, or one of this machine`)
    this.config = config
    this.issuer = config.issuer
    this.#fail = fail
    // Addresses are checked: http is on this machine alone.
    this.#options = { [customFetch]: asWebFetch(fetch), [allowInsecureRequests]: true }
  }

  async authorizeUrl({ state, nonce, verifier, redirectUri }: Asked): Promise<string> {
    const { authorization_endpoint: endpoint } = await this.#server()
    const url = new URL(endpoint as string)
    const scopes = new Set(['openid', ...(this.config.scopes ?? SCOPES)])
    const parameters = {
      ...{ response_type: 'code', client_id: this.config.clientId, redirect_uri: redirectUri, state, nonce },
      ...{ code_challenge: await calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      scope: [...scopes].join(' '),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  async identify(parameters: URLSearchParams, asked: Asked): Promise<Account> {
    const server = await this.#server()
    try {
      const { claims, accessToken } = await this.#claims(server, parameters, asked)
      const groups = await this.#groups(server, claims, accessToken)
      return { ...this.#account(server.issuer, claims), ...(groups ? { groups } : {}) }
    } catch (error) {
      throw this.#failure(error)
    }
  }

  async #claims(server: AuthorizationServer, given: URLSearchParams, asked: Asked) {
    const client = this.#client
    const checked = validateAuthResponse(server, client, given, asked.state)
    const { redirectUri, verifier, nonce } = asked
    const response = await authorizationCodeGrantRequest(
      ...([server, client, clientAuth(this.config, server), checked, redirectUri, verifier, this.#options] as const),
    )
    const expected = { expectedNonce: nonce, requireIdToken: true }
    const result = await processAuthorizationCodeResponse(server, client, response, expected)
    await validateApplicationLevelSignature(server, response, this.#options)
    return { claims: getValidatedIdTokenClaims(result) as IDToken, accessToken: result.access_token }
  }

  /** The groups, from the ID token or else from the userinfo of the same person. */
  async #groups(server: AuthorizationServer, claims: IDToken, accessToken: string): Promise<GroupsClaim | undefined> {
    const name = this.config.claims?.groups
    if (name === undefined) return undefined
    const claim = groupsClaim(name, claims)
    if (claim.value !== undefined || claim.isElsewhere || server.userinfo_endpoint === undefined) return claim
    const response = await userInfoRequest(server, this.#client, accessToken, this.#options)
    return groupsClaim(name, await processUserInfoResponse(server, this.#client, claims.sub, response))
  }

  get #client(): Client {
    return { client_id: this.config.clientId, [clockTolerance]: CLOCK_TOLERANCE_S }
  }

  #account(issuer: string, claims: IDToken): Account {
    const email = verifiedEmail(issuer, claims)
    const own = this.config.claims?.name
    const names = [own === undefined ? undefined : claims[own], claims.preferred_username, email?.split('@')[0]]
    const name = names.find((one): one is string => typeof one === 'string' && one !== '') ?? 'user'
    return { issuer, subject: this.#subject(claims), name, email }
  }

  #subject(claims: IDToken): string {
    const claim = this.config.claims?.subject
    if (claim === undefined) return claims.sub
    const subject = claims[claim]
    if (typeof subject === 'string' && subject !== '') return subject
    throw new TypeError(`its ID token has no claim "${claim}"`)
  }

  #server(): Promise<AuthorizationServer> {
    if (!this.#metadata || this.#metadata.untilMs <= Date.now()) {
      const read = this.#discover()
      const kept = { read, untilMs: Date.now() + KEEP_MS }
      this.#metadata = kept
      read.catch(() => {
        if (this.#metadata === kept) this.#metadata = undefined
      })
    }
    return this.#metadata.read
  }

  async #discover(): Promise<AuthorizationServer> {
    try {
      const issuer = new URL(this.issuer)
      const found = await processDiscoveryResponse(issuer, await discoveryRequest(issuer, this.#options))
      const { userinfo_endpoint: userinfo } = found
      const endpoints = [found.authorization_endpoint, found.token_endpoint, found.jwks_uri]
      if (this.config.claims?.groups !== undefined && userinfo !== undefined) endpoints.push(userinfo)
      if (!endpoints.every(isSafe)) throw new TypeError('its metadata has an endpoint that is not https')
      // Else an issuer elsewhere could have the hub ask what only this machine may.
      if (!isOwnMachine(this.issuer) && endpoints.some(isOwnMachine))
        throw new TypeError('its metadata has an endpoint on this machine, and the issuer is elsewhere')
      return found
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** Refusals of the provider and answers that do not hold, or that there was none. */
  #failure(error: unknown): HubError {
    const { id } = this.config
    if (error instanceof HubError)
      return this.#fail('provider_unreachable', `The provider "${id}" does not answer: ${error.message}`, error)
    // Texts of the provider are not shown: whoever wrote the link could have written them.
    return this.#fail('provider_refused', `The provider "${id}" gave no answer that signs anybody in`, error)
  }
}

/**
 * The address that the issuer vouches for. Google calls an address verified that its owner has had once, and vouches only for
 * its own ones and those of organizations (`hd`).
 */
function verifiedEmail(issuer: string, { email, email_verified: isVerified, hd }: IDToken): string | undefined {
  if (isVerified !== true || typeof email !== 'string') return undefined
  if (issuer !== GOOGLE || typeof hd === 'string' || /@gmail\.com$/i.test(email)) return email
  return undefined
}

/** The secret in the body where the provider takes it, else in the header as most providers read it; none without a secret. */
function clientAuth({ clientSecret }: ProviderConfig, server: AuthorizationServer): ClientAuth {
  if (clientSecret === undefined) return None()
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (methods.includes('client_secret_post')) return ClientSecretPost(clientSecret)
  return (_server, { client_id: id }, _body, headers) => {
    const pair = [id, clientSecret].map(encodeURIComponent).join(':')
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
  }
}
