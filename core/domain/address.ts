import ipaddr from 'ipaddr.js'
import { withoutEnd } from '../transport-kit/text-ends.ts'
import type { OutboundProxy } from './outbound/proxy.ts'

/** The addresses that the servers of one owner may connect to. */
export interface AddressRights {
  /** Opened networks as CIDR or single addresses, such as `10.20.0.0/16`. An invalid entry opens nothing. */
  readonly networks: readonly string[]
  /** The owner is an administrator, who may use loopback and private networks. */
  readonly admin: boolean
  /** The proxies on the way out; absent: every address is reached directly. They do not widen what may be reached. */
  readonly proxy?: OutboundProxy
}

/** The rights of an administrator's servers or an ordinary user's, in a hub that opens these networks. */
export function addressRights(
  outbound: { readonly outboundAllow: readonly string[]; readonly outboundProxy?: OutboundProxy | undefined },
  admin: boolean,
): AddressRights {
  const { outboundAllow: networks, outboundProxy: proxy } = outbound
  return { networks, admin, ...(proxy === undefined ? {} : { proxy }) }
}

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = readonly [Address, number]

/** Special-purpose IPv4 networks (IANA registry of RFC 6890), multicast and reserved ones. */
const REFUSED_V4 = ranges(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
)

/** The only IPv6 prefix allocated for global unicast, and its special-purpose parts. */
const GLOBAL_V6 = ranges('2000::/3')
const REFUSED_V6 = ranges('2001::/23', '2001:db8::/32', '3fff::/20')

const PRIVATE = ranges('127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7')

/**
 * Link-local networks and the instance-metadata services of cloud providers, which hand out credentials without a
 * check. Always blocked, even inside an opened network.
 */
const CLOSED = ranges(
  '169.254.0.0/16',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  '100.100.100.200/32',
  '168.63.129.16/32',
)

const CLOSED_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data',
  'instance-data.ec2.internal',
])

/** IPv6 forms with an embedded IPv4 address: a translator or tunnel could route them anywhere. */
const EMBEDDING_V6 = ranges('::ffff:0:0/96', '::ffff:0:0:0/96', '::/96', '64:ff9b:1::/48', '2002::/16')
/** The well-known prefix of NAT64 (RFC 6052). When it is opened, the embedded IPv4 address is checked. */
const NAT64 = ranges('64:ff9b::/96')

const LOOPBACK_V6 = ranges('::1/128')

/** Checks whether a connection to this address (IPv4 in four decimal parts, or IPv6 without brackets) is allowed. */
export function checkAddress(ip: string, rights: AddressRights): 'ok' | 'blocked' {
  const address = parseAddress(ip)
  return address !== undefined && permitted(address, rights) ? 'ok' : 'blocked'
}

/** True when a client's address is loopback or of a private network. */
export function isLocalAddress(ip: string): boolean {
  const address = parseAddress(ip)
  return address !== undefined && within(address, PRIVATE)
}

/**
 * Checks a host before name resolution, given as `URL.hostname` or in any spelling that URL accepts. `name`: a DNS
 * name, whose addresses must each pass {@link checkAddress}. `ok`: an allowed literal, or a name of the local network
 * when loopback is allowed (its addresses must pass all the same).
 */
export function checkHostLiteral(hostname: string, rights: AddressRights): 'name' | 'ok' | 'blocked' {
  if (parseAddress(hostname)) return checkAddress(hostname, rights)
  const host = canonicalHost(hostname)
  if (host === undefined) return 'blocked'
  if (host.startsWith('[')) return checkAddress(host.slice(1, -1), rights)
  if (parseAddress(host)) return checkAddress(host, rights)
  if (CLOSED_NAMES.has(host)) return 'blocked'
  if (/^(?:.*\.)?(?:localhost|local|internal)$/.test(host)) return loopbackOpen(rights) ? 'ok' : 'blocked'
  return 'name'
}

function permitted(address: Address, rights: AddressRights): boolean {
  if (within(address, CLOSED)) return false
  const opened = rights.networks.flatMap(parseNetwork)
  if (within(address, NAT64)) {
    // The entry must cover the whole prefix: a single translated address has no meaning of its own.
    const nat64Opened = opened.some(([base, bits]) => bits <= 96 && within(ipaddr.parse('64:ff9b::'), [[base, bits]]))
    return nat64Opened && permitted(ipaddr.fromByteArray(address.toByteArray().slice(12)), rights)
  }
  if (within(address, EMBEDDING_V6) && !within(address, LOOPBACK_V6)) return false
  if (within(address, opened)) return true
  if (rights.admin && within(address, PRIVATE)) return true
  if (address.kind() === 'ipv4') return !within(address, REFUSED_V4)
  return within(address, GLOBAL_V6) && !within(address, REFUSED_V6)
}

function loopbackOpen(rights: AddressRights): boolean {
  return checkAddress('127.0.0.1', rights) === 'ok' || checkAddress('::1', rights) === 'ok'
}

/** The host as parsed by WHATWG URL, without trailing dots; undefined for an invalid one. */
function canonicalHost(hostname: string): string | undefined {
  // A character that ends the host would make URL check another host than the one that is connected to.
  if (/[\s/\\?#@]/.test(hostname)) return undefined
  if (hostname.includes(':') && !/^\[[^\]]*\]$/.test(hostname)) return undefined
  const url = URL.parse(`http://${hostname}/`)
  const host = withoutEnd(url?.hostname ?? '', '.').toLowerCase()
  return host === '' ? undefined : host
}

function parseAddress(ip: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(ip)) return ipaddr.IPv4.parse(ip)
  // A zone id names an interface of this machine, which makes it link-local traffic, whatever the address.
  if (ip.includes('%') || !ipaddr.IPv6.isValid(ip)) return undefined
  return ipaddr.IPv6.parse(ip)
}

function parseNetwork(entry: string): Range[] {
  const [base = '', bits, rest] = entry.trim().split('/')
  const address = parseAddress(base)
  if (!address || rest !== undefined) return []
  const width = address.kind() === 'ipv4' ? 32 : 128
  if (bits === undefined) return [[address, width]]
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > width) return []
  return [[address, Number(bits)]]
}

function within(address: Address, list: readonly Range[]): boolean {
  return list.some(([base, bits]) => {
    if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits)
    return base instanceof ipaddr.IPv6 && address.match(base, bits)
  })
}

function ranges(...entries: string[]): readonly Range[] {
  return entries.flatMap(parseNetwork)
}
