import { HubError } from '../contract/errors.ts'
import type { GuardedFetch, GuardedRequest, GuardedResponse } from '../contract/transport.ts'

const MAX_REDIRECTS = 3
/** These repeat the request as it was; the other two kinds make a GET of it. */
const KEEPS_METHOD: readonly number[] = [307, 308]
const BECOMES_GET: readonly number[] = [301, 302, 303]

/** What answered at last, and under which address. */
export interface Followed {
  readonly response: GuardedResponse
  readonly url: string
}

/**
 * A request that follows at most three redirects on the origin it began with, so that no credential leaves it: 307 and 308
 * with method, body and headers as they were, 301, 302 and 303 for GET alone. A redirect without a Location is an answer like
 * others. Throws `redirect_blocked` for any other redirect, without a byte to where it leads; rejects as the fetch does.
 */
export async function fetchFollowing(fetch: GuardedFetch, url: string, request: GuardedRequest): Promise<Followed> {
  const response = await fetch(url, request)
  return isRedirect(response) ? follow(fetch, url, request, response) : { response, url }
}

/** Whether a request ended at a redirect that may not be followed: it would end there each time. */
export function isBlockedRedirect(error: unknown): boolean {
  return error instanceof HubError && error.code === 'redirect_blocked'
}

/**
 * One address of a server for the life of a connection. It follows as {@link fetchFollowing} does, and remembers where POSTs were
 * led, so that not each of them goes twice. What was remembered is forgotten once it fails: when the request itself does,
 * or is answered by 404, 410 or 5xx. The next request then begins at the configured address.
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

/** `answer` is the redirect with which it begins. */
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
    response.cancel()
    if (hops >= MAX_REDIRECTS) throw blocked(status, `redirects more than ${MAX_REDIRECTS} times`)
    if (BECOMES_GET.includes(status) && request.method !== 'GET') {
      throw blocked(status, `redirects a ${request.method} with HTTP ${status}, by which it would become a GET`)
    }
    address = permitted(status, response.headers.location ?? '', address)
    response = await fetch(address, request)
  }
  return { response, url: address }
}

/** The address that a Location means, in the form in which it is sent. */
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

/** Nothing of the Location is told: it may hold what must not be shown, or answer a question about somebody's network. */
function blocked(status: number, what: string, more = ''): HubError {
  const message = `The server ${what}, which is not followed; set its final address instead${more}`
  return new HubError('redirect_blocked', message, { data: { status } })
}
