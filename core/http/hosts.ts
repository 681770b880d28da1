import { HubError } from '../contract/errors.ts'
import { plainAddress } from './addresses.ts'

/** `name[:port]`, or an IPv6 literal in brackets. No user information, no list. */
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\],]+)(?::(\d{1,5}))?$/i
const MAX_VERDICTS = 1_000

/** The host names and origins that the hub serves. */
export interface HostList {
  /** Throws host_not_allowed, header_duplicate. */
  requireHost(host: string): void
  isListed(host: string): boolean
  /**
   * True when the origin is listed, so that its scripts may read responses. False for the request's own origin, one of `own`,
   * unless it is listed too. Throws origin_not_allowed, header_duplicate.
   */
  requireOrigin(origin: string, own: readonly string[]): boolean
}

/**
 * Host names are compared without port and case, IPv6 literals in any spelling; origins by scheme, host and port: an
 * origin is accepted if it is listed or the request's own. Accepted hosts are cached by the header's text, up to 1,000.
 */
export function createHostList(hosts: readonly string[], origins: readonly string[]): HostList {
  const listedHosts = new Set(hosts.map(hostName))
  const listedOrigins = new Set(origins.map(origin => originOf(origin) ?? origin.toLowerCase()))
  const goodHosts = new Set<string>()

  const isListed = (host: string): boolean => {
    const name = HOST.exec(host)?.[1]
    return name !== undefined && listedHosts.has(hostName(name))
  }

  return {
    isListed,
    requireHost(host) {
      if (goodHosts.has(host)) return
      if (host.includes(',')) throw new HubError('header_duplicate', 'The header "Host" came twice')
      if (!isListed(host)) {
        throw new HubError('host_not_allowed', `The host ${shown(host)} is not served here`, {
          hint: 'Add it to ALLOWED_HOSTS, or set PUBLIC_URL.',
        })
      }
      remember(goodHosts, host)
    },
    requireOrigin(origin, own) {
      if (origin.includes(',')) throw new HubError('header_duplicate', 'The header "Origin" came twice')
      const parsed = originOf(origin)
      if (parsed !== undefined && listedOrigins.has(parsed)) return true
      if (parsed === undefined || !own.some(one => parsed === originOf(one))) {
        throw new HubError('origin_not_allowed', `The origin ${shown(origin)} may not call this hub`, {
          hint: 'Add it to ALLOWED_ORIGINS; for the hub’s own address behind a TLS proxy, set PUBLIC_URL or TRUSTED_PROXIES.',
        })
      }
      return false
    },
  }
}

function remember(verdicts: Set<string>, header: string): void {
  // Rejected hosts are not cached: an attacker could fill the memory. Listed names have few spellings.
  if (verdicts.size < MAX_VERDICTS) verdicts.add(header)
}

function hostName(host: string): string {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  const address = bare.includes(':') ? plainAddress(bare) : undefined
  return address === undefined ? host.toLowerCase() : address
}

/** Returns scheme, host and port in canonical form; undefined for a value that is not an http or https origin. */
function originOf(origin: string): string | undefined {
  if (!/^https?:\/\/[^/?#@\\\s]+$/i.test(origin)) return undefined
  const url = URL.parse(origin)
  if (!url) return undefined
  return `${url.protocol}//${hostName(url.hostname)}${url.port ? `:${url.port}` : ''}`
}

function shown(header: string): string {
  return JSON.stringify(header.slice(0, 64))
}
