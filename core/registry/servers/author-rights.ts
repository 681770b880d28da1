import { HubError } from '../../contract/errors.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import { isAdmin } from '../../domain/ownership.ts'
import { capOfMove, type RightsCap } from '../../domain/server/owner-rights.ts'
import type { Owner } from '../owners.ts'

/** Fields whose change needs no new connection or process. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...[
    'name',
    'description',
    'tags',
    'visibility',
    'enabled',
    'timeout',
    'maxTimeout',
    'maxResultBytes',
    'passthroughHeaders',
  ],
  ...['startTimeout', 'tools', 'toolsDefault', 'prompts', 'resources', 'definitionPolicy', 'outputSchemas', 'logging'],
])

/** The author of a change. */
export interface Author {
  readonly actor: Actor
  /** The account of somebody who is neither the owner nor an administrator, and may change the server by a share. */
  readonly colleague?: Owner
}

/**
 * The cap of what this author configures for this owner: an administrator outside ADMIN_ADDRESSES gives no more than an
 * ordinary user with the owner's network grant, and a colleague no more than its own account has. Undefined when the author has
 * all of the owner's rights.
 */
export function authorCap({ actor, colleague }: Author, owner: Owner): RightsCap | undefined {
  if (isAdmin(actor)) return undefined
  return capOfMove({ role: 'user', grants: (colleague ?? owner).grants }, owner)
}

/** True when a change of these fields is a new configuration, which has no more rights than its author. */
export function reconfigures(changed: readonly string[]): boolean {
  return changed.some(field => !HARMLESS.has(field))
}

/** Throws `address_not_allowed` when an administrator outside ADMIN_ADDRESSES would start a command without the
 * sandbox. `owner` with the rights that apply to the server. */
export function refusePlainStart(actor: Actor, owner: Owner, settings: ServerSettings): void {
  if (actor.kind !== 'user' || !actor.restricted || owner.role !== 'admin') return
  if (settings.transport !== 'stdio' || settings.config.sandbox === 'full') return
  throw outsideAdministration(`"${settings.name}" runs outside the sandbox, and cannot be started from this address`)
}

/** The error for an administrator's action from an address outside ADMIN_ADDRESSES. */
export function outsideAdministration(message: string): HubError {
  return new HubError('address_not_allowed', message, {
    hint: 'Do this from a network of ADMIN_ADDRESSES; from elsewhere an administrator is an ordinary user.',
  })
}
