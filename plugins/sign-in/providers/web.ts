import { type GuardedFetch, HubError } from 'patchbay/contract'
import { webFetch } from 'patchbay/plugin-kit'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/** True for an address at which tokens may travel: https, or http on this machine. */
export function isSafe(address: unknown): address is string {
  const url = typeof address === 'string' ? URL.parse(address) : null
  if (url?.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname))
}

/** True for an address of this machine. */
export function isOwnMachine(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname)
}

/** The guarded client in the form of `fetch`. A server that cannot answer now is one that is not reached. */
export function asWebFetch(fetch: GuardedFetch): ReturnType<typeof webFetch> {
  const sent = webFetch(fetch)
  return async (url, request) => {
    const answer = await sent(url, request)
    if (answer.status === 429 || answer.status >= 500)
      throw new HubError('upstream_http_error', `HTTP ${answer.status}`)
    return answer
  }
}
