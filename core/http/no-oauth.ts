/**
 * Paths, below the base path, at which MCP clients look for OAuth after a 401: metadata of the resource (RFC 9728) and of the
 * authorization server (RFC 8414, OpenID Connect Discovery), and the default endpoints of a server without metadata.
 */
const OAUTH_PATH =
  /^\/(?:\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:\/|$)|(?:register|authorize|token)$)/
const METADATA = '/.well-known/'

/**
 * The response to a request for OAuth, while no plugin answers it; undefined for any other path. It has OAuth's
 * error format (RFC 6749, 5.2), which clients print: 404 for metadata, so that they stop looking, and 403 for the
 * endpoints. It is the same for any name, so that it does not reveal which groups exist.
 */
export function refuseOAuth(path: string): Response | undefined {
  if (!OAUTH_PATH.test(path)) return undefined
  const metadata = path.startsWith(METADATA)
  const body = {
    error: metadata ? 'invalid_request' : 'access_denied',
    error_description:
      'This hub takes access keys and offers no OAuth here; none was sent, or the one sent is not known. ' +
      'Make a key with POST /api/keys and send it as "Authorization: Bearer pb_..."',
  }
  return new Response(JSON.stringify(body), {
    status: metadata ? 404 : 403,
    headers: { 'content-type': 'application/json' },
  })
}
