import { HubError } from '../../../contract/errors.ts'
import type { GuardedFetch } from '../../../contract/fetch.ts'
import type { JsonObject } from '../../../contract/json.ts'
import { fetchFollowing, isBlockedRedirect } from '../../../transport-kit/redirects.ts'
import {
  isMissingPath,
  readRemoteConfig,
  reasonOf,
  statusReason,
  usableHeaders,
} from '../../../transport-kit/remote.ts'
import type { WireError } from '../../../transport-kit/wire-error.ts'

/**
 * Sends a GET with the server's own headers to each of these paths, all at once; only 2xx is a success, after up to
 * three redirects. Paths are relative to the root of the server's origin, which neither they nor a redirect can leave.
 * Returns the paths that the server does not have (404, 405, 501), each with its status: they say nothing of whether the
 * server lives. Rejects with a HubError.
 */
export async function askPaths(
  fetch: GuardedFetch,
  config: JsonObject,
  paths: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { url, headers } = readRemoteConfig(config)
  const { origin } = new URL(url)
  const missing = await Promise.all(
    paths.map(async path => {
      const address = URL.parse(`${origin}/${path.replace(/^\/+/, '')}`)
      if (address?.origin !== origin) {
        throw new HubError('config_invalid', `The health endpoint ${quoted(path)} is no path of the server`)
      }
      const request = { method: 'GET', headers: { ...usableHeaders(headers), accept: '*/*' } }
      const limits = { headTimeoutMs: timeoutMs, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) }
      const { response } = await fetchFollowing(fetch, address.href, { ...request, ...limits }).catch(error => {
        throw isBlockedRedirect(error) ? refused(path, reasonOf(error)) : error
      })
      response.cancel()
      if (isMissingPath(response.status)) return [`${path} (HTTP ${response.status})`]
      if (response.status < 200 || response.status > 299) throw refused(path, statusReason(response))
      return []
    }),
  )
  return missing.flat()
}

function refused(path: string, { code, message }: WireError): HubError {
  return new HubError(code, `The health endpoint ${quoted(path)}: ${message}`)
}

function quoted(path: string): string {
  return JSON.stringify(path.slice(0, 100))
}
