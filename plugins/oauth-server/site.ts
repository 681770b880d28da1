import { normalForm } from 'patchbay/transport-kit'

/** A path under `/mcp`, parsed. Without `name`: all servers of the caller. */
export interface ResourcePath {
  readonly owner: string | undefined
  readonly name: string | undefined
}

const LONGEST_RESOURCE = 2_048
/** Path of the metadata of the resource (RFC 9728). */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'
/** The scopes of the hub; the first includes the second. */
export const SCOPES = ['mcp:tools', 'mcp:read'] as const

/** True where a sign-in cannot be read on its way: over https, or without leaving the machine. */
export function isSafe(baseUrl: string, isLocal: boolean): boolean {
  return isLocal || baseUrl.startsWith('https://')
}

/**
 * The address of a resource of this hub, as tokens name it; undefined for any other text. Absent: the address of all servers.
 */
export function resourceAt(baseUrl: string, text: string | undefined): string | undefined {
  if (text === undefined) return `${baseUrl}/mcp`
  const url = text.length <= LONGEST_RESOURCE && URL.canParse(text) ? new URL(text) : undefined
  if (url?.username !== '' || url.password !== '' || /[?#]/.test(text)) return undefined
  const own = new URL(baseUrl)
  const base = own.pathname === '/' ? '' : own.pathname
  if (url.origin !== own.origin || !url.pathname.startsWith(`${base}/`)) return undefined
  const path = url.pathname.slice(base.length)
  return resourcePath(path) ? `${baseUrl}${path}` : undefined
}

/** Parses `/mcp`, `/mcp/{name}`, `/mcp/@{owner}/{name}`, with a view such as `$smart` before the name. */
export function resourcePath(path: string): ResourcePath | undefined {
  const [empty, root, ...encoded] = path.endsWith('/') ? path.slice(0, -1).split('/') : path.split('/')
  if (empty !== '' || root !== 'mcp') return undefined
  const segments: string[] = []
  for (const text of encoded) {
    const segment = decoded(text)
    if (segment === undefined || segment === '' || /[/\\\0]/.test(segment)) return undefined
    segments.push(segment)
  }
  if (segments[0]?.startsWith('$')) segments.shift()
  const [first, second, ...more] = segments
  if (first === undefined) return { owner: undefined, name: undefined }
  if (!first.startsWith('@')) return second === undefined ? { owner: undefined, name: first } : undefined
  const owner = first.slice(1)
  return owner === '' || second === undefined || more.length > 0 ? undefined : { owner, name: second }
}

function decoded(text: string): string | undefined {
  try {
    return normalForm(decodeURIComponent(text), 'NFC')
  } catch {
    return undefined
  }
}
