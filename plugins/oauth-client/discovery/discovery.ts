import type { AuthorizationServer } from 'oauth4webapi'
import { type GuardedFetch, HubError, type JsonObject, type PluginContext } from 'patchbay/contract'
import { PROOF_ALGORITHM } from '../tokens/proof-key.ts'
import type { BearerChallenge } from './challenge.ts'
import { readScopes } from './scopes.ts'
import { isSafe, jsonAt, MOST_ADDRESS } from './web.ts'

/** The part of the context that makes errors of the plugin's codes. */
export type Errors = Pick<PluginContext<unknown>, 'error'>

/** A server, as its own metadata describes it, with its issuer. */
export interface Discovered {
  readonly issuer: AuthorizationServer
  /** The value of `resource` in requests. */
  readonly resource: string
  readonly scopesSupported: readonly string[] | undefined
  /** Its tokens are bound to a key of the hub (DPoP). */
  readonly isBound: boolean
}

/** Choices of the configuration and of an earlier sign-in. */
export interface DiscoveryWishes {
  /** The configured issuer, and the one in use. */
  readonly configured?: string | undefined
  readonly inUse?: string | undefined
}

/**
 * Finds the issuer of a server: by the metadata that the challenge names, else at the well-known address with the path of the
 * server, else at that of its origin (RFC 9728). Without metadata the origin is the issuer. Throws `resource_mismatch`,
 * `issuer_mismatch`, `pkce_unsupported`, `issuer_unusable`, `issuer_unreachable`.
 */
export async function discover(
  { error }: Errors,
  fetch: GuardedFetch,
  server: URL,
  challenge: BearerChallenge,
  { configured, inUse }: DiscoveryWishes = {},
): Promise<Discovered> {
  const metadata = await resourceMetadata({ error }, fetch, server, challenge)
  const resource = metadata ? resourceOf({ error }, metadata, server) : canonical(server)
  const offered = metadata ? texts(metadata.authorization_servers) : undefined
  const issuers = offered && offered.length > 0 ? offered : [server.origin]
  const wanted = configured ?? (inUse !== undefined && issuers.includes(inUse) ? inUse : issuers[0]) ?? server.origin
  const scopesSupported = metadata && readScopes(metadata.scopes_supported)
  const issuer = await issuerMetadata({ error }, fetch, wanted, server)
  const isBound = challenge.isBound === true || metadata?.dpop_bound_access_tokens_required === true
  if (isBound && !texts(issuer.dpop_signing_alg_values_supported)?.includes(PROOF_ALGORITHM))
    throw error(
      'issuer_unusable',
      `${server.origin} wants tokens bound to a key, and ${wanted} takes no ${PROOF_ALGORITHM}`,
    )
  return { issuer, resource, scopesSupported, isBound }
}

/** The issuers that the server names now; undefined where it names none, or cannot be asked. */
export async function issuersNow(
  errors: Errors,
  fetch: GuardedFetch,
  server: URL,
  challenge: BearerChallenge,
): Promise<readonly string[] | undefined> {
  const metadata = await resourceMetadata(errors, fetch, server, challenge).catch(() => undefined)
  const issuers = metadata ? texts(metadata.authorization_servers) : undefined
  return issuers && issuers.length > 0 ? issuers : undefined
}

/** True when the server describes itself as a protected resource, or its origin is an issuer. Never rejects. */
export async function offersSignIn(
  errors: Errors,
  fetch: GuardedFetch,
  server: URL,
  challenge: BearerChallenge,
): Promise<boolean> {
  try {
    await discover(errors, fetch, server, challenge)
    return true
  } catch (error) {
    // Metadata that were found and cannot be used are named to whoever tries to sign in.
    return error instanceof HubError && FOUND.has(error.code)
  }
}

const FOUND: ReadonlySet<string> = new Set(['resource_mismatch', 'issuer_mismatch', 'pkce_unsupported'])

async function resourceMetadata(
  { error }: Errors,
  fetch: GuardedFetch,
  server: URL,
  { resourceMetadata: named }: BearerChallenge,
): Promise<JsonObject | undefined> {
  const path = server.pathname === '/' ? '' : server.pathname
  const known = '/.well-known/oauth-protected-resource'
  const places = named === undefined ? [`${server.origin}${known}${path}`, `${server.origin}${known}`] : [named]
  for (const place of new Set(places)) {
    if (!isSafe(place, server)) throw error('issuer_unusable', `The server names metadata without an https address`)
    const found = await reached({ error }, place, jsonAt(fetch, place))
    if (found) return found
  }
  if (named !== undefined)
    throw error('issuer_unusable', `There is no metadata at ${shown(named)}, which the server names`)
  return undefined
}

/** The `resource` of the metadata. Throws `resource_mismatch` unless it is the server's, its origin, or a part of its path. */
function resourceOf({ error }: Errors, { resource }: JsonObject, server: URL): string {
  const found = typeof resource === 'string' ? URL.parse(resource) : null
  if (typeof resource !== 'string' || resource.length > MOST_ADDRESS || !found || !covers(resource, server))
    throw error('resource_mismatch', `The metadata of ${canonical(server)} is of ${shown(resource)}`)
  return resource
}

