import { type GuardedFetch, type GuardedRequest, type GuardedResponse, HubError } from 'patchbay/contract'

const MAX_REDIRECTS = 3
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/**
 * A GET that follows at most three redirects on the origin it began with, so that no credential leaves it. Returns the
 * address that answered at last. Throws `redirect_blocked` for any other redirect.
 */
export async function getFollowing(
  fetch: GuardedFetch,
  url: string,
  request: Omit<GuardedRequest, 'method' | 'body'>,
): Promise<{ readonly response: GuardedResponse; readonly url: string }> {
  let address = url
  for (let hops = 0; ; hops += 1) {
    const response = await fetch(address, { ...request, method: 'GET' })
    const { location } = response.headers
    if (!REDIRECTS.includes(response.status) || location === undefined) return { response, url: address }
    response.cancel()
    const target = URL.parse(location, address)
    if (hops >= MAX_REDIRECTS) throw blocked(`redirects more than ${MAX_REDIRECTS} times`)
    if (target?.origin !== new URL(url).origin) throw blocked('redirects to another origin')
    address = target.href
  }
}

function blocked(what: string): HubError {
  return new HubError('redirect_blocked', `The server ${what}, which is not followed; set its final address instead`)
}

/** Whether the guarded fetch gave up because a body was longer than it may be. */
export function isTooLong(error: unknown): error is HubError {
  return error instanceof HubError && error.data?.maxBytes !== undefined
}
