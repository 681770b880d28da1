import { createHash, timingSafeEqual } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose'
import { type GuardedFetch, isJsonObject, type JsonObject } from 'patchbay/contract'
import type { Clients } from './clients.ts'
import { type ClientDocuments, isDocumentId } from './documents.ts'
import { OAuthError } from './errors.ts'
import { ASSERTION_ALGORITHMS } from './metadata.ts'
import { isSealedId, type SealedClients } from './sealed-clients.ts'
import type { ClientMethod } from './tables.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const LONGEST_ASSERTION_SECONDS = 600
const MOST_USED = 10_000
const KEY_BYTES = 64 * 1_024

interface ProofDeps {
  readonly clients: Clients
  readonly sealed: SealedClients
  readonly documents: ClientDocuments
  fetchFor(userId: string): GuardedFetch
}

/** A request to `/token` or `/revoke`. */
export interface ProvenRequest {
  readonly form: ReadonlyMap<string, string>
  readonly headers: Readonly<Record<string, string>>
  readonly baseUrl: string
}

/** The credentials that a request of a client holds, before they are checked. */
interface Sent {
  readonly method: ClientMethod
  readonly id: string
  readonly secret: string
}

/** Checks which client sends a request. */
export class ClientProof {
  readonly #deps: ProofDeps
  /** Assertions that were used, with their ends. */
  readonly #used = new Map<string, number>()

  constructor(deps: ProofDeps) {
    this.#deps = deps
  }

  /**
   * The id of the client. `known`: how a client with a document has to prove itself, by what its user agreed to. Throws
   * `invalid_client`, `invalid_request`.
   */
  async check(
    request: ProvenRequest,
    known: (clientId: string) => Promise<{ readonly method: ClientMethod; readonly userId: string } | undefined>,
  ): Promise<string> {
    const sent = sentBy(request)
    const wrong = (message: string) => invalidClient(message, request.headers.authorization !== undefined)
    if (isDocumentId(sent.id)) {
      const agreed = await known(sent.id)
      // Without anything agreed there is nothing to get, whatever the proof.
      if (!agreed) return sent.id
      if (agreed.method !== sent.method) throw wrong(`The client proves itself by ${agreed.method}`)
      if (agreed.method === 'private_key_jwt') await this.#checkAssertion(sent, agreed.userId, request.baseUrl)
      return sent.id
    }
    const { method, isSecret } = await this.#kept(sent.id)
    if (method === undefined) throw wrong('There is no such client; register again')
    if (method !== sent.method) throw wrong(`The client proves itself by ${method}`)
    if (method !== 'none' && !isSecret(sent.secret)) throw wrong('The secret of the client is wrong')
    return sent.id
  }

  /** A client without a document. */
  async #kept(id: string): Promise<{ method?: ClientMethod; isSecret(secret: string): boolean }> {
    const { clients, sealed } = this.#deps
    const registered = clients.registered(id)
    if (registered) return { method: registered.method, isSecret: secret => sealed.isSecretOf(id, secret) }
    const listed = isSealedId(id) ? undefined : await clients.listed(id)
    if (!listed) return { isSecret: () => false }
    return { method: listed.method, isSecret: secret => isHashOf(secret, listed.secret_hash) }
  }

  async #checkAssertion({ id, secret: assertion }: Sent, userId: string, base: string): Promise<void> {
    try {
      const { keys } = await this.#deps.documents.read(id, userId)
      const set = typeof keys === 'string' ? await this.#keysAt(keys, userId) : keys
      const audience = [base, `${base}/token`, `${base}/revoke`]
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(set as unknown as JSONWebKeySet), {
        ...{ algorithms: ASSERTION_ALGORITHMS, audience, issuer: id, subject: id, clockTolerance: 30 },
        requiredClaims: ['exp', 'jti'],
      })
      const exp = Number(payload.exp)
      const now = Date.now() / 1_000
      if (exp > now + LONGEST_ASSERTION_SECONDS) throw new Error('it is valid for too long')
      const use = `${id} ${payload.jti}`
      if (this.#used.has(use)) throw new Error('it was used already')
      this.#used.set(use, exp)
      for (const [old, end] of this.#used) {
        if (end > now - 60 && this.#used.size <= MOST_USED) break
        this.#used.delete(old)
      }
    } catch (error) {
      throw invalidClient(`The assertion of the client is not valid: ${(error as Error).message}`, false)
    }
  }

  async #keysAt(url: string, userId: string): Promise<JsonObject> {
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:')
      throw new Error('its keys are not at an https address')
    const signal = AbortSignal.timeout(5_000)
    const headers = { accept: 'application/json' }
    const response = await this.#deps.fetchFor(userId)(url, { method: 'GET', headers, signal, maxBytes: KEY_BYTES })
    const value: unknown = JSON.parse(await response.text())
    if (response.status !== 200 || !isJsonObject(value)) throw new Error('its keys cannot be read')
    return value
  }
}

function sentBy({ form, headers }: ProvenRequest): Sent {
  const id = form.get('client_id')
  const secret = form.get('client_secret')
  const assertion = form.get('client_assertion')
  const { authorization } = headers
  const ways = [authorization, secret, assertion].filter(way => way !== undefined)
  if (ways.length > 1) throw new OAuthError('invalid_request', 'The client proves itself in more than one way')
  if (authorization !== undefined) return basic(authorization, id)
  if (assertion !== undefined) {
    if (form.get('client_assertion_type') !== ASSERTION_TYPE)
      throw new OAuthError('invalid_request', 'The type of the assertion is not known')
    return { method: 'private_key_jwt', id: id ?? subjectOf(assertion), secret: assertion }
  }
  if (id === undefined) throw invalidClient('The client does not say which one it is', false)
  return secret === undefined ? { method: 'none', id, secret: '' } : { method: 'client_secret_post', id, secret }
}

function basic(authorization: string, named: string | undefined): Sent {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization) ?? []
  const [, rawId, rawSecret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? []
  if (rawId === undefined || rawSecret === undefined) throw invalidClient('The Authorization header is not Basic', true)
  const id = decoded(rawId)
  if (named !== undefined && named !== id) throw invalidClient('The request names two clients', true)
  return { method: 'client_secret_basic', id, secret: decoded(rawSecret) }
}

/** As a form encodes it (RFC 6749, section 2.3.1). */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

function subjectOf(assertion: string): string {
  try {
    return decodeJwt(assertion).sub ?? ''
  } catch {
    return ''
  }
}

/** The stored form of the secret of a listed client, which is random. */
export function secretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

function isHashOf(secret: string, hash: string | null): boolean {
  if (hash === null) return false
  const [a, b] = [Buffer.from(secretHash(secret)), Buffer.from(hash)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function invalidClient(message: string, isBasic: boolean): OAuthError {
  return new OAuthError('invalid_client', message, 401, isBasic ? { 'www-authenticate': 'Basic realm="patchbay"' } : {})
}
