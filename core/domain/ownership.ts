import type { Actor, Visibility } from '../contract/records.ts'

export interface Owned {
  readonly ownerId: string
  readonly visibility: Visibility
  /** What belongs to a disabled account is public no longer. */
  readonly ownerDisabled?: boolean
}

/** Open to everybody who is signed in. */
export function isPublic({ visibility, ownerDisabled }: Pick<Owned, 'visibility' | 'ownerDisabled'>): boolean {
  return visibility === 'public' && ownerDisabled !== true
}

/** Owner, administrators, the hub itself; everybody who is signed in when the thing is public. */
export function canSee(actor: Actor, thing: Owned): boolean {
  return isPublic(thing) || canEdit(actor, thing)
}

/** Owner, administrators and the hub itself. Being public gives nobody the right to change. */
export function canEdit(actor: Actor, thing: Pick<Owned, 'ownerId'>): boolean {
  return isAdmin(actor) || (actor.kind === 'user' && actor.userId === thing.ownerId)
}

/** What this user's sessions under `/mcp` may call: own servers and public ones, whatever the role. */
export function canUse(userId: string, thing: Owned): boolean {
  return isPublic(thing) || thing.ownerId === userId
}

/** The hub itself counts as an administrator. */
export function isAdmin(actor: Actor): boolean {
  return actor.kind === 'system' || actor.role === 'admin'
}
