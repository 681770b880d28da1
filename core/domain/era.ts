/** `legacy`: with a handshake, up to 2025-11-25. `modern`: every request carries its own version, from 2026-07-28 on. */
export type Era = 'legacy' | 'modern'

/** The versions of the legacy era, earliest first. */
export const LEGACY_VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

/** The last version of the legacy era, which the hub requests of servers and offers to clients. */
export const LATEST_LEGACY = '2025-11-25'

/** The one version of the modern era that the hub speaks. */
export const MODERN_VERSION = '2026-07-28'

/** What begins with this in `_meta` is the protocol's own. */
export const META_PREFIX = 'io.modelcontextprotocol/'
export const VERSION_KEY = `${META_PREFIX}protocolVersion`
export const CLIENT_INFO_KEY = `${META_PREFIX}clientInfo`
export const CAPABILITIES_KEY = `${META_PREFIX}clientCapabilities`
export const LOG_LEVEL_KEY = `${META_PREFIX}logLevel`
export const SERVER_INFO_KEY = `${META_PREFIX}serverInfo`
/** Tags what comes on a listen stream with the id of the request that opened it. */
export const SUBSCRIPTION_KEY = `${META_PREFIX}subscriptionId`

/** The era of a protocol version, which is a date. */
export function eraOf(protocolVersion: string): Era {
  return protocolVersion >= MODERN_VERSION ? 'modern' : 'legacy'
}
