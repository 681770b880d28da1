import { isJsonObject, type JsonValue } from '../contract/json.ts'

/** Cache hint of a response, as MCP 2026-07-28 defines it. */
export interface CacheHint {
  /** Time for which the response may be cached, in milliseconds; 0: not at all. */
  readonly ttlMs: number
  /** `public`: the response is the same for every caller. */
  readonly cacheScope: 'public' | 'private'
}

/** A cache hint with the time at which its response was received. */
export interface ReceivedHint extends CacheHint {
  /** `Date.now()`. Absent: just now. */
  readonly atMs?: number
}

/** Lifetimes from here on are in whole seconds, so that a text with one can be used again. */
const ROUNDED_MS = 10_000

/** The hint for a response that passes on what was received earlier: its lifetime never ends after the received one. */
export function remaining({ ttlMs, cacheScope, atMs }: ReceivedHint, nowMs: number): CacheHint {
  const leftMs = atMs === undefined ? ttlMs : Math.min(ttlMs, Math.max(0, ttlMs - Math.max(0, nowMs - atMs)))
  return { ttlMs: leftMs < ROUNDED_MS ? leftMs : leftMs - (leftMs % 1_000), cacheScope }
}

/** The cache hint in a result of the modern era; a result without one must not be cached. */
export function cacheHint(result: JsonValue): CacheHint {
  const { ttlMs, cacheScope } = isJsonObject(result) ? result : {}
  const usable = typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs > 0
  return { ttlMs: usable ? ttlMs : 0, cacheScope: cacheScope === 'public' ? 'public' : 'private' }
}

/** The stricter combination of two hints. */
export function narrower(a: CacheHint, b: CacheHint): CacheHint {
  return {
    ttlMs: Math.min(a.ttlMs, b.ttlMs),
    cacheScope: a.cacheScope === 'public' && b.cacheScope === 'public' ? 'public' : 'private',
  }
}
