import type { Role } from '../../contract/records.ts'
import type { UserGrants } from './spawn-policy.ts'

/** The part of an account that decides what its servers may do. */
export interface OwnerRights {
  readonly role: Role
  readonly grants: UserGrants
}

/**
 * The most that one server may do, whatever its owner may: what an ordinary user with this network grant may. Held by
 * servers that were configured by an account with fewer rights than their present owner has.
 */
export type RightsCap = UserGrants['network']

/** Higher is more. `none` and `proxy` are ordinary users with that network grant. */
const RANKS = { none: 0, proxy: 1, admin: 2 } as const

function level({ role, grants }: OwnerRights): keyof typeof RANKS {
  return role === 'admin' ? 'admin' : grants.network
}

/** The rights of a server: those of its owner, but no more than its cap. */
export function cappedRights<Rights extends OwnerRights>(rights: Rights, cap: RightsCap | undefined): Rights {
  if (cap === undefined || RANKS[level(rights)] <= RANKS[cap]) return rights
  return { ...rights, role: 'user', grants: { network: cap } }
}

/** The cap of a server that goes from an account with the rights `giver` to its new owner; undefined where nothing rises. */
export function capOfMove(giver: OwnerRights, heir: OwnerRights): RightsCap | undefined {
  const given = level(giver)
  return given === 'admin' || RANKS[level(heir)] <= RANKS[given] ? undefined : given
}
