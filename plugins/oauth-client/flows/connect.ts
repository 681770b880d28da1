import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { type GuardedFetch, HubError, type PluginContext, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { Broker } from '../broker.ts'
import type { Credential } from '../credentials/store.ts'
import { type BearerChallenge, bearerChallenge } from '../discovery/challenge.ts'
import { type DiscoveryWishes, discover, requireCodeFlow, texts } from '../discovery/discovery.ts'
import { fetchAround } from '../discovery/reach.ts'
import { distinctScopes } from '../discovery/scopes.ts'
import { serverOauth, serverUrl } from '../server-config.ts'
import { newProofKey } from '../tokens/proof-key.ts'
import { TokenEndpoint, TokenRefusal } from '../tokens/tokens.ts'
import { authorizeUrl, type Flow, Flows, ownParameter } from './flows.ts'

/** The path at which the browser comes back, below the hub's address. */
export const CALLBACK = '/oauth/callback'
/** The path at which issuers read about the hub, below its address. */
export const DOCUMENT = '/oauth/client-metadata.json'

/** A user's wishes at the start of a sign-in. */
interface Wanted {
  readonly forAll: boolean
  readonly scopes: readonly string[]
  /** The address of the hub as the user's browser has it. */
  readonly baseUrl: string
}

/** Begins and finishes sign-ins, and ends them. */
export class Connect {
  readonly flows = new Flows()
  readonly #context: PluginContext<{ readonly clientMetadataUrl?: string | undefined }>
  readonly #broker: Broker

  constructor(context: PluginContext<{ readonly clientMetadataUrl?: string | undefined }>, broker: Broker) {
    this.#context = context
    this.#broker = broker
  }

  /** Throws what keeps the user from signing in at the server. */
  async begin(
    actor: UserActor,
    ref: string,
    wanted: Wanted,
  ): Promise<{ readonly flow: Flow; readonly authorizeUrl: string }> {
    const { error, states } = this.#context
    const found = await this.#context.servers.find(actor, ref)
    this.#requireRight(actor, found, wanted)
    const before = await states.target(found.id)
    const url = serverUrl(before.config)
    if (!url) throw error('issuer_unusable', `"${found.name}" has no address at which one could sign in`)
    const fetch = fetchAround(this.#context, before)
    const challenge = this.#broker.challengeOf(found.id) ?? (await challengeAt(fetch, url))
    const held = await this.#broker.store.find(actor.userId, found.id)
    const wishes = { configured: serverOauth(before.config)?.issuer, inUse: held?.issuer }
    const discovery = this.#discovered(fetch, url, challenge, wishes)
    const { endpoint, ...discovered } = await this.#broker.refusals.during(actor.userId, found.id, discovery)
    const { issuer, resource } = discovered
    await this.#markServer(actor, found, wanted)
    const target = await states.target(found.id)
    const oauth = serverOauth(target.config)
    if (oauth && oauth.grant !== 'code')
      throw error('issuer_unusable', `"${found.name}" needs nobody to sign in: its "oauth.grant" is "${oauth.grant}"`)
    const { parameters = {} } = oauth ?? {}
    const own = ownParameter(parameters)
    if (own !== undefined)
      throw error(
        'issuer_unusable',
        `The hub sets "${own}" itself: take it out of "oauth.parameters" of "${found.name}"`,
      )
    const supported = texts(issuer.scopes_supported)
    const usual = challenge.scope?.split(/\s+/) ?? oauth?.scopes ?? discovered.scopesSupported ?? []
    const asked = held && held.issuer === issuer.issuer ? words(held.scopes_asked) : []
    const offline = supported?.includes('offline_access') ? ['offline_access'] : []
    const scopes = distinctScopes([...wanted.scopes, ...offline, ...usual, ...asked])
    const redirectUri = `${wanted.baseUrl}${CALLBACK}`
    const place = { redirectUri, document: this.#document(wanted.baseUrl) }
    const client = await this.#broker.clients.of(fetch, issuer, place, oauth ?? {})
    await this.#broker.requireOwnClient(found, client, issuer.issuer, redirectUri)
    const flow = this.flows.begin({
      ...{ userId: actor.userId, serverId: found.id, server: `${found.ownerName}~${found.name}` },
      ...{ issuer, client, redirectUri, resource, scopes, sendsResource: oauth?.omitsResource !== true, parameters },
      isBound: discovered.isBound,
      widens: held?.state === 'active',
    })
    return { flow, authorizeUrl: await authorizeUrl(endpoint, flow) }
  }

  /** Takes the address to which the issuer sent the browser. Throws what keeps the sign-in from being finished. */
  async finish(actor: UserActor, address: string): Promise<Credential> {
    const { error } = this.#context
    const parameters = URL.parse(address)?.searchParams ?? new URLSearchParams()
    const flow = this.flows.byState(parameters.get('state') ?? '')
    if (!flow)
      throw error('flow_unknown', 'This sign-in is not under way: it was finished, or began over ten minutes ago')
    // The flow stays: a link that somebody else opened neither ties an account to it nor ends it.
    if (flow.userId !== actor.userId) throw error('flow_foreign', 'Another user of the hub began this sign-in')
    try {
      const credential = await this.#redeem(actor, flow, parameters)
      flow.outcome = { state: 'done' }
      if (flow.widens) this.#broker.stepped(flow.userId, flow.serverId)
      this.#context.states.credentialChanged(flow.serverId, flow.userId, 'gained')
      return credential
    } catch (thrown) {
      const code = thrown instanceof HubError ? thrown.code : 'internal'
      flow.outcome = { state: 'failed', code }
      throw thrown
    }
  }

  /** Ends a sign-in, also on the connections that use it. Its issuer takes the tokens back a moment later. */
  async disconnect(actor: UserActor, id: string): Promise<void> {
    const { error, states } = this.#context
    const credential = (await this.#broker.store.of(actor.userId)).find(one => one.id === id)
    if (!credential) throw error('connection_not_found', 'You have no such connection')
    const { server_id: serverId, user_id: userId } = credential
    await this.#broker.store.remove(credential)
    this.flows.end(userId, serverId)
    states.credentialChanged(serverId, userId, 'lost')
  }

  /** Throws `pkce_unsupported` besides what discovery throws. */
  async #discovered(...place: [GuardedFetch, URL, BearerChallenge, DiscoveryWishes]) {
    const discovered = await discover(this.#context, ...place)
    return { ...discovered, endpoint: requireCodeFlow(this.#context, discovered.issuer) }
  }

  async #redeem(actor: UserActor, flow: Flow, parameters: URLSearchParams): Promise<Credential> {
    const { error, registry, states } = this.#context
    const { issuer, client, redirectUri, verifier, resource } = flow
    const checked = this.#checked(flow, parameters)
    // Whoever may no longer use the server signs in there no more.
    if (!(await registry.server(actor, flow.serverId)))
      throw error('flow_unknown', 'The server of this sign-in is gone, or you may not use it any more')
    const fetch = fetchAround(this.#context, await states.target(flow.serverId))
    const proofKey = flow.isBound ? await newProofKey() : undefined
    const endpoint = new TokenEndpoint(this.#context, fetch, issuer, client, proofKey)
    try {
      const tokens = await endpoint.code(checked, redirectUri, verifier, flow.sendsResource ? resource : undefined)
      const { userId, serverId, scopes: asked } = flow
      const credential = await this.#broker.store.signedIn({
        userId,
        serverId,
        resource,
        asked,
        client,
        issuer,
        tokens,
      })
      this.#broker.refresher.noted(credential)
      return credential
    } catch (cause) {
      if (!(cause instanceof TokenRefusal)) throw cause
      const isClient = cause.error === 'invalid_client' || cause.error === 'unauthorized_client'
      if (isClient && client.kind === 'registered') await this.#broker.clients.forget(issuer.issuer, client.id)
      const what = isClient ? 'the client' : 'the code'
      throw error(
        isClient ? 'client_refused' : 'sign_in_denied',
        `${issuer.issuer} refused ${what}: ${cause.error.slice(0, 100)}`,
      )
    }
  }

  /** Throws `issuer_mismatch` for an answer of another issuer, whose text is not shown, and `sign_in_denied` for an error. */
  #checked({ issuer, client, state }: Flow, parameters: URLSearchParams): URLSearchParams {
    const { error } = this.#context
    const doubled = [...new Set(parameters.keys())].find(name => parameters.getAll(name).length > 1)
    if (doubled !== undefined)
      throw error('sign_in_denied', `The answer of ${issuer.issuer} has several "${doubled.slice(0, 40)}"`)
    try {
      return validateAuthResponse(issuer, { client_id: client.id }, parameters, state)
    } catch (cause) {
      if (cause instanceof AuthorizationResponseError)
        throw error('sign_in_denied', `${issuer.issuer} did not grant it: ${cause.error.slice(0, 100)}`, { cause })
      const isIssuer = parameters.has('iss') || issuer.authorization_response_iss_parameter_supported === true
      if (isIssuer && parameters.get('iss') !== issuer.issuer)
        throw error('issuer_mismatch', `The answer does not come from ${issuer.issuer}, or does not say so`, { cause })
      throw error('sign_in_denied', `The answer of ${issuer.issuer} has no code`, { cause })
    }
  }

  #requireRight(actor: UserActor, { ownerId, name, config }: ServerRecord, { forAll }: Wanted): void {
    if (ownerId === actor.userId) return
    if (forAll || config.credentials === 'owner')
      throw new HubError('not_owner', `Only the owner of "${name}" signs in for all who use it`)
    if (!serverOauth(config)) throw new HubError('not_owner', `The owner of "${name}" signs in first`)
  }

  /** The configuration says from the first sign-in on that people sign in, so that nobody's calls carry the owner's tokens. */
  async #markServer(actor: UserActor, found: ServerRecord, { forAll }: Wanted): Promise<void> {
    const { config, ownerName, name } = found
    if (found.ownerId !== actor.userId) return
    const patch = {
      ...(serverOauth(config) ? {} : { oauth: {} }),
      ...(forAll && config.credentials !== 'owner' ? { credentials: 'owner' } : {}),
    }
    if (Object.keys(patch).length > 0) await this.#context.servers.patch(actor, `${ownerName}~${name}`, patch)
  }

  #document(baseUrl: string): string | undefined {
    const { clientMetadataUrl } = this.#context.config
    return clientMetadataUrl ?? (baseUrl.startsWith('https:') ? `${baseUrl}${DOCUMENT}` : undefined)
  }
}

/** The challenge of a server for a request without a token; empty where it takes the request, or cannot be reached. */
async function challengeAt(fetch: GuardedFetch, url: URL): Promise<BearerChallenge> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'patchbay', version: '1' } }
  try {
    const response = await fetch(url.href, {
      ...{ method: 'POST', headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 64 * 1024 },
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    response.cancel()
    return response.status === 401 ? bearerChallenge(response.headers['www-authenticate']) : {}
  } catch (error) {
    if (error instanceof HubError) return {}
    throw error
  }
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter(word => word !== '')
}
