import type { Scope } from './preferences.ts'
import { session } from './session.ts'

/** The scope of lists in the address; without one what may be seen, as for `all` in an address that an administrator passed on. */
export function scopeOf(query: URLSearchParams): Scope {
  const scope = query.get('scope')
  return scope === 'mine' || (scope === 'all' && session.isAdmin) ? scope : 'visible'
}

/** The scope of a list of servers or groups, which also has those that are shared with the reader. */
export function listScopeOf(query: URLSearchParams): Scope | 'shared' {
  return query.get('scope') === 'shared' ? 'shared' : scopeOf(query)
}
