import type { Role } from '../../contract/records.ts'
import type { UserGrants } from './spawn-policy.ts'

/** The part of an account that determines its servers' rights. */
export interface OwnerRights {
  readonly role: Role
  readonly grants: UserGrants
}

/**
 * Upper limit of one server's rights, regardless of its owner's: those of an ordinary user with this network grant. For servers
 * that were configured by an account with fewer rights than their present owner's.
 */
export type RightsCap = UserGrants['network']

/** Higher is more. `none` and `proxy` are ordinary users with that network grant. */
const RANKS = { none: 0, proxy: 1, admin: 2 } as const

function level({ role, grants }: OwnerRights): keyof typeof RANKS {
  return role === 'admin' ? 'admin' : grants.network
}

/** The rights of a server: its owner's, limited by its cap. */
export function cappedRights<Rights extends OwnerRights>(rights: Rights, cap: RightsCap | undefined): Rights {
  if (cap === undefined || RANKS[level(rights)] <= RANKS[cap]) return rights
  return { ...rights, role: 'user', grants: { network: cap } }
}

/** The lower of two caps; undefined means no cap. */
export function lowerCap(one: RightsCap | undefined, other: RightsCap | undefined): RightsCap | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return RANKS[one] <= RANKS[other] ? one : other
}

/** The cap of a server that moves from an account with the rights `giver`; undefined when its rights do not increase. */
export function capOfMove(giver: OwnerRights, heir: OwnerRights): RightsCap | undefined {
  const given = level(giver)
  return given === 'admin' || RANKS[level(heir)] <= RANKS[given] ? undefined : given
}
