import { HubError } from '../../contract/errors.ts'
import type { Actor, ServerSettings } from '../../contract/records.ts'
import type { Owner } from '../owners.ts'

/** Fields whose change needs no new connection or process. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'visibility', 'enabled', 'timeout', 'maxTimeout', 'maxResultBytes', 'passthroughHeaders'],
  ...['tools', 'prompts', 'resources', 'definitionPolicy'],
])

/** The owner whose rights apply to a server: for a confined server, with those of an ordinary user. */
export function rightsOwner(owner: Owner, { confined }: Pick<ServerSettings, 'confined'>): Owner {
  return confined && owner.role === 'admin' ? { ...owner, role: 'user' } : owner
}

/**
 * Whether a server is confined after a save. An administrator outside ADMIN_ADDRESSES confines what it creates or
 * reconfigures; an administrator inside lifts that by saving any change except enabling or disabling.
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

/** Throws `address_not_allowed` when an administrator outside ADMIN_ADDRESSES would start a command without the
 * sandbox. */
export function refusePlainStart(actor: Actor, owner: Owner, settings: ServerSettings): void {
  if (actor.kind !== 'user' || !actor.restricted || owner.role !== 'admin') return
  if (settings.transport !== 'stdio' || settings.confined || settings.config.sandbox === 'full') return
  throw outsideAdministration(`"${settings.name}" runs outside the sandbox, and cannot be started from this address`)
}

/** The error for an administrator's action from an address outside ADMIN_ADDRESSES. */
export function outsideAdministration(message: string): HubError {
  return new HubError('address_not_allowed', message, {
    hint: 'Do this from a network of ADMIN_ADDRESSES; from elsewhere an administrator is an ordinary user.',
  })
}
