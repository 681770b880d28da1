import type { Scope } from './preferences.ts'
import { session } from './session.ts'

/** The scope of lists in the address; without one what may be seen, as for `all` in an address that an administrator passed on. */
export function scopeOf(query: URLSearchParams): Scope {
  const scope = query.get('scope')
  return scope === 'mine' || (scope === 'all' && session.isAdmin) ? scope : 'visible'
}
