import ipaddr from 'ipaddr.js'

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** True when an address, in the form of {@link plainAddress}, is in one of the networks. */
export type AddressList = (address: string) => boolean

/**
 * Reads a list of addresses and networks (`10.0.0.0/8`, `::1`, `192.0.2.7`). An IPv4-mapped IPv6 address counts as
 * IPv4. Throws RangeError for any other entry.
 */
export function addressList(entries: readonly string[]): AddressList {
  const networks = entries.map(parseNetwork)
  return address => {
    const parsed = parse(address)
    return parsed !== undefined && networks.some(network => contains(network, parsed))
  }
}

/** The canonical form of an address (IPv4-mapped as IPv4, IPv6 shortest), without port and zone; undefined for other texts. */
export function plainAddress(text: string): string | undefined {
  const bare = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  return parse(bare)?.toString()
}

/** The key under which one client is counted: its IPv4 address, or the /64 network that a subscriber usually gets. */
export function addressKey(address: string): string {
  const parsed = parse(address)
  if (!(parsed instanceof ipaddr.IPv6)) return address
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
}

function parseNetwork(entry: string): Network {
  const [base = '', bits, rest] = entry.trim().split('/')
  const address = parse(base)
  const width = address?.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? width : Number(bits)
  if (!address || rest !== undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || length > width) {
    throw new RangeError(`"${entry}" is neither an address nor a network such as 10.0.0.0/8`)
  }
  return [address, length]
}

function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  if (!ipaddr.IPv6.isValid(text)) return undefined
  // A zone names an interface of the machine that wrote it, in any number of characters.
  const address = new ipaddr.IPv6(ipaddr.IPv6.parse(text).parts)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function contains([base, bits]: Network, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits)
  return base instanceof ipaddr.IPv6 && address.match(base, bits)
}
