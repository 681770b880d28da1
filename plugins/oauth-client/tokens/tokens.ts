import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  clockSkew,
  customFetch,
  type DPoPHandle,
  deviceAuthorizationRequest,
  deviceCodeGrantRequest,
  genericTokenEndpointRequest,
  None,
  nopkce,
  PrivateKeyJwt,
  refreshTokenGrantRequest,
  revocationRequest,
} from 'oauth4webapi'
import { type GuardedFetch, HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import { webFetch } from 'patchbay/plugin-kit'
import type { Errors } from '../discovery/discovery.ts'
import { readScopes } from '../discovery/scopes.ts'
import { signingKey } from './client-key.ts'
import { type IssuerClient, unreachable } from './clients.ts'
import { proofsOf } from './proof-key.ts'

/** Most characters of a token. */
const MOST_TOKEN = 16 * 1024
/** Differences of clocks, in seconds, at which a signature is made again with the issuer's time. */
const LEAST_SKEW = 30
const MOST_SKEW = 86_400
/** Repetitions of a request, for a nonce and for the time. */
const MOST_REPEATS = 2

/** The type of token that is wanted; `n_a` for an assertion. */
type TokenKind = 'bearer' | 'n_a'

/** The tokens of one answer. Absent `expiresIn`: nothing is known of its end. */
export interface Tokens {
  readonly access: string
  readonly refresh?: string
  readonly scope?: string
  /** Seconds. */
  readonly expiresIn?: number
  /** The private key (JWK) to which they are bound. */
  readonly proofKey?: JsonObject
}

/** An issuer's refusal: its own error code, such as `invalid_grant`. */
export class TokenRefusal extends Error {
  readonly error: string

  constructor(error: string) {
    super(`The issuer answered with the error "${error.slice(0, 100)}"`)
    this.error = error
  }
}

/** The token endpoint of one issuer, for one client. */
export class TokenEndpoint {
  readonly #errors: Errors
  readonly #fetch: GuardedFetch
  readonly #issuer: AuthorizationServer
  readonly #client: IssuerClient
  readonly #proofKey: JsonObject | undefined
  #proofs: Promise<DPoPHandle> | undefined
  /** Seconds by which the issuer's clock is ahead of the hub's, where that matters. */
  #skew = 0

  /** `proofKey`: a private key (JWK) to which the tokens are to be bound. */
  constructor(
    errors: Errors,
    fetch: GuardedFetch,
    issuer: AuthorizationServer,
    client: IssuerClient,
    proofKey?: JsonObject,
  ) {
    this.#proofKey = proofKey
    this.#errors = errors
    this.#fetch = fetch
    this.#issuer = issuer
    this.#client = client
  }

  /** Redeems a code. `callback`: the checked parameters. Throws TokenRefusal, `issuer_unreachable`, `token_too_large`. */
  code(
    callback: URLSearchParams,
    redirectUri: string,
    verifier: string,
    resource: string | undefined,
  ): Promise<Tokens> {
    return this.#ask(async () =>
      authorizationCodeGrantRequest(
        ...this.#party(),
        callback,
        redirectUri,
        verifier === '' ? nopkce : verifier,
        await this.#options(resource),
      ),
    )
  }

  /** Asks for a code that a person enters elsewhere; the members of the answer are not checked. Throws as {@link code} does. */
  async askDevice(
    scopes: readonly string[],
    resource: string | undefined,
    others: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const parameters = {
      ...others,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
      ...(resource === undefined ? {} : { resource }),
    }
    const { status, text } = await this.#answer(() =>
      deviceAuthorizationRequest(...this.#party(), parameters, this.#common()),
    )
    const answer = membersOf(text)
    const refusal = textOf(answer.error)
    if (refusal !== undefined) throw new TokenRefusal(refusal)
    if (status === 200) return answer
    throw unreachable(this.#errors, this.#issuer.issuer, `HTTP ${status}`)
  }

  /** Tokens for such a code. Throws as {@link code} does, a TokenRefusal also while the person has not decided. */
  device(deviceCode: string, resource: string | undefined): Promise<Tokens> {
    return this.#ask(async () => deviceCodeGrantRequest(...this.#party(), deviceCode, await this.#options(resource)))
  }

  /** Throws as {@link code} does. */
  refresh(token: string, resource: string | undefined): Promise<Tokens> {
    return this.#ask(async () => refreshTokenGrantRequest(...this.#party(), token, await this.#options(resource)))
  }

  /** A token for the client itself. Throws as {@link code} does. */
  client(scopes: readonly string[], resource: string | undefined): Promise<Tokens> {
    const parameters = {
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
      ...(resource === undefined ? {} : { resource }),
    }
    return this.#ask(async () =>
      genericTokenEndpointRequest(...this.#party(), 'client_credentials', parameters, await this.#options(undefined)),
    )
  }

  /** Tokens for a grant of another kind. Throws as {@link code} does. */
  grant(type: string, parameters: Readonly<Record<string, string>>): Promise<Tokens> {
    return this.#ask(async () =>
      genericTokenEndpointRequest(...this.#party(), type, { ...parameters }, await this.#options(undefined)),
    )
  }

  /** An assertion, which is no access token (RFC 8693: its type is `N_A`). Throws as {@link code} does. */
  async assertion(type: string, parameters: Readonly<Record<string, string>>): Promise<string> {
    const { access } = await this.#ask(
      async () => genericTokenEndpointRequest(...this.#party(), type, { ...parameters }, this.#common()),
      'n_a',
    )
    return access
  }

  /**
   * Tells the issuer that tokens are not used any more, where it takes that (RFC 7009): the refresh token first, since most issuers end
   * all that came from it. False where another try may help. Never rejects.
   */
  async takeBack({ access, refresh }: Pick<Tokens, 'access' | 'refresh'>): Promise<boolean> {
    if (refresh !== undefined && !(await this.#revoke(refresh, 'refresh_token'))) return false
    return this.#revoke(access, 'access_token')
  }

  async #revoke(token: string, kind: 'refresh_token' | 'access_token'): Promise<boolean> {
    if (this.#issuer.revocation_endpoint === undefined) return true
    const options = { ...this.#common(), additionalParameters: { token_type_hint: kind } }
    try {
      const { status, body } = await revocationRequest(...this.#party(), token, options)
      await body?.cancel()
      return status !== 429 && status < 500
    } catch {
      return false
    }
  }

  /** True when the issuer wants the nonce of this answer in the proof, or refuses the time of the hub's clock. */
  #repeats(response: Response, text: string): boolean {
    const wantsNonce = this.#proofKey && response.status === 400 && membersOf(text).error === 'use_dpop_nonce'
    return wantsNonce || this.#adjusts(response, text)
  }

  /** True when the issuer refused a signature, and its clock is another than the hub's: the next one has its time. */
  #adjusts({ headers }: Response, text: string): boolean {
    const { error } = membersOf(text)
    const isSigned = error === 'invalid_dpop_proof' ? this.#proofKey !== undefined : this.#client.key !== undefined
    if (!isSigned || (error !== 'invalid_dpop_proof' && error !== 'invalid_client')) return false
    const skew = Math.round((Date.parse(headers.get('date') ?? '') - Date.now()) / 1_000)
    if (!(Math.abs(skew) >= LEAST_SKEW && Math.abs(skew) <= MOST_SKEW) || this.#skew !== 0) return false
    this.#skew = skew
    this.#proofs = undefined
    return true
  }

  #party(): [AuthorizationServer, Client, ClientAuth] {
    const client = { client_id: this.#client.id, [clockSkew]: this.#skew }
    return [this.#issuer, client, clientAuth(this.#errors, this.#client)]
  }

  async #options(resource: string | undefined) {
    const key = this.#proofKey
    this.#proofs ??= key && proofsOf(key, this.#skew)
    const proofs = await this.#proofs
    return {
      ...this.#common(),
      ...(proofs ? { DPoP: proofs } : {}),
      ...(resource === undefined ? {} : { additionalParameters: { resource } }),
    }
  }

  #common() {
    // Addresses were checked when the metadata was read: http is on loopback alone.
    return { [customFetch]: webFetch(this.#fetch), [allowInsecureRequests]: true }
  }

  async #ask(ask: () => Promise<Response>, kind: TokenKind = 'bearer'): Promise<Tokens> {
    const { status, text } = await this.#answer(ask)
    return readTokens(this.#errors, this.#issuer.issuer, status, text, { kind, proofKey: this.#proofKey })
  }

  async #answer(ask: () => Promise<Response>): Promise<{ readonly status: number; readonly text: string }> {
    let response: Response
    let text: string
    try {
      response = await ask()
      text = await response.text()
      for (let times = 0; times < MOST_REPEATS && this.#repeats(response, text); times += 1) {
        response = await ask()
        text = await response.text()
      }
    } catch (cause) {
      if (cause instanceof HubError && cause.code === 'client_refused') throw cause
      throw unreachable(this.#errors, this.#issuer.issuer, cause)
    }
    const { status } = response
    if (status === 429 || status >= 500) throw unreachable(this.#errors, this.#issuer.issuer, `HTTP ${status}`)
    return { status, text }
  }
}

/**
 * Reads an answer of a token endpoint, in the forms that issuers really send: JSON or a form, whatever its content type, with
 * an `error` also under HTTP 200, and empty texts for what is missing.
 */
export function readTokens(
  { error }: Errors,
  issuer: string,
  status: number,
  text: string,
  { kind = 'bearer', proofKey }: { readonly kind?: TokenKind; readonly proofKey?: JsonObject | undefined } = {},
): Tokens {
  const answer = membersOf(text)
  const refusal = textOf(answer.error)
  if (refusal !== undefined) throw new TokenRefusal(refusal)
  const access = textOf(answer.access_token)
  if (status < 200 || status > 299 || access === undefined)
    throw error('issuer_unreachable', `${issuer} answered with HTTP ${status} and no token`, {
      data: { retryAfterSeconds: 5 },
    })
  const type = (textOf(answer.token_type) ?? 'bearer').toLowerCase()
  const isBound = proofKey !== undefined && type === 'dpop'
  if (!isBound && type !== kind)
    throw error('issuer_unusable', `${issuer} gives tokens of the type "${type.slice(0, 40)}", not "${kind}"`)
  const refresh = textOf(answer.refresh_token)
  if (access.length > MOST_TOKEN || (refresh?.length ?? 0) > MOST_TOKEN) throw tooLarge({ error }, issuer)
  if (!/^[\x21-\x7e]+$/.test(access))
    throw error('issuer_unusable', `${issuer} gave a token that cannot be sent in a header`)
  return { ...restOf(answer), access, ...(refresh === undefined ? {} : { refresh }), ...(isBound ? { proofKey } : {}) }
}

function restOf({ scope, expires_in }: Readonly<Record<string, unknown>>): Pick<Tokens, 'scope' | 'expiresIn'> {
  const granted = readScopes(textOf(scope))
  const expiresIn = Number(expires_in)
  return {
    ...(granted === undefined ? {} : { scope: granted.join(' ') }),
    ...(Number.isFinite(expiresIn) && expiresIn > 0 ? { expiresIn } : {}),
  }
}

function tooLarge({ error }: Errors, issuer: string): HubError {
  return error('token_too_large', `${issuer} gave a token of more than ${MOST_TOKEN} characters`)
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return Object.fromEntries(new URLSearchParams(text))
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An assertion by the key, else the secret. Basic by `encodeURIComponent`: some servers do not decode what the stricter form escapes. */
function clientAuth({ error }: Errors, { id, secret, key, method }: IssuerClient): ClientAuth {
  if (key !== undefined)
    return async (...request) => {
      const signing = await signingKey(key)
      if (!signing) throw error('client_refused', `"oauth.key" of the client ${id} is no private key that can sign`)
      return PrivateKeyJwt(signing)(...request)
    }
  if (secret === undefined || method === 'none') return None()
  return (_issuer, client, body, headers) => {
    if (method === 'client_secret_basic') {
      const pair = `${encodeURIComponent(client.client_id)}:${encodeURIComponent(secret)}`
      headers.set('authorization', `Basic ${btoa(pair)}`)
      return
    }
    body.set('client_id', client.client_id)
    body.set('client_secret', secret)
  }
}
