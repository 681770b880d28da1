import type { HubError } from '../contract/errors.ts'
import { type AddressRights, checkAddress, checkHostLiteral } from '../domain/address.ts'
import { type ProxyServer, proxyFor } from '../domain/outbound/proxy.ts'
import { withoutEnd } from '../transport-kit/text-ends.ts'
import type { TlsSettings } from '../transport-kit/tls.ts'
import { notSent } from './failures.ts'
import type { Lookup } from './lookup.ts'

/** Longer than name servers of the local network usually need for a response of either kind. */
const NAME_REFUSAL_MS = 150
/** Longest wait for the hub's name server on a name that the proxy resolves anyway, in milliseconds. */
const PROXIED_NAME_MS = 1_000

/** One address to connect to, with what TLS needs. */
export interface ConnectTarget {
  /** An address that was checked, or the proxy's; never a name. */
  readonly address: string
  readonly port: number
  readonly tls: TlsSettings | undefined
  /** Used in messages. */
  readonly origin: string
  /** The proxy behind `address` and `port`; absent: they are the server's. */
  readonly via?: ProxyHop
}

/** The way from a proxy to the server. */
export interface ProxyHop {
  /** `host:port` of the server, as `CONNECT` names it: the checked address, or the name if the proxy resolves it. */
  readonly authority: string
  /** The proxy resolves the name, so that a request for an http URL can be handed to it as it is. */
  readonly byName: boolean
  readonly authorization?: string
}

/** Options of `resolveTargets`. */
export interface ResolveOptions {
  readonly rights: AddressRights
  readonly lookup: Lookup
  readonly tls?: TlsSettings | undefined
  /** Least time after which a name without a permitted address is refused. Default 150 ms. */
  readonly refusalMs?: number
}

/**
 * The addresses that may be connected to for this URL. A literal is checked as it is; of a name every address must pass, since
 * its name server could otherwise mix a permitted one with the intended one. Throws `url_address_blocked` or, only for an
 * administrator's server, `upstream_dns_error`: for others a name that does not exist fails like one with a blocked address,
 * with the same text and no sooner than after `refusalMs`, since a difference would reveal the names of an internal network.
 * Behind a proxy the same addresses are checked, and the proxy gets the one to connect to; it resolves names itself only for
 * administrators, or if `names` allows it. Throws `proxy_failed` when the proxy has no address.
 */
export async function resolveTargets(url: URL, options: ResolveOptions): Promise<readonly ConnectTarget[]> {
  const { rights } = options
  const host = withoutEnd(url.hostname, '.')
  if (checkHostLiteral(url.hostname, rights) === 'blocked') throw blocked(url.origin)
  const isName = !/^\[|^[\d.]+$/.test(host)
  const proxy = rights.proxy && proxyFor(url, rights.proxy)
  const byName = isName && proxy !== undefined && (rights.admin || rights.proxy?.names === true)
  const addresses = isName
    ? await (byName ? judgeName(url.origin, host, options) : resolveName(url.origin, host, options))
    : [host.replace(/^\[|\]$/g, '')]
  if (!addresses.every(address => checkAddress(address, rights) === 'ok')) throw blocked(url.origin)
  const secure = url.protocol === 'https:' || url.protocol === 'wss:'
  const place = { port: Number(url.port) || (secure ? 443 : 80), origin: url.origin }
  const tls = secure ? { ...(isName && { serverName: host }), ...options.tls } : undefined
  const direct = (byName ? [host] : addresses).map(address => ({ ...place, address, tls }))
  return proxy ? await behind(proxy, direct, byName, options.lookup) : direct
}

/**
 * The addresses of a host (a name or an address), all of which these rights permit, for connections that no HTTP proxy carries.
 * Rejects as {@link resolveTargets}.
 */
export async function resolveHost(host: string, rights: AddressRights, lookup: Lookup): Promise<readonly string[]> {
  const url = URL.parse(`http://${host.includes(':') ? `[${host}]` : host}/`)
  if (!url) throw blocked(host)
  const { networks, admin } = rights
  return (await resolveTargets(url, { rights: { networks, admin }, lookup })).map(({ address }) => address)
}

/** The same targets, each by way of the proxy. */
async function behind(
  proxy: ProxyServer,
  targets: readonly ConnectTarget[],
  byName: boolean,
  lookup: Lookup,
): Promise<readonly ConnectTarget[]> {
  const [address] = await proxyAddresses(proxy, lookup)
  const credentials = proxy.authorization === undefined ? {} : { authorization: proxy.authorization }
  return targets.map(target => {
    const host = target.address.includes(':') ? `[${target.address}]` : target.address
    const via = { authority: `${host}:${target.port}`, byName, ...credentials }
    return { ...target, address, port: proxy.port, via }
  })
}

/** The name's addresses, each of them permitted for servers of this owner. */
async function resolveName(origin: string, host: string, options: ResolveOptions): Promise<readonly string[]> {
  const { rights, lookup, refusalMs = NAME_REFUSAL_MS } = options
  const startMs = performance.now()
  const found = await resolve(origin, host, lookup).catch((error: unknown) => error)
  const open = Array.isArray(found) && found.every(address => checkAddress(address, rights) === 'ok')
  if (open) return found
  if (rights.admin) throw Array.isArray(found) ? blocked(origin) : found
  const leftMs = startMs + refusalMs - performance.now()
  if (leftMs > 0) await new Promise(done => setTimeout(done, leftMs))
  throw notSent('url_address_blocked', `${origin} has no address that servers of this owner may reach`)
}

/** Addresses that the hub's own name server has for a name that the proxy resolves; empty if it has none. */
async function judgeName(origin: string, host: string, { lookup }: ResolveOptions): Promise<readonly string[]> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(() => giveUp([]), PROXIED_NAME_MS)
  try {
    return await Promise.race([resolve(origin, host, lookup).catch(() => []), late])
  } finally {
    clearTimeout(timer)
  }
}

async function resolve(origin: string, host: string, lookup: Lookup): Promise<readonly string[]> {
  let addresses: readonly string[]
  try {
    addresses = await lookup(host)
  } catch (cause) {
    throw notSent('upstream_dns_error', `Cannot connect to ${origin}: its name cannot be resolved`, cause)
  }
  if (addresses.length > 0) return addresses
  throw notSent('upstream_dns_error', `Cannot connect to ${origin}: its name has no address`)
}

async function proxyAddresses({ host }: ProxyServer, lookup: Lookup): Promise<readonly [string, ...string[]]> {
  if (/^[\d.]+$|:/.test(host)) return [host]
  const [first, ...others] = await lookup(host).catch(() => [] as readonly string[])
  if (first !== undefined) return [first, ...others]
  throw notSent('proxy_failed', `The name of the proxy ${host} cannot be resolved`)
}

function blocked(origin: string): HubError {
  return notSent('url_address_blocked', `${origin} is at an address that servers of this owner may not reach`)
}
