import type { Scope } from './preferences.ts'

/** The scope of lists in the address; without one what may be seen. */
export function scopeOf(query: URLSearchParams): Scope {
  const scope = query.get('scope')
  return scope === 'mine' || scope === 'all' ? scope : 'visible'
}
