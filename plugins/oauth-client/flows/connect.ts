import { AuthorizationResponseError, validateAuthResponse } from 'oauth4webapi'
import { type GuardedFetch, HubError, type PluginContext, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { Broker } from '../broker.ts'
import type { Credential } from '../credentials/store.ts'
import { type BearerChallenge, bearerChallenge } from '../discovery/challenge.ts'
import { type DiscoveryWishes, discover, requireCodeFlow, requireDeviceFlow, texts } from '../discovery/discovery.ts'
import { fetchAround } from '../discovery/reach.ts'
import { distinctScopes } from '../discovery/scopes.ts'
import { isByPerson, serverOauth, serverUrl } from '../server-config.ts'
import { newProofKey } from '../tokens/proof-key.ts'
import { TokenEndpoint, TokenRefusal } from '../tokens/tokens.ts'
import { DeviceSignIns } from './device.ts'
import { authorizeUrl, type CodeFlow, type DeviceFlow, type FlowPlace, Flows, ownParameter } from './flows.ts'
import { complete, fail, refusal } from './outcome.ts'

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

/** A sign-in that has begun: by a browser, which goes to `authorizeUrl`, or by a code. */
type Begun =
  | { readonly flow: CodeFlow; readonly authorizeUrl: string }
  | { readonly flow: DeviceFlow; readonly authorizeUrl?: undefined }

/** Begins and finishes sign-ins, and ends them. */
export class Connect {
  readonly flows = new Flows()
  readonly #context: PluginContext<{ readonly clientMetadataUrl?: string | undefined }>
  readonly #broker: Broker
  readonly #devices: DeviceSignIns

  constructor(context: PluginContext<{ readonly clientMetadataUrl?: string | undefined }>, broker: Broker) {
    this.#context = context
    this.#broker = broker
    this.#devices = new DeviceSignIns(context, broker, this.flows)
  }

  /** Throws what keeps the user from signing in at the server. */
  async begin(actor: UserActor, ref: string, wanted: Wanted): Promise<Begun> {
    const { error, states } = this.#context
    const found = await this.#context.servers.find(actor, ref)
    this.#requireRight(actor, found, wanted)
    const before = await states.target(found.id)
    const url = serverUrl(before.config)
    if (!url) throw error('issuer_unusable', `"${found.name}" has no address at which one could sign in`)
    const isDevice = serverOauth(before.config)?.grant === 'device'
    if (isDevice) this.#devices.count(actor.userId)
    const fetch = fetchAround(this.#context, before)
    const challenge = this.#broker.challengeOf(found.id) ?? (await challengeAt(fetch, url))
    const held = await this.#broker.store.find(actor.userId, found.id)
    const wishes = { configured: serverOauth(before.config)?.issuer, inUse: held?.issuer }
    const discovery = this.#discovered(isDevice, fetch, url, challenge, wishes)
    const { endpoint, ...discovered } = await this.#broker.refusals.during(actor.userId, found.id, discovery)
    const { issuer, resource } = discovered
    await this.#markServer(actor, found, wanted)
    const target = await states.target(found.id)
    const oauth = serverOauth(target.config)
    if (oauth && !isByPerson(oauth))
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
    const redirectUri = isDevice ? '' : `${wanted.baseUrl}${CALLBACK}`
    const clientPlace = { redirectUri, document: isDevice ? undefined : this.#document(wanted.baseUrl), isDevice }
    const client = await this.#broker.clients.of(fetch, issuer, clientPlace, oauth ?? {})
    await this.#broker.requireOwnClient(found, client, issuer.issuer, redirectUri)
    const place: FlowPlace = {
      ...{ userId: actor.userId, serverId: found.id, server: `${found.ownerName}~${found.name}` },
      ...{ issuer, client, resource, scopes, sendsResource: oauth?.omitsResource !== true },
      isBound: discovered.isBound,
      widens: held?.state === 'active',
    }
    if (endpoint === undefined)
      return { flow: await this.#devices.begin(place, { fetch, url, ownerId: found.ownerId, parameters }) }
    const flow = this.flows.begin({ ...place, redirectUri, parameters })
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
      return await this.#redeem(actor, flow, parameters)
    } catch (thrown) {
      fail(flow, thrown)
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

  /** Throws `pkce_unsupported` besides what discovery throws. `endpoint`: where the browser goes; undefined with a code. */
  async #discovered(isDevice: boolean, ...place: [GuardedFetch, URL, BearerChallenge, DiscoveryWishes]) {
    const discovered = await discover(this.#context, ...place)
    if (!isDevice) return { ...discovered, endpoint: requireCodeFlow(this.#context, discovered.issuer) }
    requireDeviceFlow(this.#context, discovered.issuer)
    return { ...discovered, endpoint: undefined }
  }

  async #redeem(actor: UserActor, flow: CodeFlow, parameters: URLSearchParams): Promise<Credential> {
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
      return await complete(this.#context, this.#broker, flow, tokens)
    } catch (cause) {
      if (!(cause instanceof TokenRefusal)) throw cause
      throw await refusal(this.#context, this.#broker, flow, cause, 'the code')
    }
  }

  /** Throws `issuer_mismatch` for an answer of another issuer, whose text is not shown, and `sign_in_denied` for an error. */
  #checked({ issuer, client, state }: CodeFlow, parameters: URLSearchParams): URLSearchParams {
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
