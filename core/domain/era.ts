/** `legacy`: with a handshake, up to 2025-11-25. `modern`: every request has its own version, from 2026-07-28. */
export type Era = 'legacy' | 'modern'

/** The versions of the legacy era, earliest first. */
export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

/** The latest legacy version, which the hub requests from servers and offers to clients. */
export const LATEST_LEGACY = '2025-11-25'

/** The only modern version that the hub supports. */
export const MODERN_VERSION = '2026-07-28'

/** Keys in `_meta` with this prefix belong to the protocol. */
export const META_PREFIX = 'io.modelcontextprotocol/'
/** In every modern request: its protocol version. */
export const VERSION_KEY = `${META_PREFIX}protocolVersion`
/** In every modern request: name and version of the client. */
export const CLIENT_INFO_KEY = `${META_PREFIX}clientInfo`
/** In every modern request: the client's capabilities. */
export const CAPABILITIES_KEY = `${META_PREFIX}clientCapabilities`
/** The least severe log message that the client wants for this request; absent: none. */
export const LOG_LEVEL_KEY = `${META_PREFIX}logLevel`
/** In modern results: name and version of the server. */
export const SERVER_INFO_KEY = `${META_PREFIX}serverInfo`
/** Marks messages on a listen stream with the id of the request that opened it. */
export const SUBSCRIPTION_KEY = `${META_PREFIX}subscriptionId`

/** The era of a protocol version, which is a date. */
export function eraOf(protocolVersion: string): Era {
  return protocolVersion >= MODERN_VERSION ? 'modern' : 'legacy'
}
