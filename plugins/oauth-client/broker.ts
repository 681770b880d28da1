import type { HubError, PluginContext } from 'patchbay/contract'
import type {
  Brought,
  CredentialChallenge,
  CredentialSource,
  CredentialStanding,
  CredentialTarget,
} from 'patchbay/features'
import { bounded } from './bounded.ts'
import { BroughtValues, broughtFields } from './credentials/brought-values.ts'
import { type Credential, CredentialStore } from './credentials/store.ts'
import { type BearerChallenge, bearerChallenge } from './discovery/challenge.ts'
import { covers, discover, isSameIssuer, issuersNow, offersSignIn } from './discovery/discovery.ts'
import { MetadataRefusals } from './discovery/metadata-refusals.ts'
import { fetchAround } from './discovery/reach.ts'
import type { LIMITS } from './limits.ts'
import { isByPerson, markForCallers, type ServerOauth, serverOauth, serverUrl } from './server-config.ts'
import { Clients, type IssuerClient } from './tokens/clients.ts'
import { Exchanges } from './tokens/exchange.ts'
import { newProofKey } from './tokens/proof-key.ts'
import { Refresher } from './tokens/refresher.ts'
import { TokenEndpoint, TokenRefusal } from './tokens/tokens.ts'

/** Time for which it is remembered whether a server without `oauth` offers sign-in. */
const OFFER_MS = 60_000
/** Time after a refresh within which a refusal is not answered by another one. */
const FRESH_MS = 5_000
const USE_NOTED_MS = 60_000
/** Grants of a wider permission within this time after which it is said that they have no effect. */
const STEP_MS = 600_000
const MOST_STEPS = 2

/** The last refusal of a server. */
interface Remembered {
  readonly challenge: BearerChallenge
  readonly atMs: number
}

/** Gives connections the tokens of their users, and says where to sign in. */
export class Broker implements CredentialSource {
  readonly store: CredentialStore
  readonly clients: Clients
  readonly refresher: Refresher
  readonly values: BroughtValues
  readonly refusals = new MetadataRefusals()
  readonly #context: PluginContext<unknown>
  readonly #exchanges: Exchanges
  readonly #challenges = new Map<string, Remembered>()
  readonly #offers = new Map<string, { readonly offered: boolean; readonly atMs: number }>()
  /** Times of wider grants, by user and server. */
  readonly #steps = new Map<string, readonly number[]>()
  readonly #noted = new Map<string, number>()
  readonly #acquiring = new Map<string, Promise<Credential>>()

  constructor(context: PluginContext<unknown>) {
    this.#context = context
    const { credentialsPerUser, registrations } = context.limits as typeof LIMITS
    this.store = new CredentialStore(context, credentialsPerUser)
    this.clients = new Clients(context, registrations)
    this.#exchanges = new Exchanges(context, this.clients)
    this.refresher = new Refresher(context, this.store, this.clients)
    this.values = new BroughtValues(context, this.store, serverId => this.pageOf(serverId))
  }

  async forConnection(server: CredentialTarget, userId: string): Promise<Brought | undefined> {
    const fields = broughtFields(server.config)
    if (fields) return this.values.forConnection(server, fields, userId)
    const oauth = serverOauth(server.config)
    const url = serverUrl(server.config)
    if (!oauth || !url) return undefined
    const credential = await this.#valid(server, oauth, holderOf(server, oauth, userId))
    if (!covers(credential.resource, url)) throw this.#resourceChanged(server)
    return this.#brought(credential)
  }

