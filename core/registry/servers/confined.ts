import { HubError } from '../../contract/errors.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import type { Owner } from '../owners.ts'

/** What a server may have changed without getting another connection or process by it. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'visibility', 'enabled', 'timeout', 'maxTimeout', 'maxResultBytes', 'passthroughHeaders'],
  ...['tools', 'prompts', 'resources', 'definitionPolicy'],
])

/** The owner by whose rights a server is judged and run: where the server is confined, those of an ordinary user. */
export function rightsOwner(owner: Owner, { confined }: Pick<ServerSettings, 'confined'>): Owner {
  return confined && owner.role === 'admin' ? { ...owner, role: 'user' } : owner
}

/**
 * Whether a server is confined after a save. An administrator outside ADMIN_ADDRESSES confines what it makes or reconfigures;
 * an administrator inside lifts that by saving any change but switching the server on or off.
 */
export function confinement(
  actor: Actor,
  before: Pick<ServerSettings, 'confined'> | undefined,
  changed: readonly string[],
): Pick<ServerSettings, 'confined'> {
  if (actor.kind === 'user' && actor.restricted) {
    const reconfigured = before === undefined || changed.some(field => !HARMLESS.has(field))
    return reconfigured || before.confined ? { confined: true } : {}
  }
  const lifted = (actor.kind === 'system' || actor.role === 'admin') && changed.some(field => field !== 'enabled')
  return before?.confined && !lifted ? { confined: true } : {}
}

/** Throws `address_not_allowed` where an administrator outside ADMIN_ADDRESSES would start a command outside the sandbox. */
export function refusePlainStart(actor: Actor, owner: Owner, settings: ServerSettings): void {
  if (actor.kind !== 'user' || !actor.restricted || owner.role !== 'admin') return
  if (settings.transport !== 'stdio' || settings.confined || settings.config.sandbox === 'full') return
  throw outsideAdministration(`"${settings.name}" runs outside the sandbox, and cannot be started from this address`)
}

/** The refusal of what only administrators may do, to one whose address is not on the list. */
export function outsideAdministration(message: string): HubError {
  return new HubError('address_not_allowed', message, {
    hint: 'Do this from a network of ADMIN_ADDRESSES; from elsewhere an administrator is an ordinary user.',
  })
}
