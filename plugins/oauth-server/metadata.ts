import type { PluginContext } from 'patchbay/contract'
import { z } from 'zod'
import { CLIENT_ROUTE } from './client-route.ts'
import type { OAuthServerConfig } from './config.ts'
import { oauthAnswer } from './errors.ts'
import { isSafe, RESOURCE_METADATA, resourcePath, SCOPES } from './site.ts'

const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'
const KEYS = `${OPENID}/jwks`
/** Methods by which clients prove themselves at `/token` and `/revoke`. */
const METHODS = ['none', 'client_secret_post', 'client_secret_basic', 'private_key_jwt']
/** Algorithms of the assertions of clients with keys. */
export const ASSERTION_ALGORITHMS = ['ES256', 'RS256', 'PS256', 'EdDSA']

const rest = z.object({ rest: z.string().max(2_048) })
const notHere = {
  status: 404,
  body: { error: 'invalid_request', error_description: 'There is no metadata at this path' },
}

/** Adds the documents by which clients find out how to sign in (RFC 9728, RFC 8414, OpenID Connect Discovery). */
export function addMetadata({ routes, isLocal }: PluginContext<unknown>, config: OAuthServerConfig): void {
  const external = config.issuers.map(({ issuer }) => issuer)
  const resource = (baseUrl: string, path: string) => {
    if (!resourcePath(path)) return notHere
    return {
      body: {
        resource: `${baseUrl}${path}`,
        ...(isSafe(baseUrl, isLocal()) ? { authorization_servers: external.length > 0 ? external : [baseUrl] } : {}),
        scopes_supported: SCOPES,
        bearer_methods_supported: ['header'],
        resource_name: 'Patchbay',
      },
    }
  }
  const common = {
    method: 'GET',
    ...CLIENT_ROUTE,
  } as const
  const absent = { 404: oauthAnswer('invalid_request', 'There is no such resource, or no sign-in without https') }
  routes.add({
    ...common,
    path: RESOURCE_METADATA,
    summary: 'Metadata of the address of all servers',
    answers: { 200: { description: 'RFC 9728' } },
    handle: ({ baseUrl }) => resource(baseUrl, '/mcp'),
  })
  routes.add({
    ...common,
    path: `${RESOURCE_METADATA}/{rest*}`,
    params: rest,
    summary: 'Metadata of a path under /mcp, whether or not there is a group of that name',
    answers: { 200: { description: 'RFC 9728' }, ...absent },
    handle: ({ baseUrl, params }) => resource(baseUrl, `/${params.rest}`),
  })
  if (external.length > 0) return
  for (const path of [AUTHORIZATION_SERVER, OPENID]) {
    routes.add({
      ...common,
      path,
      summary: 'Metadata of the authorization server',
      answers: {
        200: { description: path === OPENID ? 'The same, for clients that know this path alone' : 'RFC 8414' },
        ...absent,
      },
      handle({ baseUrl }) {
        if (!isSafe(baseUrl, isLocal())) return notHere
        return { body: serverMetadata(baseUrl, config, path === OPENID) }
      },
    })
  }
  routes.add({
    ...common,
    path: KEYS,
    summary: 'The keys of the authorization server, of which there are none: the hub alone reads its tokens',
    answers: { 200: { description: 'An empty set' } },
    handle: () => ({ body: { keys: [] } }),
  })
}

function serverMetadata(base: string, { registration }: OAuthServerConfig, isOpenId: boolean) {
  return {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    revocation_endpoint: `${base}/revoke`,
    ...(registration === 'off' ? {} : { registration_endpoint: `${base}/register` }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: METHODS,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    scopes_supported: [...SCOPES, 'offline_access'],
    // Clients that read the second form alone require these.
    ...(isOpenId
      ? {
          jwks_uri: `${base}${KEYS}`,
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        }
      : {}),
  }
}
