import { HubError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'
import type { Registry } from '../registry/api.ts'
import type { Owner } from '../registry/owners.ts'
import type { EndpointTarget } from './endpoint.ts'

/** Registries in which references are resolved. */
export type Things = Pick<Registry, 'groups' | 'servers' | 'shares'>

/** Target of an endpoint, as its owner sees it. */
export interface BoundThing {
  /** `owner~name`, with the view before it. */
  readonly ref: string
  /** Below `/mcp`. */
  readonly path: string
}

/**
 * The owner of an endpoint as the caller: with the rights of an ordinary user, regardless of who created or changed the
 * endpoint. `makers`: the access keys by which it was made. Administrators have no additional rights at `/mcp`.
 */
export function callerFor({ id, name }: Pick<Owner, 'id' | 'name'>, makers?: readonly string[]): UserActor {
  return { kind: 'user', userId: id, name, role: 'user', credential: { kind: 'local', ...(makers ? { makers } : {}) } }
}

/** `$smart`, or `$smart/` and a reference. */
const VIEW = /^\$([a-z]+)(?:\/(.+))?$/i

/**
 * Returns the group of this reference, or else the server; undefined if there is neither. `$view/ref` is either of them in that
 * view, and `$view` is everything that the owner may use in it. `hasView`: true if a plugin offers the view.
 */
export async function findTarget(
  things: Things,
  owner: Pick<Owner, 'id' | 'name'>,
  ref: string,
  hasView: (view: string) => boolean,
): Promise<EndpointTarget | undefined> {
  if (!ref.startsWith('$')) return findThing(things, owner, ref)
  const [, word = '', inner] = VIEW.exec(ref) ?? []
  const view = word.toLowerCase()
  if (!hasView(view)) return undefined
  if (inner === undefined) return { kind: 'all', id: '', view }
  const found = await findThing(things, owner, inner)
  return found && { ...found, view }
}

async function findThing(
  things: Things,
  owner: Pick<Owner, 'id' | 'name'>,
  ref: string,
): Promise<EndpointTarget | undefined> {
  const caller = callerFor(owner)
  for (const kind of ['group', 'server'] as const) {
    const found = await namesOf(things, kind).resolve(caller, ref, 'use').catch(missingOnly)
    if (found && things.shares.mayUse(owner.id, found)) return { kind, id: found.id }
  }
  return undefined
}

/** Undefined if it was removed, or if the owner of the endpoint may no longer use it. */
export async function boundThing(
  things: Things,
  owner: Pick<Owner, 'id' | 'name'>,
  target: EndpointTarget,
): Promise<BoundThing | undefined> {
  const { kind, view } = target
  const before = view === undefined ? '' : `$${view}`
  if (kind === 'all') return { ref: before, path: `/mcp/${before}` }
  const caller = callerFor(owner)
  const found = await namesOf(things, kind).byId(caller, target.id)
  if (!found || !things.shares.mayUse(owner.id, found)) return undefined
  const { ownerName, name } = found
  // At `/mcp` a group takes precedence over a server with the same name.
  if (kind === 'server' && (await things.groups.find(caller, ownerName, name))) return undefined
  const parts = [...(before === '' ? [] : [before]), `@${encodeURIComponent(ownerName)}`, encodeURIComponent(name)]
  return { ref: `${before === '' ? '' : `${before}/`}${ownerName}~${name}`, path: `/mcp/${parts.join('/')}` }
}

function namesOf({ groups, servers }: Things, kind: 'group' | 'server') {
  return kind === 'group' ? groups : servers
}

function missingOnly(error: unknown): undefined {
  if (error instanceof HubError && error.status === 404) return undefined
  throw error
}
