import ipaddr from 'ipaddr.js'
import { withoutEnd } from '../../transport-kit/text-ends.ts'

/** The HTTP proxies between the hub and other networks, as `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` name them. */
export interface OutboundProxy {
  /** `http://[user:password@]host[:port]`, for http and ws addresses. Absent: those are reached directly. */
  readonly http?: string
  /** The same for https and wss addresses. */
  readonly https?: string
  /**
   * Hosts that are reached directly: names with their subdomains (`example.com`, `.example.com`), addresses, networks
   * (CIDR), each with or without a port; `*` for all.
   */
  readonly direct: readonly string[]
  /**
   * The proxy resolves names for all users' servers. Default false: a name of an ordinary user's server is resolved and checked
   * by the hub, and the proxy gets the address. Administrators' names always go to the proxy.
   */
  readonly names: boolean
}

/** One proxy. */
export interface ProxyServer {
  /** A name or an address, IPv6 without brackets. */
  readonly host: string
  readonly port: number
  /** Value of `Proxy-Authorization`; absent if the URL has no user. */
  readonly authorization?: string
}

/**
 * The proxy on the way to this address; undefined: none. Loopback addresses go through a proxy only if it is on loopback
 * itself, since another machine's loopback is not this one's.
 */
export function proxyFor(url: URL, proxy: OutboundProxy): ProxyServer | undefined {
  const secure = url.protocol === 'https:' || url.protocol === 'wss:'
  const text = secure ? proxy.https : proxy.http
  if (text === undefined) return undefined
  const server = parseProxy(text)
  if (!server) return undefined
  const host = bareHost(url.hostname)
  if (isLoopback(host) && !isLoopback(server.host)) return undefined
  const port = Number(url.port) || (secure ? 443 : 80)
  return proxy.direct.some(entry => covers(entry, host, port)) ? undefined : server
}

/** Parses a proxy's URL; without a scheme it is http, without a port 80. Undefined for anything that is not an http proxy. */
export function parseProxy(text: string): ProxyServer | undefined {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url?.protocol !== 'http:' || url.hostname === '') return undefined
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined
  const server = { host: bareHost(url.hostname), port: Number(url.port) || 80 }
  if (url.username === '' && url.password === '') return server
  const credentials = decoded(url.username, url.password)
  if (credentials === undefined) return undefined
  return { ...server, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}

function decoded(user: string, password: string): string | undefined {
  try {
    return `${decodeURIComponent(user)}:${decodeURIComponent(password)}`
  } catch {
    return undefined
  }
}

function covers(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true
  if (entry.includes('/')) return inNetwork(host, entry)
  const wanted = hostAndPort(entry)
  if (wanted.port !== undefined && wanted.port !== port) return false
  if (ipaddr.isValid(wanted.host)) return inNetwork(host, wanted.host)
  const name = withoutEnd(wanted.host.replace(/^\*?\./, ''), '.').toLowerCase()
  return host === name || host.endsWith(`.${name}`)
}

function hostAndPort(entry: string): { readonly host: string; readonly port?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(entry) ?? []
  // Several colons without brackets: an IPv6 address.
  const host = bracketed ?? plain ?? entry
  return port === undefined ? { host } : { host, port: Number(port) }
}

function parseNetwork(text: string): ReturnType<typeof ipaddr.parseCIDR> | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text)
    const address = ipaddr.parse(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch {
    return undefined
  }
}

function inNetwork(host: string, network: string): boolean {
  const range = parseNetwork(network)
  if (!range || !ipaddr.isValid(host)) return false
  const address = ipaddr.process(host)
  return address.kind() === range[0].kind() && address.match(range)
}

function bareHost(hostname: string): string {
  return withoutEnd(hostname, '.')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
}

function isLoopback(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}
