const MOST = 10_000

/** A map that forgets its oldest entry before one more would be too many. */
export function bounded<V>(map: Map<string, V>): Map<string, V> {
  const [oldest] = map.keys()
  if (map.size >= MOST && oldest !== undefined) map.delete(oldest)
  return map
}
