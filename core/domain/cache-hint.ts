import { isJsonObject, type JsonValue } from '../contract/json.ts'

/** Cache hint of a response, as MCP 2026-07-28 defines it. */
export interface CacheHint {
  /** Time for which the response may be cached, in milliseconds; 0: not at all. */
  readonly ttlMs: number
  /** `public`: the response is the same for every caller. */
  readonly cacheScope: 'public' | 'private'
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