/** True when a resource is the address of the server, its origin, or a prefix of its path at a border of segments. */
export function covers(resource: string, server: URL): boolean {
  const found = URL.parse(resource)
  if (!found || found.origin !== server.origin || found.hash !== '') return false
  if (found.pathname === '/' || found.pathname === server.pathname) return true
  const prefix = found.pathname.endsWith('/') ? found.pathname : `${found.pathname}/`
  return server.pathname.startsWith(prefix)
}

/** The address of a server as a resource: without query and fragment, and without a slash for its path. */
function canonical({ origin, pathname }: URL): string {
  return pathname === '/' ? origin : `${origin}${pathname}`
}

/** The metadata of an issuer (RFC 8414, OpenID Connect Discovery), checked. Throws as {@link discover} does. */
export async function issuerMetadata(
  { error }: Errors,
  fetch: GuardedFetch,
  issuer: string,
  server: URL,
): Promise<AuthorizationServer> {
  if (!isSafe(issuer, server))
    throw error('issuer_unusable', `The issuer ${shown(issuer)} of ${server.origin} has no https address`)
  for (const place of issuerPlaces(issuer)) {
    const found = await reached({ error }, issuer, jsonAt(fetch, place))
    if (!found) continue
    if (!isSameIssuer(found.issuer, issuer))
      throw error('issuer_mismatch', `The metadata of ${issuer} is of the issuer ${shown(found.issuer)}`)
    for (const member of ENDPOINTS)
      if (found[member] !== undefined && !isSafe(found[member], server))
        throw error('issuer_unusable', `The ${member} of ${issuer} is no https address`)
    if (found.token_endpoint === undefined) throw error('issuer_unusable', `${issuer} names no token endpoint`)
    return readMembers(found)
  }
  throw error('issuer_unusable', `There is no metadata of an authorization server at ${issuer}`)
}

/** The members that the hub reads, of which sign-ins under way are kept; of lists only what it looks for. */
function readMembers(found: JsonObject): AuthorizationServer {
  const read: Record<string, unknown> = {}
  for (const member of ['issuer', ...ENDPOINTS]) if (found[member] !== undefined) read[member] = found[member]
  for (const member of FLAGS) if (found[member] === true) read[member] = true
  for (const [member, wanted] of Object.entries(LISTS)) {
    const listed = texts(found[member])
    if (listed) read[member] = wanted.filter(one => listed.includes(one))
  }
  // The caller has checked the issuer and the endpoints, and the rest is read by its type above.
  return read as unknown as AuthorizationServer
}

const ENDPOINTS = [
  ...['authorization_endpoint', 'device_authorization_endpoint', 'token_endpoint'],
  ...['registration_endpoint', 'revocation_endpoint'],
]
const FLAGS = ['client_id_metadata_document_supported', 'authorization_response_iss_parameter_supported']
const LISTS: Readonly<Record<string, readonly string[]>> = {
  scopes_supported: ['offline_access'],
  code_challenge_methods_supported: ['S256'],
  dpop_signing_alg_values_supported: [PROOF_ALGORITHM],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt'],
}

/** A value of somebody else's metadata, for a message. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** Throws `pkce_unsupported` unless the issuer lists `S256`, and `issuer_unusable` without an authorization endpoint. */
export function requireCodeFlow({ error }: Errors, issuer: AuthorizationServer): string {
  if (!texts(issuer.code_challenge_methods_supported)?.includes('S256'))
    throw error('pkce_unsupported', `${issuer.issuer} does not list S256 in code_challenge_methods_supported`)
  if (typeof issuer.authorization_endpoint !== 'string')
    throw error('issuer_unusable', `${issuer.issuer} names no authorization endpoint`)
  return issuer.authorization_endpoint
}

/** Throws `issuer_unusable` unless the issuer gives codes that are entered on another device (RFC 8628). */
export function requireDeviceFlow({ error }: Errors, { issuer, device_authorization_endpoint }: AuthorizationServer) {
  if (device_authorization_endpoint === undefined)
    throw error('issuer_unusable', `${issuer} names no device authorization endpoint: leave "oauth.grant" out`)
}

function issuerPlaces(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  if (path === '') return [`${origin}${oauth}`, `${origin}${openid}`]
  return [`${origin}${oauth}${path}`, `${origin}${openid}${path}`, `${origin}${path}${openid}`]
}

/** An origin may be written with or without the slash for its path; all else is compared as text. */
export function isSameIssuer(found: unknown, wanted: string): boolean {
  const bare = (text: string): string => (URL.parse(text)?.pathname === '/' ? text.replace(/\/$/, '') : text)
  return typeof found === 'string' && bare(found) === bare(wanted)
}

async function reached<T>({ error }: Errors, what: string, asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (cause) {
    const why = cause instanceof HubError ? cause.message : 'it did not answer'
    throw error('issuer_unreachable', `${what} could not be read: ${why}`, { cause, data: { retryAfterSeconds: 5 } })
  }
}

/** The texts of a list; undefined for anything else. */
export function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : undefined
}
