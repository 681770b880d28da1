import { HubError } from '../contract/errors.ts'
import { plainAddress } from './addresses.ts'

/** `name[:port]`, or an IPv6 literal in brackets. No user information, no list. */
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\],]+)(?::(\d{1,5}))?$/i
const MAX_VERDICTS = 1_000

/** The names and origins that are served. */
export interface HostList {
  /** Throws host_not_allowed, header_duplicate. */
  requireHost(host: string): void
  isListed(host: string): boolean
  /** Throws origin_not_allowed, header_duplicate. */
  requireOrigin(origin: string): void
  /** Origins of the listed hosts at this port are served from now on. */
  listening(port: number): void
}

/**
 * Host names are compared without port and in any letter case, IPv6 literals in any spelling; origins by scheme, host and
 * port, but one whose host is a listed name passes too. Verdicts are remembered by the header's text, up to a number.
 */
export function createHostList(hosts: readonly string[], origins: readonly string[]): HostList {
  const listedHosts = new Set(hosts.map(hostName))
  const listedOrigins = new Set(origins.map(origin => originOf(origin)?.origin ?? origin.toLowerCase()))
  const goodHosts = new Set<string>()
  const goodOrigins = new Set<string>()

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
    requireOrigin(origin) {
      if (goodOrigins.has(origin)) return
      if (origin.includes(',')) throw new HubError('header_duplicate', 'The header "Origin" came twice')
      const parsed = originOf(origin)
      if (!parsed || !(listedOrigins.has(parsed.origin) || listedHosts.has(parsed.host))) {
        throw new HubError('origin_not_allowed', `The origin ${shown(origin)} may not call this hub`, {
          hint: 'Add it to ALLOWED_ORIGINS.',
        })
      }
      remember(goodOrigins, origin)
    },
    listening(port) {
      for (const host of listedHosts) listedOrigins.add(`http://${host}${port === 80 ? '' : `:${port}`}`)
    },
  }
}

function remember(verdicts: Set<string>, header: string): void {
  // Refusals are not kept: whoever makes them up must not fill the memory. Listed names have few spellings.
  if (verdicts.size < MAX_VERDICTS) verdicts.add(header)
}

function hostName(host: string): string {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host
  const address = bare.includes(':') ? plainAddress(bare) : undefined
  return address === undefined ? host.toLowerCase() : address
}

function originOf(origin: string): { readonly origin: string; readonly host: string } | undefined {
  if (!/^https?:\/\/[^/?#@\\\s]+$/i.test(origin)) return undefined
  const url = URL.parse(origin)
  if (!url) return undefined
  const host = hostName(url.hostname)
  return { origin: `${url.protocol}//${host}${url.port ? `:${url.port}` : ''}`, host }
}

function shown(header: string): string {
  return JSON.stringify(header.slice(0, 64))
}
