import type { Actor, Credential, UserActor, Visibility } from '../contract/records.ts'

/** Fields that determine who may see and change a record. */
export interface Owned {
  readonly ownerId: string
  readonly visibility: Visibility
  /** True if the owner's account is disabled; its records are not public then. */
  readonly ownerDisabled?: boolean
}

/** Rights on a server or group that a share gives; each includes the ones before it. */
export const SHARE_ROLES = ['use', 'see', 'change'] as const
/** One of {@link SHARE_ROLES}. */
export type ShareRole = (typeof SHARE_ROLES)[number]
/**
 * The rights of somebody on a server or group. `use`: list, call, bring an own credential; `see`: also the masked
 * configuration, the reason of a failure, sums; `change`: also start, stop, edit, members, approve definitions; `owner`:
 * also share, transfer, delete, visibility.
 */
export type ThingRole = ShareRole | 'owner'

/** A server or group whose rights are asked for. */
export interface Thing extends Owned {
  readonly id: string
}

/** Looks up what is shared with a user: by name or with one of its teams; the highest role. Synchronous and cheap. */
export interface SharedRoles {
  sharedRole(userId: string, thingId: string): ShareRole | undefined
}

const RANKS: Readonly<Record<ThingRole, number>> = { use: 1, see: 2, change: 3, owner: 4 }

/** True when `role` includes `wanted`. */
export function includesRole(role: ThingRole | undefined, wanted: ThingRole): boolean {
  return role !== undefined && RANKS[role] >= RANKS[wanted]
}

/** The higher of two roles. */
export function higherRole<Role extends ThingRole>(one: Role | undefined, other: Role | undefined): Role | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return RANKS[one] >= RANKS[other] ? one : other
}

/** Visible to every signed-in user. */
export function isPublic({ visibility, ownerDisabled }: Pick<Owned, 'visibility' | 'ownerDisabled'>): boolean {
  return visibility === 'public' && ownerDisabled !== true
}

/**
 * The role of an actor: administrators and the hub itself have the owner's; a public thing gives `use` to every signed-in user.
 * Nothing of a disabled owner is shared. Undefined: to this actor the thing does not exist.
 */
export function roleFor(actor: Actor, thing: Thing, roles: SharedRoles): ThingRole | undefined {
  if (canEdit(actor, thing)) return 'owner'
  return actor.kind === 'user' ? foreignRole(actor.userId, thing, roles) : undefined
}

/**
 * The role with which this user's sessions under `/mcp` may use a server or group; administrators have no additional rights
 * there.
 */
export function roleUnderMcp(userId: string, thing: Thing, roles: SharedRoles): ThingRole | undefined {
  return thing.ownerId === userId ? 'owner' : foreignRole(userId, thing, roles)
}

function foreignRole(userId: string, thing: Thing, roles: SharedRoles): ShareRole | undefined {
  if (thing.ownerDisabled) return undefined
  return roles.sharedRole(userId, thing.id) ?? (isPublic(thing) ? 'use' : undefined)
}

/** True for the owner, administrators and the hub itself. Neither a share nor being public gives this right. */
export function canEdit(actor: Actor, thing: Pick<Owned, 'ownerId'>): boolean {
  return isAdmin(actor) || (actor.kind === 'user' && actor.userId === thing.ownerId)
}

/** True when this user's sessions under `/mcp` may use a server: own, shared and public ones, whether administrator or not. */
export function canUse(userId: string, thing: Thing, roles: SharedRoles): boolean {
  return roleUnderMcp(userId, thing, roles) !== undefined
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

/**
 * Ids of the access keys behind a credential, the oldest first: the key itself, and those from which it descends. What is made
 * with a credential descends from them. Empty for a sign-in.
 */
export function keysBehind(credential: Credential): readonly string[] {
  if (credential.kind === 'key') return [...(credential.makers ?? []), credential.keyId]
  return credential.kind === 'local' ? (credential.makers ?? []) : []
}

/** The keys behind an actor's credential, as `makers` of what the actor makes. */
export function makersBy(actor: Actor): { readonly makers?: readonly string[] } {
  const makers = actor.kind === 'user' ? keysBehind(actor.credential) : []
  return makers.length === 0 ? {} : { makers }
}
