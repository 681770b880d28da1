import type { HubConfig } from '../config/schema.ts'
import { StartError } from '../config/start-error.ts'
import type { Registry } from '../registry/api.ts'
import type { Auth } from './create.ts'
import { passwordProblem } from './passwords.ts'

/**
 * ADMIN_USERNAME and ADMIN_PASSWORD set up the first user, once; later starts do not change the account. Throws
 * StartError env_invalid for a rejected password.
 */
export async function makeFirstAdministrator(config: HubConfig, registry: Registry, auth: Auth): Promise<void> {
  if (config.adminUsername === undefined || config.adminPassword === undefined) return
  if (!(await registry.users.needsSetup())) return
  const weak = passwordProblem(config.adminPassword, config.adminUsername)
  if (weak) throw new StartError('env_invalid', `ADMIN_PASSWORD is not taken: ${weak.detail}`)
  await registry.users.completeSetup(config.adminUsername, await auth.passwords.hash(config.adminPassword))
}
