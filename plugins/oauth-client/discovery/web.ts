import { type GuardedFetch, HubError, isJsonObject, type JsonObject } from 'patchbay/contract'

/** Limits of one request to an issuer, or for metadata. */
const REQUEST = { headTimeoutMs: 10_000, idleTimeoutMs: 10_000, maxBytes: 256 * 1024 } as const
/** Longest address that is kept, in characters. */
export const MOST_ADDRESS = 2_048
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/** True for an address at which tokens may travel: https, or http on loopback where the server is on loopback too. Long ones are not. */
export function isSafe(address: unknown, server: URL): address is string {
  const url = typeof address === 'string' && address.length <= MOST_ADDRESS ? URL.parse(address) : null
  if (url?.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url) && isLoopback(server))
}

/** True for a host of this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}

/** The JSON object at an address; undefined for any other answer. Throws when there was none. */
export async function jsonAt(fetch: GuardedFetch, url: string): Promise<JsonObject | undefined> {
  const response = await fetch(url, { ...REQUEST, method: 'GET', headers: { accept: 'application/json' } })
  if (response.status !== 200) {
    response.cancel()
    if (response.status === 429 || response.status >= 500)
      throw new HubError('upstream_http_error', `${url} answered with HTTP ${response.status}`)
    return undefined
  }
  try {
    const value: unknown = JSON.parse(await response.text())
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