  async refused(
    server: CredentialTarget,
    userId: string,
    used: Pick<Brought, 'id' | 'version'> | undefined,
    challenge: CredentialChallenge,
  ): Promise<Brought | undefined> {
    const url = serverUrl(server.config)
    if (!url) return undefined
    if (broughtFields(server.config))
      return challenge.status === 401 ? this.values.refused(server, userId, used?.version) : undefined
    const oauth = serverOauth(server.config)
    const bearer = bearerChallenge(challenge.header)
    this.#remember(server.id, bearer)
    if (!oauth) return this.#offer(server, url, bearer, challenge)
    const holder = holderOf(server, oauth, userId)
    if (challenge.status === 403) throw this.#scopeNeeded(server, holder, bearer)
    const credential = used && (await this.store.find(holder, server.id))
    if (!used || !credential || credential.state !== 'active') return this.forConnection(server, userId)
    if (credential.version > used.version) return this.#brought(credential)
    await this.#requireSameIssuer(server, url, oauth, credential)
    const isFresh = this.refresher.sinceMs(credential) < FRESH_MS
    if (!isByPerson(oauth)) {
      // Nobody can sign in there: the refusal stands, and the server is tried again some minutes later.
      if (isFresh) return undefined
      return this.#brought(await this.#acquire(server, oauth, holder, credential))
    }
    if (credential.kept.refresh === undefined || isFresh) {
      await this.store.end(credential, 'sign_in_needed')
      throw this.#signInNeeded(server)
    }
    return this.#brought(await this.#refreshed(server, credential))
  }

  async standing(server: CredentialTarget, userId: string): Promise<CredentialStanding | undefined> {
    const fields = broughtFields(server.config)
    if (fields) return this.values.standing(server, fields, userId)
    const oauth = serverOauth(server.config)
    const url = serverUrl(server.config)
    if (!oauth || !url) return undefined
    if (oauth.grant === 'client_credentials') return { state: 'active' }
    const credential = await this.store.find(holderOf(server, oauth, userId), server.id)
    const own = credential?.user_id === userId ? { connection: credential.id } : {}
    const problem = this.#problem(server, url, credential)
    if (!problem) return { state: 'active', ...own }
    const { code, message } = this.refusals.of(userId, server.id) ?? problem
    const state = credential?.state === 'refused' ? 'refused' : 'sign_in_needed'
    return { state, reason: { code, message }, connectUrl: this.pageOf(server.id), ...own }
  }

  /** The challenge of the server's last refusal; undefined where it refused nothing since the hub began. */
  challengeOf(serverId: string): BearerChallenge | undefined {
    return this.#challenges.get(serverId)?.challenge
  }

  /** The address of the page at which a user signs in at a server. */
  pageOf(serverId: string): string {
    return `${this.#context.address()}/connect/${serverId}`
  }

  /** A user was given a permission that a tool wanted. */
  stepped(userId: string, serverId: string): void {
    const key = `${userId} ${serverId}`
    const before = this.#steps.get(key) ?? []
    bounded(this.#steps).set(key, [...before.slice(-MOST_STEPS), Date.now()])
  }

  async #valid(server: CredentialTarget, oauth: ServerOauth, userId: string): Promise<Credential> {
    const credential = await this.store.find(userId, server.id)
    const isClient = !isByPerson(oauth)
    if (credential?.state !== 'active') {
      if (isClient) return this.#acquire(server, oauth, userId, credential)
      if (credential?.state === 'issuer_changed') throw this.#issuerChanged(server)
      if (credential?.state === 'resource_changed') throw this.#resourceChanged(server)
      throw this.#signInNeeded(server, credential?.state === 'refused' ? ': the issuer refused the client' : '')
    }
    this.#noteUse(credential)
    const now = Date.now()
    const isOver = credential.expires_at !== null && Date.parse(credential.expires_at) <= now
    if (!isOver) return credential
    if (isClient) return this.#acquire(server, oauth, userId, credential)
    if (credential.kept.refresh !== undefined) return this.#refreshed(server, credential)
    await this.store.end(credential, 'sign_in_needed')
    throw this.#signInNeeded(server)
  }

