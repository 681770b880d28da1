/** `legacy`: with a handshake, up to 2025-11-25. `modern`: every request carries its own version, from 2026-07-28 on. */
export type Era = 'legacy' | 'modern'

/** The modern version that the hub speaks. */
export const MODERN_VERSION = '2026-07-28'

/** The era of a protocol version, which is a date. */
export function eraOf(protocolVersion: string): Era {
  return protocolVersion >= MODERN_VERSION ? 'modern' : 'legacy'
}
