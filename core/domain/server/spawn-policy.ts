import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Role } from '../../contract/records.ts'
import { quoteName } from '../names.ts'
import { envKeyForbidden } from './env-keys.ts'
import { PROGRAM_FOLDER } from './programs.ts'

/** The isolation of child processes that this machine supports, as probed at boot. */
export type SandboxLevel = 'full' | 'uid' | 'none'

/** A process's network: none, the hub's guarded proxy, or the hub's own. */
export type ChildNetwork = 'none' | 'proxy' | 'host'

/** Rights that administrators grant to a user beyond the default. */
export interface UserGrants {
  /** The most network access of this user's servers. Default `none`. */
  readonly network: 'none' | 'proxy'
}

/** The work folder inside the sandbox. */
export const WORK_FOLDER = '/home/server'

/** Inputs of the decision whether and how a process may start. */
export interface SpawnPolicyInput {
  readonly policy: 'sandboxed' | 'admin' | 'off'
  readonly level: SandboxLevel
  readonly ownerRole: Role
  readonly grants: UserGrants
  /** The transport part of the server's configuration, variables filled in. */
  readonly config: JsonObject
  /** True when it runs a program that a plugin stores. */
  readonly stored: boolean
}

/** Settings for running the process. Outside the sandbox it shares the hub's network. */
export type SpawnVerdict =
  | { readonly sandbox: 'off' }
  | { readonly sandbox: 'full'; readonly network: ChildNetwork; readonly cwd: string }

/**
 * The check before every start of a process and every save that could cause one: create, edit, start, restart, test,
 * batch, import. Repeated at each start, since a machine may lose its sandbox and an owner the role. Throws
 * `stdio_not_permitted`, `network_not_permitted`, `env_key_forbidden` or `cwd_forbidden`.
 */
export function spawnPolicy(input: SpawnPolicyInput): SpawnVerdict {
  const { policy, level, ownerRole, grants, config, stored } = input
  if (policy === 'off') throw refused('STDIO_POLICY is "off": nobody may run commands')
  const admin = ownerRole === 'admin'
  // The folder of a stored program is a path inside the sandbox.
  if (admin && config.sandbox !== 'full' && !stored) return { sandbox: 'off' }
  if (!admin) refuseForbiddenKeys(config, stored)
  const network = childNetwork(config)
  if (!admin && network !== 'none' && (network === 'host' || grants.network === 'none')) {
    const granted = grants.network === 'none' ? 'none' : `"${grants.network}"`
    throw new HubError(
      'network_not_permitted',
      `The server asks for network "${network}"; its owner was granted ${granted}`,
      { hint: 'An administrator can grant network "proxy" to a user.' },
    )
  }
  const cwd = cwdInside(config)
  if (!admin && policy === 'admin') throw refused('STDIO_POLICY is "admin": only administrators may run commands')
  if (level !== 'full') {
    const who = admin ? 'the server asks for the sandbox' : 'ordinary users run commands only inside the sandbox'
    throw refused(`${who}, and this machine offers level "${level}"`)
  }
  return { sandbox: 'full', network, cwd }
}

function childNetwork({ network }: JsonObject): ChildNetwork {
  return network === 'proxy' || network === 'host' ? network : 'none'
}

function refuseForbiddenKeys(config: JsonObject, stored: boolean): void {
  const env = (config.env ?? {}) as JsonObject
  const forbidden = Object.keys(env).filter(key => envKeyForbidden(key) && !(stored && leadsIntoProgram(key, env[key])))
  if (forbidden.length === 0) return
  const names = forbidden.slice(0, 10).map(quoteName).join(', ')
  throw new HubError('env_key_forbidden', `Only servers of administrators may set ${names} for a process`, {
    hint: 'Such variables make a program load code or run another program.',
  })
}

/** Stored programs in Python carry the modules that they need, and name their folders so. */
function leadsIntoProgram(key: string, value: unknown): boolean {
  if (key !== 'PYTHONPATH' || typeof value !== 'string') return false
  return value.split(':').every(path => path.startsWith(`${PROGRAM_FOLDER}/`) && !path.split('/').includes('..'))
}

/** The working directory inside the sandbox, checked by text; symbolic links that lead out are checked on the disk. */
function cwdInside({ cwd }: JsonObject): string {
  if (typeof cwd !== 'string') return WORK_FOLDER
  const parts = cwd.split('/').filter(part => part !== '' && part !== '.')
  const path = `/${parts.join('/')}`
  const inside = !cwd.startsWith('/') || path === WORK_FOLDER || path.startsWith(`${WORK_FOLDER}/`)
  if (parts.includes('..') || cwd.includes('\\') || !inside) throw cwdForbidden(cwd)
  if (cwd.startsWith('/')) return path
  return parts.length === 0 ? WORK_FOLDER : `${WORK_FOLDER}${path}`
}

/** The error for a working directory outside the server's own folder. */
export function cwdForbidden(cwd: string): HubError {
  return new HubError('cwd_forbidden', `The working directory ${quoteName(cwd)} lies outside the server’s own folder`, {
    hint: 'Leave "cwd" out, or give a path relative to the server’s folder.',
  })
}

function refused(why: string): HubError {
  return new HubError('stdio_not_permitted', `Cannot run a command for this server: ${why}`, {
    hint: 'Use a remote server (url), or ask an administrator to own the server.',
  })
}
