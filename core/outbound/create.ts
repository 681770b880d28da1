import { HubError } from '../contract/errors.ts'
import type { GuardedFetch, GuardedRequest } from '../contract/fetch.ts'
import type { AddressRights } from '../domain/address.ts'
import type { TlsSettings } from '../transport-kit/tls.ts'
import { DEFAULT_BODY_BYTES, LARGEST_BODY_BYTES } from './body.ts'
import type { BodyTurns } from './body-turns.ts'
import { reachOrigin } from './dial.ts'
import { Exchange } from './exchange.ts'
import { renderHead } from './head.ts'
import { createLookup, type Lookup } from './lookup.ts'
import { OriginPool } from './pool.ts'
import { resolveTargets } from './targets.ts'

const HEAD_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 30_000
/** Number of origins above which pools without a connection are dropped. */
const KEPT_POOLS = 32

/** Settings of one guarded fetch. */
export interface GuardedFetchOptions {
  /** The addresses that the owner may reach. Changed rights need a new guarded fetch, so that open ones close. */
  readonly rights: AddressRights
  /** Appended to `x-patchbay-instance`, so that a hub recognizes a request that returns to it. */
  readonly instanceId: string
  /** Resolver of names. Default: a separate one. */
  readonly lookup?: Lookup
  /** TLS settings. Default: the system's trusted certificates, no client certificate. */
  readonly tls?: TlsSettings
  /**
   * Closes every connection, idle or not, when it aborts; requests in flight fail with `connection_lost`. Without it
   * idle connections close after some seconds.
   */
  readonly signal?: AbortSignal
  /** Reads large bodies one after the other, with all others that share it. Default: at the same time. */
  readonly turns?: BodyTurns
  /** Called for each piece of a body that arrives, with its length in bytes. */
  readonly received?: (bytes: number) => void
}

/**
 * The only access from the hub to addresses that users chose: http and https, each new connection to an address that these
 * rights permit, no redirect followed (a 3xx is a response like others), limits on time and size.
 *
 * `headTimeoutMs` is 10 s by default, counted from the written request; `idleTimeoutMs` is 30 s; 0 disables either. A headers
 * object that is frozen is rendered once and reused for the same URL and method.
 *
 * Rejects with a HubError: `url_address_blocked`, `upstream_dns_error`, `upstream_tls_error`, `upstream_timeout`,
 * `connection_lost`, `upstream_protocol`, `overloaded`, `config_invalid`; with `data.sent` false when nothing of the request was
 * written. An abort rejects with the signal's reason. A request that was written is repeated only if it is a GET or HEAD on a
 * reused connection that closed without a byte. Any other request is sent on a used connection only if the server was observed
 * to keep such connections open.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch & Reach {
  const { rights, instanceId, lookup = createLookup(), tls, signal, turns, received } = options
  const pools = new Map<string, OriginPool>()
  const rendered = new WeakMap<GuardedRequest['headers'], RenderedHead>()

  function poolFor({ url, origin }: RenderedHead): OriginPool {
    const known = pools.get(origin)
    if (known) return known
    if (pools.size >= KEPT_POOLS) for (const [one, pool] of pools) if (pool.empty) pools.delete(one)
    const pool = new OriginPool(origin, () => resolveTargets(url, { rights, lookup, tls }))
    pools.set(origin, pool)
    return pool
  }

  function headFor(url: string, request: GuardedRequest): RenderedHead {
    const known = rendered.get(request.headers)
    if (known && known.href === url && known.method === request.method) return known
    const parsed = parseUrl(url)
    const text = renderHead(request.method, parsed, request.headers, instanceId)
    const bytes = Buffer.byteLength(text)
    const head = { href: url, method: request.method, url: parsed, origin: parsed.origin, text, bytes }
    if (Object.isFrozen(request.headers)) rendered.set(request.headers, head)
    return head
  }

  signal?.addEventListener(
    'abort',
    () => {
      for (const pool of pools.values()) pool.close()
    },
    { once: true },
  )
  const fetch: GuardedFetch = (url, request) => {
    try {
      if (signal?.aborted) throw closedError()
      const head = headFor(url, request)
      const { method, signal: caller } = request
      const exchange = new Exchange({
        method,
        origin: head.origin,
        ...framedRequest(head, request),
        maxBytes: Math.min(request.maxBytes ?? DEFAULT_BODY_BYTES, LARGEST_BODY_BYTES),
        headTimeoutMs: request.headTimeoutMs ?? HEAD_TIMEOUT_MS,
        idleTimeoutMs: request.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
        signal: caller,
        turns,
        received,
      })
      if (!exchange.over) poolFor(head).send(exchange)
      return exchange.answered
    } catch (error) {
      return Promise.reject(error)
    }
  }
  const reach = async (url: string, caller: AbortSignal): Promise<void> => {
    const parsed = parseUrl(url)
    await reachOrigin(parsed.origin, () => resolveTargets(parsed, { rights, lookup, tls }), [
      caller,
      ...(signal ? [signal] : []),
    ])
  }
  return Object.assign(fetch, { reach })
}

/** A guarded client's check of an address, without a request. */
export interface Reach {
  /** Connects and closes, over TLS for https; nothing is sent. Rejects as a request would. */
  readonly reach: (url: string, signal: AbortSignal) => Promise<void>
}

interface RenderedHead {
  readonly href: string
  readonly method: string
  readonly url: URL
  readonly origin: string
  readonly text: string
  readonly bytes: number
}

/** A request as it is sent, and its length in bytes. */
function framedRequest(
  head: RenderedHead,
  { method, body }: Pick<GuardedRequest, 'method' | 'body'>,
): { readonly text: string | Buffer; readonly bytes: number } {
  const length = body === undefined ? 0 : Buffer.byteLength(body)
  // Without a length some servers wait for the body of a POST without one.
  const framed = body !== undefined || method === 'POST' || method === 'PUT'
  const before = head.text + (framed ? `content-length: ${length}\r\n\r\n` : '\r\n')
  const text = typeof body === 'object' ? Buffer.concat([Buffer.from(before), body]) : before + (body ?? '')
  return { text, bytes: head.bytes + before.length - head.text.length + length }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw refusedUrl('The address is not an http or https URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw refusedUrl(`The URL for ${url.host} holds a user name or password; use a header instead`)
  }
  return url
}

function closedError(): HubError {
  return new HubError('connection_lost', 'This connection was closed by the hub', { data: { sent: false } })
}

function refusedUrl(message: string): HubError {
  return new HubError('url_address_blocked', message, { data: { sent: false } })
}
