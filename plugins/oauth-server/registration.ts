import { isJsonObject, type JsonValue, type PluginContext } from 'patchbay/contract'
import { CLIENT_ROUTE } from './client-route.ts'
import { shownName } from './clients.ts'
import type { OAuthServerConfig } from './config.ts'
import { OAuthError, oauthAnswer } from './errors.ts'
import { isRegistrable } from './redirects.ts'
import type { SealedClients } from './sealed-clients.ts'
import { isSafe } from './site.ts'
import type { ClientMethod } from './tables.ts'
import { WindowCounts } from './throttle.ts'

const MOST_BYTES = 16 * 1_024
const MOST_REDIRECTS = 5
/** Registrations of all addresses in one second: each costs work, though nothing is stored. */
const MOST_PER_SECOND = 100
const MOST_PER_SECOND_AND_ADDRESS = 10
const METHODS: readonly string[] = ['none', 'client_secret_post', 'client_secret_basic']

/** Adds `/register` (RFC 7591). */
export function addRegistration(
  { routes, isLocal }: PluginContext<unknown>,
  config: OAuthServerConfig,
  sealed: SealedClients,
): void {
  if (config.registration === 'off') {
    routes.add({
      ...common,
      rawBody: MOST_BYTES,
      summary: 'Registration of clients, which is off',
      answers: { 404: oauthAnswer('invalid_request', 'Registration is off') },
      handle: () => new OAuthError('invalid_request', 'Clients cannot register here: ask an administrator', 404).answer,
    })
    return
  }
  const counts = new WindowCounts(1_000)
  routes.add({
    ...common,
    rawBody: MOST_BYTES,
    summary: 'Register a client (RFC 7591); nothing is stored',
    answers: {
      201: { description: 'The client, whose id holds what it has registered' },
      400: oauthAnswer('invalid_redirect_uri', 'invalid_redirect_uri, invalid_client_metadata'),
      403: oauthAnswer('access_denied', 'access_denied: no sign-in without https'),
      429: oauthAnswer('rate_limited', 'rate_limited, beyond 10 registrations a second of an address, or 100 of all'),
    },
    handle({ bytes, baseUrl, addressKey }) {
      try {
        if (!isSafe(baseUrl, isLocal())) throw new OAuthError('access_denied', 'Sign-in needs https here', 403)
        const isTooMuch =
          counts.add(`address ${addressKey}`) > MOST_PER_SECOND_AND_ADDRESS || counts.add('all') > MOST_PER_SECOND
        if (isTooMuch) throw new OAuthError('rate_limited', 'Too many clients register', 429, { 'retry-after': '1' })
        return { status: 201, body: registered(bytes, config, sealed), headers: { pragma: 'no-cache' } }
      } catch (error) {
        if (error instanceof OAuthError) return error.answer
        throw error
      }
    },
  })
}

const common = {
  method: 'POST',
  path: '/register',
  ...CLIENT_ROUTE,
} as const

function registered(bytes: Uint8Array, config: OAuthServerConfig, sealed: SealedClients) {
  const given = parsed(bytes)
  const wrong = (message: string) => new OAuthError('invalid_client_metadata', message)
  if (!isJsonObject(given)) throw wrong('The body is no JSON object')
  const { redirect_uris: uris, client_name, token_endpoint_auth_method: method = 'client_secret_basic' } = given
  const { grant_types = ['authorization_code'], response_types = ['code'] } = given
  const redirectUris = texts(uris)
  if (!redirectUris || redirectUris.length === 0 || redirectUris.length > MOST_REDIRECTS)
    throw new OAuthError('invalid_redirect_uri', `1 to ${MOST_REDIRECTS} redirect URIs are needed`)
  const refused = redirectUris.find(uri => !isRegistrable(uri, config))
  if (refused !== undefined)
    throw new OAuthError(
      'invalid_redirect_uri',
      `${JSON.stringify(refused.slice(0, 200))} is neither on the client’s device nor at a known host; an administrator can list the client`,
    )
  if (typeof method !== 'string' || !METHODS.includes(method))
    throw wrong(`The method is none of ${METHODS.join(', ')}`)
  if (!texts(grant_types)?.includes('authorization_code')) throw wrong('The grant types have no "authorization_code"')
  if (!texts(response_types)?.includes('code')) throw wrong('The response types have no "code"')
  if (client_name !== undefined && typeof client_name !== 'string') throw wrong('The name is no text')
  const name = shownName(client_name ?? '')
  const nowMs = Date.now()
  const id = sealed.seal({ name, redirectUris, method: method as ClientMethod }, nowMs)
  if (id === undefined) throw wrong('The redirect URIs are too long')
  return {
    client_id: id,
    client_id_issued_at: Math.floor(nowMs / 1_000),
    ...(method === 'none' ? {} : { client_secret: sealed.secretOf(id), client_secret_expires_at: 0 }),
    client_name: name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: method,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

function texts(value: JsonValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every(one => typeof one === 'string') ? value : undefined
}
