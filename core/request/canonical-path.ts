import { HubError } from '../contract/errors.ts'

/** The path of a request's URL, percent-encoded as received, and its query without `?`. */
export interface Target {
  readonly path: string
  readonly query: string
}

/**
 * Encoded slashes, backslashes, dots and NUL give a path a second spelling that rules and routers read differently; `;`
 * begins parameters in some of them; some ignore the empty segment in `//`.
 */
const NOT_CANONICAL = /\/\/|[;\\#\s]|%(?:2f|5c|2e|00|(?![0-9a-f]{2}))/i

/** Splits a request's URL. `new URL` costs more than all other checks together, and would normalize the text. */
export function targetOf(url: string): Target {
  // Without a valid Host header the runtime gives only the path.
  const start = url.charCodeAt(0) === 0x2f ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return { path: '/', query: '' }
  const query = url.indexOf('?', start)
  if (query < 0) return { path: url.slice(start), query: '' }
  const fragment = url.indexOf('#', query)
  return { path: url.slice(start, query), query: url.slice(query + 1, fragment < 0 ? undefined : fragment) }
}

/** Throws `path_invalid` for a path that is not canonical. The runtime has already resolved dot segments. */
export function requireCanonical(path: string): void {
  if (!NOT_CANONICAL.test(path) && (!path.includes('%') || isUtf8(path))) return
  throw new HubError('path_invalid', 'The path is not in canonical form')
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Path at which assistants connect; the only one at which a token may be in the query. */
export const ASSISTANT_SOCKET_PATH = '/api/assistant/ws'

const CREDENTIAL_NAMES = new Set(['token', 'access_token'])

/** Throws `token_in_url` when the query has a credential: URLs end up in logs, histories and Referer headers. */
export function refuseTokenInQuery(query: string): void {
  if (query === '') return
  for (const name of new URLSearchParams(query).keys()) {
    const folded = name.toLowerCase()
    if (CREDENTIAL_NAMES.has(folded))
      throw new HubError('token_in_url', `The query parameter "${folded}" holds a credential`)
  }
}