  async #refreshed(server: CredentialTarget, credential: Credential): Promise<Credential> {
    const found = await this.refresher.refresh(credential, server)
    if (found) return found
    throw this.#signInNeeded(server)
  }

  /** A token for the hub itself, or for the identity of the user, which needs no sign-in. */
  #acquire(
    server: CredentialTarget,
    oauth: ServerOauth,
    userId: string,
    before: Credential | undefined,
  ): Promise<Credential> {
    const key = `${userId} ${server.id}`
    const running = this.#acquiring.get(key)
    if (running !== undefined) return running
    const work = this.#acquired(server, oauth, userId, before).finally(() => this.#acquiring.delete(key))
    this.#acquiring.set(key, work)
    return work
  }

  async #acquired(
    server: CredentialTarget,
    oauth: ServerOauth,
    userId: string,
    before: Credential | undefined,
  ): Promise<Credential> {
    const { error } = this.#context
    const url = serverUrl(server.config) ?? new URL('about:blank')
    const fetch = fetchAround(this.#context, server)
    const challenge = this.challengeOf(server.id) ?? {}
    const found = await discover(this.#context, fetch, url, challenge, { configured: oauth.issuer })
    const { issuer, resource, scopesSupported, isBound } = found
    if (oauth.clientId === undefined)
      throw error('client_needed', `"${server.name}" signs in as a client: set "oauth.clientId"`, {
        data: { redirectUri: '' },
      })
    const client = await this.clients.of(fetch, issuer, { redirectUri: '', document: undefined }, oauth)
    await this.requireOwnClient(server, client, issuer.issuer)
    const scopes = oauth.scopes ?? (challenge.scope?.split(/\s+/) || scopesSupported) ?? []
    const proofKey = isBound ? await newProofKey() : undefined
    const endpoint = new TokenEndpoint(this.#context, fetch, issuer, client, proofKey)
    try {
      const asked = { server: url, oauth, userId, ownerId: server.ownerId, resource, scopes }
      const place = { ...asked, fetch, issuer: issuer.issuer, endpoint }
      const tokens =
        oauth.grant === 'client_credentials'
          ? await endpoint.client(scopes, oauth.omitsResource ? undefined : resource)
          : await this.#exchanges.tokens(place)
      if (!tokens) {
        const at = oauth.identity?.issuer ?? issuer.issuer
        throw this.#signInNeeded(server, `, and no identity of yours at ${at} is known`)
      }
      const signedIn = { userId, serverId: server.id, resource, asked: scopes, client, issuer, tokens }
      const credential = await this.store.signedIn(signedIn)
      this.refresher.noted(credential)
      if (before) this.#context.states.credentialChanged(server.id, userId, 'renewed')
      return credential
    } catch (cause) {
      if (!(cause instanceof TokenRefusal)) throw cause
      throw error(
        'client_refused',
        `${issuer.issuer} refused the client of "${server.name}" ("oauth.clientId"): ${cause.error}`,
      )
    }
  }

  /** Ends a sign-in whose issuer the server does not name any more: its tokens go nowhere. */
  async #requireSameIssuer(
    server: CredentialTarget,
    url: URL,
    oauth: ServerOauth,
    credential: Credential,
  ): Promise<void> {
    if (oauth.issuer !== undefined || !isByPerson(oauth)) return
    const fetch = fetchAround(this.#context, server)
    const named = await issuersNow(this.#context, fetch, url, this.challengeOf(server.id) ?? {})
    if (!named || named.some(one => isSameIssuer(credential.issuer, one))) return
    await this.store.end(credential, 'issuer_changed')
    throw this.#issuerChanged(server)
  }

  /** Throws `client_needed` for a configured client at another issuer than the one it was first used at. */
  async requireOwnClient(
    { id, name }: Pick<CredentialTarget, 'id' | 'name'>,
    client: IssuerClient,
    issuer: string,
    redirectUri = '',
  ): Promise<void> {
    if (client.kind !== 'given') return
    const own = await this.store.issuerOf(id, client.id)
    if (own === undefined || isSameIssuer(own, issuer)) return
    throw this.#context.error(
      'client_needed',
      `"oauth.clientId" of "${name}" is a client of ${own}, and the server names ${issuer} now; set the client that you have there`,
      { data: { redirectUri } },
    )
  }

  /** For a server without `oauth`: whether it is one that people sign in at. */
  async #offer(
    server: CredentialTarget,
    url: URL,
    bearer: BearerChallenge,
    { status }: CredentialChallenge,
  ): Promise<undefined> {
    if (status !== 401) return undefined
    const known = this.#offers.get(server.id)
    const isKnown = known !== undefined && Date.now() - known.atMs < OFFER_MS
    const fetch = fetchAround(this.#context, server)
    const offered = isKnown ? known.offered : await offersSignIn(this.#context, fetch, url, bearer)
    if (!isKnown) bounded(this.#offers).set(server.id, { offered, atMs: Date.now() })
    if (!offered) return undefined
    await markForCallers(this.#context, server)
    throw this.#signInNeeded(server)
  }

  /** Why a sign-in cannot be used, as far as it is known here. A token that is over and can be refreshed counts as valid. */
  #problem(server: CredentialTarget, url: URL, credential: Credential | undefined): HubError | undefined {
    const { state, resource, expires_at: end, kept } = credential ?? {}
    if (state === 'refused') return this.#signInNeeded(server, ': the issuer refused the client')
    if (state === 'resource_changed') return this.#resourceChanged(server)
    const isOver = typeof end === 'string' && Date.parse(end) <= Date.now() && kept?.refresh === undefined
    if (state !== 'active' || resource === undefined || isOver) return this.#signInNeeded(server)
    return covers(resource, url) ? undefined : this.#resourceChanged(server)
  }

  #scopeNeeded(server: CredentialTarget, userId: string, { scope }: BearerChallenge): HubError {
    const steps = (this.#steps.get(`${userId} ${server.id}`) ?? []).filter(at => Date.now() - at < STEP_MS)
    if (steps.length >= MOST_STEPS)
      return this.#atPage('scope_denied', server, 'still refuses this, though a wider permission was given')
    const scopes = scope?.split(/\s+/) ?? []
    const named = scopes.length === 0 ? '' : ` (${scopes.join(' ')})`
    const page = this.pageOf(server.id)
    const message = `"${server.name}" wants a wider permission for this${named}: open ${page}`
    return this.#context.error('scope_needed', message, { data: { connectUrl: page, scopes } })
  }

  #signInNeeded(server: CredentialTarget, why = ''): HubError {
    return this.#atPage('sign_in_needed', server, `wants you to sign in${why}`)
  }

  #resourceChanged(server: CredentialTarget): HubError {
    return this.#atPage('resource_changed', server, 'has another address since you signed in')
  }

  #issuerChanged(server: CredentialTarget): HubError {
    return this.#atPage('issuer_changed', server, 'has another issuer since you signed in')
  }

  #atPage(
    code: 'sign_in_needed' | 'scope_denied' | 'resource_changed' | 'issuer_changed',
    server: CredentialTarget,
    what: string,
  ): HubError {
    const connectUrl = this.pageOf(server.id)
    return this.#context.error(code, `"${server.name}" ${what}: open ${connectUrl}`, { data: { connectUrl } })
  }

  #remember(serverId: string, challenge: BearerChallenge): void {
    const before = this.#challenges.get(serverId)?.challenge
    const kept = { ...(before?.resourceMetadata ? { resourceMetadata: before.resourceMetadata } : {}), ...challenge }
    bounded(this.#challenges).set(serverId, { challenge: kept, atMs: Date.now() })
  }

  #noteUse(credential: Credential): void {
    if (Date.now() - (this.#noted.get(credential.id) ?? 0) < USE_NOTED_MS) return
    bounded(this.#noted).set(credential.id, Date.now())
    this.store.used(credential).catch((error: unknown) => {
      this.#context.log.warn('The last use of a sign-in could not be noted', { error: String(error) })
    })
  }

  #brought({ id, version, kept }: Credential): Brought {
    const { access, proofKey } = kept
    if (!proofKey) return { id, version, headers: { authorization: `Bearer ${access}` } }
    return { id, version, headers: { authorization: `DPoP ${access}` }, proofKey }
  }
}

/** The user whose sign-in a connection uses: the owner's, where the hub signs in as a client or the owner signs in for all. */
function holderOf({ ownerId, config }: CredentialTarget, { grant }: ServerOauth, userId: string): string {
  return grant === 'client_credentials' || config.credentials === 'owner' ? ownerId : userId
}
