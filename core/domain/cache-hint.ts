import { isJsonObject, type JsonValue } from '../contract/json.ts'

export interface CacheHint {
  /** How long the answer counts as fresh, in milliseconds; 0: not at all. */
  readonly ttlMs: number
  /** `public`: the answer is the same for everybody. */
  readonly cacheScope: 'public' | 'private'
}

/** What a result of the modern era says about keeping it; one that says nothing must not be kept. */
export function cacheHint(result: JsonValue): CacheHint {
  const { ttlMs, cacheScope } = isJsonObject(result) ? result : {}
  const usable = typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs > 0
  return { ttlMs: usable ? ttlMs : 0, cacheScope: cacheScope === 'public' ? 'public' : 'private' }
}

/** What holds for two answers together. */
export function narrower(a: CacheHint, b: CacheHint): CacheHint {
  return {
    ttlMs: Math.min(a.ttlMs, b.ttlMs),
    cacheScope: a.cacheScope === 'public' && b.cacheScope === 'public' ? 'public' : 'private',
  }
}
