import { HubError } from '../contract/errors.ts'
import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../contract/fetch.ts'

const MAX_REDIRECTS = 3
/** Statuses that repeat the request unchanged; the other redirects make a GET of it. */
const KEEPS_METHOD: readonly number[] = [307, 308]
const BECOMES_GET: readonly number[] = [301, 302, 303]
/** Statuses after which a client may repeat a POST (RFC 9110, 15.4.2 and 15.4.3). */
const MAY_KEEP: readonly number[] = [301, 302]

/** The final response, and its address. */
export interface Followed {
  readonly response: GuardedResponse
  readonly url: string
}

/**
 * A request that follows at most three redirects on its own origin, so that no credential leaves it: 307 and 308 with
 * method, body and headers unchanged, 301, 302 and 303 for GET alone, 301 and 302 for other methods too where they only add or
 * remove the slash behind the path. A redirect without a Location is returned like
 * any response. Throws `redirect_blocked` for others, without connecting to the target; rejects as the fetch does.
 */
export async function fetchFollowing(fetch: GuardedFetch, url: string, request: GuardedRequest): Promise<Followed> {
  const response = await fetch(url, request)
  return isRedirect(response) ? follow(fetch, url, request, response) : { response, url }
}

/** The fetch for requests with a header that is for one host alone. Rejects with `redirect_blocked` for every redirect. */
export function withoutRedirects(fetch: GuardedFetch): GuardedFetch {
  return async (url, request) => {
    const response = await fetch(url, request)
    if (!isRedirect(response)) return response
    response.cancel()
    throw blocked(response.status, 'redirects, which a server that gets a hosted key may not')
  }
}

/** True when a request ended at a redirect that may not be followed, so that a retry is pointless. */
export function isBlockedRedirect(error: unknown): boolean {
  return error instanceof HubError && error.code === 'redirect_blocked'
}

/**
 * One address of a server for the life of a connection. It follows as {@link fetchFollowing} does, and caches the
 * target of redirected POSTs, so that not each is sent twice. The cached target is dropped once it fails: when the
 * request itself does, or the response is 404, 410 or 5xx. The next request then starts at the configured address.
 */
export class FollowedAddress {
  readonly #fetch: GuardedFetch
  readonly #url: string
  #moved: string | undefined

  constructor(fetch: GuardedFetch, url: string) {
    this.#fetch = fetch
    this.#url = url
  }

  request(request: GuardedRequest): Promise<GuardedResponse> {
    const moved = request.method === 'POST' ? this.#moved : undefined
    const url = moved ?? this.#url
    return this.#fetch(url, request).then(
      response => (response.status < 300 ? response : this.#validate(url, request, response)),
      error => {
        if (moved !== undefined && !request.signal?.aborted) this.#moved = undefined
        throw error
      },
    )
  }

  async #validate(url: string, request: GuardedRequest, answer: GuardedResponse): Promise<GuardedResponse> {
    const posts = request.method === 'POST'
    if (!isRedirect(answer)) {
      if (posts && failed(answer.status)) this.#moved = undefined
      return answer
    }
    if (posts) this.#moved = undefined
    const { response, url: last } = await follow(this.#fetch, url, request, answer)
    if (posts && response.status < 300) this.#moved = last
    return response
  }
}

function failed(status: number): boolean {
  return status === 404 || status === 410 || status >= 500
}

function isRedirect({ status, headers }: GuardedResponse): boolean {
  return (KEEPS_METHOD.includes(status) || BECOMES_GET.includes(status)) && headers.location !== undefined
}

/** `answer` is the first redirect. */
async function follow(
  fetch: GuardedFetch,
  url: string,
  request: GuardedRequest,
  answer: GuardedResponse,
): Promise<Followed> {
  let response = answer
  let address = url
  for (let hops = 0; isRedirect(response); hops += 1) {
    const { status } = response
    const location = response.headers.location ?? ''
    response.cancel()
    if (hops >= MAX_REDIRECTS) throw blocked(status, `redirects more than ${MAX_REDIRECTS} times`)
    if (
      BECOMES_GET.includes(status) &&
      request.method !== 'GET' &&
      !(MAY_KEEP.includes(status) && isSlash(location, address))
    ) {
      throw blocked(status, `redirects a ${request.method} with HTTP ${status}, by which it would become a GET`)
    }
    address = permitted(status, location, address)
    response = await fetch(address, request)
  }
  return { response, url: address }
}

/** True for a redirect that only adds or removes the slash behind the path, as web servers and frameworks do. */
function isSlash(location: string, from: string): boolean {
  const target = URL.parse(location, from)
  if (!target) return false
  const { pathname, search, origin } = new URL(from)
  const [one, other] = [target.pathname, pathname].map(path => path.replace(/\/$/, ''))
  return target.origin === origin && target.search === search && one === other
}

/** The absolute address of a Location, as it is sent. */
function permitted(status: number, location: string, from: string): string {
  const { origin, protocol, hostname } = new URL(from)
  const target = URL.parse(location, from)
  if (!target) throw blocked(status, 'redirects to something that is no address')
  const sameHost = target.hostname === hostname
  if (sameHost && protocol === 'https:' && target.protocol === 'http:') {
    const why = 'It often does not know that the proxy before it speaks https; there, X-Forwarded-Proto must be trusted'
    throw blocked(status, 'redirects from https to http on the same host', `. ${why}`)
  }
  if (sameHost && protocol === 'http:' && target.protocol === 'https:') {
    throw blocked(status, 'redirects from http to https on the same host', ', which begins with https')
  }
  if (target.origin !== origin) throw blocked(status, 'redirects to another origin')
  if (`${target.username}${target.password}` !== '') throw blocked(status, 'redirects to an address with a user name')
  return target.href
}

/** The error omits the Location, which may hold a secret or reveal a host of an internal network. */
function blocked(status: number, what: string, more = ''): HubError {
  const message = `The server ${what}, which is not followed; set its final address instead${more}`
  return new HubError('redirect_blocked', message, { data: { status } })
}
