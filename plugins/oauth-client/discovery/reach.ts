import { type GuardedFetch, HubError, type JsonObject, type PluginContext } from 'patchbay/contract'
import { serverOauth, serverUrl } from '../server-config.ts'

/** A small request that shows whether an address may be reached. */
const KNOCK = { method: 'GET', headers: {}, headTimeoutMs: 5_000, idleTimeoutMs: 5_000, maxBytes: 1_024 } as const
/** Longest time of one request with its answer, however slowly that comes. */
const MOST_MS = 20_000

/**
 * Requests for sign-ins at a server. Addresses that its owner configured are reached with the owner's rights. All others come from
 * the server or its issuer and are reached as an ordinary user may. One that is closed to ordinary users is reached only where a
 * configured address is closed to them as well, since the owner then chose an inner network.
 */
export function fetchAround(
  { fetchFor }: Pick<PluginContext<unknown>, 'fetchFor'>,
  { ownerId, config }: { readonly ownerId: string; readonly config: JsonObject },
): GuardedFetch {
  const oauth = serverOauth(config)
  const texts = [serverUrl(config)?.href, oauth?.issuer, oauth?.identity?.issuer]
  const configured = new Set(texts.flatMap(text => originOf(text) ?? []))
  const asOwner = timely(fetchFor(ownerId))
  const asAnybody = timely(fetchFor(ownerId, 'user'))
  let inside: Promise<boolean> | undefined
  return async (url, request) => {
    if (configured.has(originOf(url) ?? '')) return asOwner(url, request)
    try {
      return await asAnybody(url, request)
    } catch (error) {
      if (!isBlocked(error)) throw error
      inside ??= someClosed(asAnybody, configured)
      if (!(await inside)) throw error
      return asOwner(url, request)
    }
  }
}

/** Ends a request after a while, also one whose answer comes byte by byte. */
export function timely(fetch: GuardedFetch, mostMs = MOST_MS): GuardedFetch {
  return (url, request) => {
    const ended = new AbortController()
    const late = new HubError('upstream_timeout', `${originOf(url)} took more than ${mostMs / 1_000} s to answer`)
    setTimeout(() => ended.abort(late), mostMs).unref()
    return fetch(url, { ...request, signal: ended.signal })
  }
}

async function someClosed(fetch: GuardedFetch, origins: ReadonlySet<string>): Promise<boolean> {
  const closed = await Promise.all(Array.from(origins, origin => isClosed(fetch, origin)))
  return closed.includes(true)
}

async function isClosed(fetch: GuardedFetch, origin: string): Promise<boolean> {
  try {
    const response = await fetch(`${origin}/.well-known/oauth-protected-resource`, KNOCK)
    response.cancel()
    return false
  } catch (error) {
    return isBlocked(error)
  }
}

function isBlocked(error: unknown): boolean {
  return error instanceof HubError && error.code === 'url_address_blocked'
}

function originOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : URL.parse(text)?.origin
}
