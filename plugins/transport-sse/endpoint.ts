import { HubError } from 'patchbay/contract'

const MAX_CHARACTERS = 8_192
/** Members of an object in which servers write the address. */
const MEMBERS = ['uri', 'url', 'endpoint', 'path', 'data'] as const
/** Longest address in a message to a person. */
const SHOWN = 200

/** The address to which messages are posted. */
export interface Endpoint {
  readonly url: string
  /** Addresses to try where the server has no such path. */
  readonly others: readonly string[]
  /** The deviation of the event from MCP; undefined: there is none. */
  readonly deviation?: string
}

/**
 * Reads the `endpoint` event. Only the configured origin is used: a server must not lead the hub, with the credentials of that
 * server, to another one. Many servers behind a proxy or in a container name the origin that they know themselves, so path and
 * query are taken of it. Throws upstream_protocol.
 */
export function readEndpoint(text: string, configured: string): Endpoint {
  const written = text.length <= MAX_CHARACTERS ? unwrapped(text) : undefined
  const named = written === undefined ? null : URL.parse(written, configured)
  if (written === undefined || !named || !isHttp(named) || `${named.username}${named.password}` !== '') {
    throw new HubError('upstream_protocol', 'The server named an "endpoint" that is no usable address')
  }
  const { origin } = new URL(configured)
  const deviations: string[] = []
  if (written !== text.trim()) deviations.push('its event "endpoint" is no plain address')
  if (named.origin !== origin) deviations.push(elsewhere(named, origin))
  // A path without a slash is relative to the stream; some servers mean the root.
  const others =
    /^[\w.~%-]/.test(written) && !written.includes('://') ? [at(origin, URL.parse(`/${written}`, origin))] : []
  const url = at(origin, named)
  return {
    url,
    others: others.filter(other => other !== url),
    ...(deviations.length > 0 ? { deviation: deviations.join(', and ') } : {}),
  }
}

/** True for the data of an event without the name `endpoint` that can be nothing but the address. */
export function isEndpoint(text: string): boolean {
  if (text.length > MAX_CHARACTERS) return false
  const written = unwrapped(text)
  return written !== undefined && /^(?:https?:\/\/|[/?]|[\w.~%-]+[/?]\S*session)\S*$/i.test(written)
}

function elsewhere(named: URL, origin: string): string {
  const shown = named.origin.slice(0, SHOWN)
  return `it names ${shown} as the origin of its address for messages; the hub sends them to ${origin}, since no credential may leave it`
}

/** Path and query at the configured origin. */
function at(origin: string, named: URL | null): string {
  return `${origin}${named?.pathname ?? '/'}${named?.search ?? ''}`
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

/** The address without quotes, or the member of a JSON object; undefined for other JSON, and for nothing. */
function unwrapped(text: string): string | undefined {
  const trimmed = text.trim()
  const value = /^[{"[]/.test(trimmed) ? parsed(trimmed) : trimmed.replace(/^'(.*)'$/, '$1')
  if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
  if (typeof value !== 'object' || value === null || 'jsonrpc' in value) return undefined
  const members = value as Readonly<Record<string, unknown>>
  const address = MEMBERS.map(name => members[name]).find(member => typeof member === 'string')
  return typeof address === 'string' ? address : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
