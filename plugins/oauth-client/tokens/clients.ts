import type { AuthorizationServer } from 'oauth4webapi'
import { type GuardedFetch, HubError, isJsonObject, type PluginContext } from 'patchbay/contract'
import type { OauthTables } from '../credentials/tables.ts'
import { type Errors, texts } from '../discovery/discovery.ts'
import { isLoopback } from '../discovery/web.ts'

/** Ways in which a client proves who it is at the token endpoint. */
export type ClientMethod = 'none' | 'client_secret_post' | 'client_secret_basic' | 'private_key_jwt'

/** The hub as a client of one issuer. */
export interface IssuerClient {
  readonly id: string
  readonly secret?: string
  /** The private key with which it signs assertions, in PEM. */
  readonly key?: string
  readonly method: ClientMethod
  /** Its origin: the configuration of the server, a metadata document, or a registration of the hub. */
  readonly kind: 'given' | 'document' | 'registered'
}

/** The place at which the hub needs a client. */
export interface ClientPlace {
  /** Empty where no browser comes back. */
  readonly redirectUri: string
  /** The address of the hub's metadata document; undefined for one that nobody outside could read. */
  readonly document: string | undefined
  /** A person enters a code elsewhere. Such clients are registrations of their own, or configured. */
  readonly isDevice?: boolean
}

/** The client in the `oauth` of a server. */
export interface GivenClient {
  readonly clientId?: string | undefined
  readonly clientSecret?: string | undefined
  readonly key?: string | undefined
  readonly method?: ClientMethod | undefined
}

/** The order in which the ways are preferred where the issuer offers several. */
const METHODS: readonly ClientMethod[] = ['none', 'client_secret_post', 'client_secret_basic']
/** The usual way of an issuer that lists none (RFC 8414). */
const USUAL: readonly string[] = ['client_secret_basic']

/** The grant by a code that a person enters on another device (RFC 8628). */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
/** Longest client id that is kept, in characters. */
const MOST_ID = 2_048

/** Finds the hub's client at an issuer, and registers it where that is offered. */
export class Clients {
  readonly #context: PluginContext<unknown>
  readonly #most: number

  /** `most`: registrations that are kept. */
  constructor(context: PluginContext<unknown>, most: number) {
    this.#context = context
    this.#most = most
  }

  /**
   * The configured client, else the hub's metadata document where the issuer reads such, else a registration. Throws
   * `client_needed`, `issuer_unreachable`.
   */
  async of(
    fetch: GuardedFetch,
    issuer: AuthorizationServer,
    place: ClientPlace,
    given: GivenClient,
  ): Promise<IssuerClient> {
    if (given.clientId !== undefined) return givenClient(given.clientId, given, issuer)
    const { redirectUri, document, isDevice = false } = place
    if (document !== undefined && issuer.client_id_metadata_document_supported === true)
      return { id: document, method: 'none', kind: 'document' }
    // A registration with a redirect URI may not have the other grant, which has no such URI.
    const key = isDevice ? DEVICE_GRANT : redirectUri
    const known = await this.#known(issuer.issuer, key)
    if (known) return known
    if (typeof issuer.registration_endpoint !== 'string')
      throw this.#needed(redirectUri, `${issuer.issuer} registers no clients by itself`)
    const metadata = isDevice ? deviceMetadata() : clientMetadata(redirectUri)
    return this.#register(fetch, issuer, issuer.registration_endpoint, { redirectUri, key, metadata })
  }

