import { withHeaders } from '../request/headers.ts'

/** The methods of all routes. */
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Stands for an origin where scripts of every origin may read the response. */
export const ANY_ORIGIN = '*'
/** Response headers that scripts of another origin may read, besides those that the Fetch standard always exposes. */
const EXPOSED =
  'mcp-session-id, mcp-protocol-version, www-authenticate, x-request-id, retry-after, etag, location, content-disposition'
/** Time for which a browser may cache the response to a preflight request, in seconds. */
const MAX_AGE_SECONDS = 600
/** A list of header names, as a browser sends it; longer ones are not echoed. */
const HEADER_LIST = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/
const MAX_HEADER_LIST = 2_048

/**
 * The response to a preflight request from an origin in ALLOWED_ORIGINS; undefined for other requests. It requires no
 * credential, as browsers send none, and lists only what every route could accept.
 */
export function preflightResponse(request: Request, corsOrigin: string | undefined): Response | undefined {
  const { headers } = request
  if (corsOrigin === undefined || request.method !== 'OPTIONS' || !headers.has('access-control-request-method'))
    return undefined
  const wanted = headers.get('access-control-request-headers') ?? ''
  const echoed = wanted.length <= MAX_HEADER_LIST && HEADER_LIST.test(wanted)
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': corsOrigin,
      'access-control-allow-methods': corsOrigin === ANY_ORIGIN ? 'GET, HEAD' : METHODS,
      ...(echoed ? { 'access-control-allow-headers': wanted } : {}),
      'access-control-max-age': String(MAX_AGE_SECONDS),
      vary: 'origin, access-control-request-headers',
    },
  })
}

/** Lets scripts of an origin in ALLOWED_ORIGINS read the response. No cookies, so no credentials mode. */
export function withCors(response: Response, corsOrigin: string | undefined): Response {
  if (corsOrigin === undefined || response.headers.has('access-control-allow-origin')) return response
  const vary = response.headers.get('vary')
  const shared = withHeaders(response, {
    'access-control-allow-origin': corsOrigin,
    'access-control-expose-headers': EXPOSED,
    vary: 'origin',
  })
  if (vary !== null && !/\borigin\b|\*/i.test(vary)) shared.headers.set('vary', `${vary}, origin`)
  return shared
}
