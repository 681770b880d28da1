import type { Actor, UserActor, Visibility } from '../contract/records.ts'

/** Fields that determine who may see and change a record. */
export interface Owned {
  readonly ownerId: string
  readonly visibility: Visibility
  /** True if the owner's account is disabled; its records are not public then. */
  readonly ownerDisabled?: boolean
}

/** Visible to every signed-in user. */
export function isPublic({ visibility, ownerDisabled }: Pick<Owned, 'visibility' | 'ownerDisabled'>): boolean {
  return visibility === 'public' && ownerDisabled !== true
}

/** Owner, administrators and the hub itself; every signed-in user if public. */
export function canSee(actor: Actor, thing: Owned): boolean {
  return isPublic(thing) || canEdit(actor, thing)
}

/** Owner, administrators and the hub itself. Being public gives no right to change. */
export function canEdit(actor: Actor, thing: Pick<Owned, 'ownerId'>): boolean {
  return isAdmin(actor) || (actor.kind === 'user' && actor.userId === thing.ownerId)
}

/** True when this user's sessions under `/mcp` may use a server: own and public ones, regardless of role. */
export function canUse(userId: string, thing: Owned): boolean {
  return isPublic(thing) || thing.ownerId === userId
}

/** The hub itself counts as an administrator. */
export function isAdmin(actor: Actor): boolean {
  return actor.kind === 'system' || actor.role === 'admin'
}

/** The id of the access key with which a user came; undefined for a session. */
export function keyIdOf({ credential }: Pick<UserActor, 'credential'>): string | undefined {
  return credential.kind === 'key' ? credential.keyId : undefined
}

/** The label of that key, or the name of the client that a user has agreed to. */
export function keyLabelOf({ credential }: Pick<UserActor, 'credential'>): string | undefined {
  return credential.kind === 'key' || credential.kind === 'grant' ? credential.label : undefined
}