  /** The issuer does not know the hub's registration any more. */
  async forget(issuer: string, clientId: string): Promise<void> {
    await this.#tables.write(db =>
      db.deleteFrom('registration').where('issuer', '=', issuer).where('client_id', '=', clientId).execute(),
    )
  }

  get #tables() {
    return this.#context.tables<OauthTables>()
  }

  async #known(issuer: string, redirectUri: string): Promise<IssuerClient | undefined> {
    const row = await this.#tables.read(db =>
      db
        .selectFrom('registration')
        .selectAll()
        .where('issuer', '=', issuer)
        .where('redirect_uri', '=', redirectUri)
        .executeTakeFirst(),
    )
    if (!row || (row.expires_at !== null && row.expires_at <= new Date().toISOString())) return undefined
    const secret = row.sealed === null ? undefined : this.#context.sealing.open('registration', row, row.sealed)
    return registered(row.client_id, secret, row.method)
  }

  async #register(
    fetch: GuardedFetch,
    issuer: AuthorizationServer,
    endpoint: string,
    { redirectUri, key, metadata }: { readonly redirectUri: string; readonly key: string; readonly metadata: object },
  ): Promise<IssuerClient> {
    const method = offeredMethod(issuer, METHODS)
    const asked = fetch(endpoint, {
      ...{ method: 'POST', headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 64 * 1024 },
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        // Without "scope": the client serves all servers of the issuer, and issuers refuse scopes beyond a registered list.
        ...metadata,
        token_endpoint_auth_method: method,
      }),
    })
    const { status, text } = await asked
      .then(async response => ({ status: response.status, text: await response.text() }))
      .catch((cause: unknown) => {
        throw unreachable(this.#context, issuer.issuer, cause)
      })
    const answer = parsed(text)
    if (status === 429 || status >= 500) throw unreachable(this.#context, issuer.issuer, `HTTP ${status}`)
    if (status < 200 || status > 299 || typeof answer.client_id !== 'string' || answer.client_id.length > MOST_ID) {
      const why = typeof answer.error === 'string' ? answer.error.slice(0, 100) : `HTTP ${status}`
      throw this.#needed(redirectUri, `${issuer.issuer} did not register the hub (${why})`)
    }
    const secret =
      typeof answer.client_secret === 'string' && answer.client_secret !== '' ? answer.client_secret : undefined
    const named = typeof answer.token_endpoint_auth_method === 'string' ? answer.token_endpoint_auth_method : method
    const client = registered(answer.client_id, secret, named)
    await this.#keep(issuer.issuer, key, client, answer.client_secret_expires_at)
    return client
  }

  #needed(redirectUri: string, why: string): HubError {
    const kind = redirectUri === '' ? `for the grant ${DEVICE_GRANT}` : `with the redirect URI ${redirectUri}`
    return this.#context.error('client_needed', `${why}; register a client there ${kind}`, { data: { redirectUri } })
  }

  async #keep(issuer: string, redirectUri: string, client: IssuerClient, expires: unknown): Promise<void> {
    const row = { id: crypto.randomUUID(), user_id: null }
    const { sealing } = this.#context
    const expiresAt = typeof expires === 'number' && expires > 0 ? new Date(expires * 1_000).toISOString() : null
    await this.#tables.write(async db => {
      await db.deleteFrom('registration').where('issuer', '=', issuer).where('redirect_uri', '=', redirectUri).execute()
      // Sign-ins keep the client with which they were made; a registration that is gone is made again.
      await db
        .deleteFrom('registration')
        .where('id', 'not in', newest =>
          newest
            .selectFrom('registration')
            .select('id')
            .orderBy('made_at', 'desc')
            .limit(this.#most - 1),
        )
        .execute()
      await db
        .insertInto('registration')
        .values({
          ...{ ...row, issuer, redirect_uri: redirectUri, client_id: client.id, method: client.method },
          made_at: new Date().toISOString(),
          expires_at: expiresAt,
          sealed: client.secret === undefined ? null : sealing.seal('registration', row, client.secret),
        })
        .execute()
    })
  }
}

/** The hub's description of itself for issuers, in registrations and in its metadata document. */
export function clientMetadata(redirectUri: string) {
  const isNative = isLoopback(new URL(redirectUri))
  return {
    client_name: 'Patchbay',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: isNative ? 'native' : 'web',
  }
}

function deviceMetadata() {
  return {
    client_name: 'Patchbay',
    redirect_uris: [],
    grant_types: [DEVICE_GRANT, 'refresh_token'],
    response_types: [],
    application_type: 'native',
  }
}

function givenClient(
  id: string,
  { clientSecret, key, method }: GivenClient,
  issuer: AuthorizationServer,
): IssuerClient {
  if (key !== undefined && (method ?? 'private_key_jwt') === 'private_key_jwt')
    return { id, key, method: 'private_key_jwt', kind: 'given' }
  if (clientSecret === undefined) return { id, method: 'none', kind: 'given' }
  const wanted = method ?? offeredMethod(issuer, METHODS.slice(1))
  const sent = wanted === 'client_secret_basic' ? wanted : 'client_secret_post'
  return { id, secret: clientSecret, method: sent, kind: 'given' }
}

function registered(id: string, secret: string | undefined, method: string): IssuerClient {
  if (secret === undefined || method === 'none') return { id, method: 'none', kind: 'registered' }
  return { id, secret, method: method === 'client_secret_post' ? method : 'client_secret_basic', kind: 'registered' }
}

function offeredMethod(issuer: AuthorizationServer, wanted: readonly ClientMethod[]): ClientMethod {
  const offered = texts(issuer.token_endpoint_auth_methods_supported) ?? USUAL
  return wanted.find(method => offered.includes(method)) ?? wanted[0] ?? 'none'
}

/** The error for an issuer that gave no answer, or none that says anything. */
export function unreachable({ error }: Errors, issuer: string, cause: unknown): HubError {
  const why = cause instanceof HubError ? cause.message : typeof cause === 'string' ? cause : 'it did not answer'
  return error('issuer_unreachable', `${issuer} could not be asked: ${why}`, { cause, data: { retryAfterSeconds: 5 } })
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}
