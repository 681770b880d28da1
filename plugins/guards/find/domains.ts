import type { Finder, Found } from './types.ts'

/**
 * Addresses as browsers and HTTP clients read them: a scheme with any number of slashes, also backward ones, and an address
 * without a scheme that a text begins with, or that stands between quotes or brackets.
 */
const ADDRESS =
  /(?<![A-Za-z0-9+.-])(?:(?:https?|wss?|ftp):[\\/]{0,8}|[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s"'<>`|{}\\^]{1,300}|^\s{0,8}[\\/]{2}[^\s"'<>`|{}\\^/]{1,300}|(?<=["'(=])\/\/(?:[a-z0-9-]{1,63}\.){1,8}[a-z0-9-]{2,63}(?=[:/?#"')\s]|$)/gi
const ENDS = ')].,;:!?'

/** Finds addresses whose host is not on the list: `example.com`, `*.example.com` for all below it, `*` for all. */
export function domainFinder(allowed: readonly string[], kind: string): Finder {
  const exact = new Set(allowed.filter(domain => !domain.startsWith('*')).map(domain => asciiHost(domain) ?? domain))
  const below = allowed.filter(domain => domain.startsWith('*.')).map(domain => `.${asciiHost(domain.slice(2)) ?? ''}`)
  const isAllowed = (host: string): boolean => exact.has(host) || below.some(suffix => host.endsWith(suffix))
  if (allowed.includes('*')) return () => []
  const find = (text: string): Found[] => {
    const found: Found[] = []
    ADDRESS.lastIndex = 0
    for (let match = ADDRESS.exec(text); match; match = ADDRESS.exec(text)) {
      const written = withoutEnd(match[0])
      const host = hostOf(written.trim())
      // The query of one address may hold another one.
      ADDRESS.lastIndex = match.index + Math.max(written.search(/[:\\/]/), 0) + 1
      if (host !== undefined && !isAllowed(host))
        found.push({ kind, start: match.index, end: match.index + written.length, host: shownHost(host) })
    }
    return found
  }
  return text => {
    if (!/[:/\\]/.test(text)) return []
    const found = find(text)
    if (found.length > 0 || !isBroken(text)) return found
    return find(text.replace(/[\t\r\n]/g, '')).map(({ host = '' }) => ({ kind, start: 0, end: text.length, host }))
  }
}

/** Without the punctuation of the sentence around it. */
function withoutEnd(address: string): string {
  let end = address.length
  while (end > 0 && ENDS.includes(address[end - 1] ?? '')) end -= 1
  return address.slice(0, end)
}

/** A host for its reader; long labels may carry what somebody wants to take out. */
function shownHost(host: string): string {
  const labels = host.split('.').map(label => (label.length > 24 ? '*' : label))
  return labels.slice(-5).join('.')
}

/** True for a text that clients may read as one address, since URL parsers leave out tabs and line breaks. */
function isBroken(text: string): boolean {
  if (text.length > LONGEST_BROKEN || !/[\t\r\n]/.test(text) || text.trim().includes(' ')) return false
  return text.split(/[\t\r\n]+/).some(line => line !== '' && !/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(line))
}

const LONGEST_BROKEN = 8_192

/** The host of an address; undefined when no client would read it as one with a host. */
function hostOf(address: string): string | undefined {
  const given = /^[\\/]{2}/.test(address) ? `https:${address}` : address
  // The rest behind the host is not parsed, since one text may have an address at each of its characters.
  const whole = /^[a-z][a-z0-9+.-]*:[\\/]*[^\\/?#]*/i.exec(given)?.[0] ?? ''
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(whole)?.[1]?.toLowerCase() ?? ''
  // Other schemes with a host, such as `postgres:`, are read by the rules of https.
  const url = URL.parse(SPECIAL.has(scheme) ? whole : `https${whole.slice(scheme.length)}`)
  // Some clients connect to hosts that the rules of URLs refuse, such as `xn--` before other letters, and an address with its zone.
  const written = WRITTEN_HOST.exec(whole)?.[1]
  const host = (url?.hostname ?? written)?.replace(/\.$/, '').toLowerCase()
  return host === undefined || host === '' ? undefined : host
}

const WRITTEN_HOST = /^[a-z][a-z0-9+.-]*:\/*(?:[^@]*@)?([a-z0-9.-]+|\[[0-9a-f:.]+%[\w.-]+\])(?::\d*)?$/i

const SPECIAL: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp'])

/** A host in the form that addresses have after parsing: lower case, and Punycode for other letters. */
export function asciiHost(host: string): string | undefined {
  const url = URL.parse(`https://${host}/`)
  const isHost = url !== null && url.pathname === '/' && url.username === '' && url.port === '' && url.search === ''
  return isHost ? url.hostname.replace(/\.$/, '') : undefined
}
