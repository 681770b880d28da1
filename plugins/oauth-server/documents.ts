import { type GuardedFetch, HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import type { OAuthServerConfig } from './config.ts'
import type { Fail } from './errors.ts'
import { knownDocument } from './known/documents.ts'
import { isUsable } from './redirects.ts'
import type { ClientMethod } from './tables.ts'
import { WindowCounts } from './throttle.ts'

const FETCH_MS = 5_000
const MOST_BYTES = 10 * 1_024
const MOST_REDIRECTS = 50
const LONGEST_ID = 1_024
const FETCHES_PER_MINUTE = 10
const [LEAST_KEPT_MS, MOST_KEPT_MS] = [300_000, 86_400_000]
const MOST_KEPT = 1_000

/** A client whose id is the address of a document about it. */
export interface DocumentClient {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly method: ClientMethod
  /** The client's public keys, or their address. */
  readonly keys: JsonObject | string | undefined
}

/** True for an id that is the address of a document. */
export function isDocumentId(id: string): boolean {
  return /^https?:/i.test(id)
}

/**
 * Reads client ID metadata documents, in the rights of an ordinary user. Valid ones are kept as long as their server says. Of some clients the
 * hub has a copy for the case that the document cannot be read.
 */
export class ClientDocuments {
  readonly #config: Pick<OAuthServerConfig, 'clientHosts' | 'redirectSchemes'>
  readonly #fetchFor: (userId: string) => GuardedFetch
  readonly #fail: Fail
  readonly #kept = new Map<string, { readonly client: DocumentClient; readonly untilMs: number }>()
  readonly #fetches = new WindowCounts(60_000)

  constructor(
    config: Pick<OAuthServerConfig, 'clientHosts' | 'redirectSchemes'>,
    fetchFor: (userId: string) => GuardedFetch,
    fail: Fail,
  ) {
    this.#config = config
    this.#fetchFor = fetchFor
    this.#fail = fail
  }

  /** Throws `client_refused` with what is wrong; nothing is sent for an id that is no such address. */
  async read(id: string, userId: string): Promise<DocumentClient> {
    this.#checkId(id)
    const known = this.#kept.get(id)
    if (known && known.untilMs > Date.now()) return known.client
    if (this.#fetches.add(userId) > FETCHES_PER_MINUTE)
      throw new HubError('rate_limited', 'Too many documents of clients were fetched for you', {
        retryAfterSeconds: 60,
      })
    const { text, keepMs } = await this.#fetched(id, userId).catch((error: unknown) => {
      const known = knownDocument(id)
      if (known === undefined) throw error
      return { text: known, keepMs: LEAST_KEPT_MS }
    })
    const client = this.#client(id, text)
    this.#kept.delete(id)
    this.#kept.set(id, { client, untilMs: Date.now() + keepMs })
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break
      this.#kept.delete(oldest)
    }
    return client
  }

  #refused(message: string, cause?: unknown): Error {
    return this.#fail('client_refused', message, { cause })
  }

  #checkId(id: string): void {
    const url = id.length <= LONGEST_ID && URL.canParse(id) ? new URL(id) : undefined
    // Equal as text to what a parser makes of it: so there are no dot segments, default ports or other spellings.
    if (url?.protocol !== 'https:' || url.href !== id || url.pathname === '/')
      throw this.#refused('The id of the client is no https address with a path, in its usual spelling')
    if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
      throw this.#refused('The id of the client has a query, a fragment or user info')
    const { clientHosts } = this.#config
    if (clientHosts && !clientHosts.includes(url.hostname))
      throw this.#refused(`The host ${url.hostname} of the client is not one that this hub takes`)
  }

  async #fetched(id: string, userId: string): Promise<{ readonly text: string; readonly keepMs: number }> {
    const signal = AbortSignal.timeout(FETCH_MS)
    const request = { method: 'GET', headers: { accept: 'application/json' }, signal }
    try {
      const limits = { headTimeoutMs: FETCH_MS, idleTimeoutMs: FETCH_MS, maxBytes: MOST_BYTES }
      const response = await this.#fetchFor(userId)(id, { ...request, ...limits })
      const { status, headers } = response
      const type = headers['content-type'] ?? ''
      if (status !== 200 || !/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) {
        response.cancel()
        throw this.#refused(`The document of the client was answered with ${status} and "${type.slice(0, 60)}"`)
      }
      return { text: await response.text(), keepMs: keepMs(headers['cache-control'] ?? '') }
    } catch (error) {
      if (error instanceof HubError && error.own) throw error
      throw this.#refused('The document of the client cannot be read', error)
    }
  }

  #client(id: string, text: string): DocumentClient {
    const document = parsed(text)
    if (!document) throw this.#refused('The document of the client is no JSON object')
    const { client_id, client_name, redirect_uris, token_endpoint_auth_method = 'none', jwks, jwks_uri } = document
    if (client_id !== id) throw this.#refused('The document names another client id')
    if ('client_secret' in document) throw this.#refused('The document has a secret, which is none there')
    if (typeof client_name !== 'string' || client_name.trim() === '') throw this.#refused('The document has no name')
    const isList = Array.isArray(redirect_uris) && redirect_uris.length >= 1 && redirect_uris.length <= MOST_REDIRECTS
    if (!isList || !redirect_uris.every(uri => typeof uri === 'string'))
      throw this.#refused(`The document has not 1 to ${MOST_REDIRECTS} redirect URIs`)
    const method = token_endpoint_auth_method
    if (method !== 'none' && method !== 'private_key_jwt')
      throw this.#refused('The document wants a method of authentication that needs a shared secret')
    const keys = isJsonObject(jwks) ? jwks : typeof jwks_uri === 'string' ? jwks_uri : undefined
    if (method === 'private_key_jwt' && keys === undefined) throw this.#refused('The document has no keys')
    const usable = redirect_uris.filter(uri => isUsable(uri, this.#config))
    return { name: client_name, redirectUris: usable, method, keys }
  }
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function keepMs(cacheControl: string): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return LEAST_KEPT_MS
  const seconds = Number(/\bmax-age=(\d{1,9})/i.exec(cacheControl)?.[1] ?? 0)
  return Math.min(Math.max(seconds * 1_000, LEAST_KEPT_MS), MOST_KEPT_MS)
}
