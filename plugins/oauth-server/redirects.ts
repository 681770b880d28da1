import type { OAuthServerConfig } from './config.ts'

const LONGEST = 512
const LOOPBACK: readonly string[] = ['127.0.0.1', '[::1]', 'localhost']

/** True for an address to which an answer may go at all: https, http of this device, or a scheme of a program. */
export function isUsable(uri: string, { redirectSchemes }: Pick<OAuthServerConfig, 'redirectSchemes'>): boolean {
  const url = parsed(uri)
  if (!url) return false
  const scheme = url.protocol.slice(0, -1)
  if (scheme === 'https') return true
  return scheme === 'http' ? isLoopback(url) : redirectSchemes.includes(scheme)
}

/** True for one that a client may register without an administrator. */
export function isRegistrable(uri: string, config: OAuthServerConfig): boolean {
  if (!isUsable(uri, config)) return false
  const url = new URL(uri)
  if (url.protocol !== 'https:' || config.registration === 'any') return true
  return url.port === '' && config.registrationHosts.includes(url.hostname)
}

/** True when the address is one of those listed: equal as text; for http on this device with any port (RFC 8252, section 7.3). */
export function isListed(uri: string, listed: readonly string[]): boolean {
  if (listed.includes(uri)) return true
  const url = parsed(uri)
  if (url?.protocol !== 'http:' || !isLoopback(url)) return false
  const wanted = withoutPort(uri)
  return listed.some(one => {
    const other = parsed(one)
    return other?.protocol === 'http:' && isLoopback(other) && withoutPort(one) === wanted
  })
}

/** The host to which the answer goes, or the scheme of the program. */
export function hostOf(uri: string): string {
  const url = new URL(uri)
  return /^https?:$/.test(url.protocol) ? url.host : `${url.protocol}//`
}

/** True when any program on the device could have this address. */
export function isOnDevice(uri: string): boolean {
  return new URL(uri).protocol !== 'https:'
}

/** The address with the parameters of the answer. */
export function answered(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((one): one is [string, string] => one[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}

function parsed(uri: string): URL | undefined {
  // Texts that parsers read differently: control characters, blanks, backslashes, and user info in front of the host.
  if (uri.length > LONGEST || !/^[a-z][a-z0-9+.-]*:\/\/[\x21-\x7e]+$/.test(uri)) return undefined
  if (/[\\#<>"]|:\/\/[^/?]*@/.test(uri)) return undefined
  return URL.canParse(uri) ? new URL(uri) : undefined
}

function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.includes(hostname)
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[[^\]]*\]|[^/:?]+)):\d+(?=[/?]|$)/, '$1')
}
