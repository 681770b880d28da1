import { type FieldError, HubError, validationError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Role, TransportName } from '../contract/records.ts'
import { judgeHostLiteral } from '../domain/address.ts'
import { envKeyForbidden } from '../domain/env-keys.ts'
import { quoteName } from '../domain/names.ts'
import { addressesOf } from '../domain/server-transport.ts'
import { spawnPolicy } from '../domain/spawn-policy.ts'
import type { RegistryDeps } from './context.ts'

/** Where a sandboxed server finds its work folder. */
const WORK_FOLDER = '/home/server'

/**
 * Whether a server of an owner with this role may be configured so; its owner's role decides, whoever saves it. Throws
 * HubError: field_forbidden, network_not_permitted, env_key_forbidden, cwd_forbidden, stdio_not_permitted,
 * url_address_blocked, and `validation_failed` with `loop_detected`. `filled` has its variables filled in.
 */
export function checkServerRights(
  deps: Pick<RegistryDeps, 'stdio' | 'outboundAllow' | 'ownPorts'>,
  ownerRole: Role,
  transport: TransportName,
  filled: JsonObject,
): void {
  if (transport === 'stdio') checkProcess(deps, ownerRole, filled)
  checkAddresses(deps, ownerRole, transport, filled)
}

function checkProcess(deps: Pick<RegistryDeps, 'stdio'>, ownerRole: Role, filled: JsonObject): void {
  const { sandbox, network, env, cwd } = filled
  if (ownerRole !== 'admin') {
    if (sandbox === 'off')
      throw new HubError('field_forbidden', 'Only servers of administrators run with sandbox "off"')
    if (network === 'host' || network === 'proxy') {
      throw new HubError(
        'network_not_permitted',
        `The server asks for network "${network}"; its owner was granted none`,
      )
    }
    const forbidden = Object.keys((env ?? {}) as JsonObject).filter(envKeyForbidden)
    if (forbidden.length > 0) {
      const names = forbidden.slice(0, 10).map(quoteName).join(', ')
      throw new HubError('env_key_forbidden', `Only servers of administrators may set ${names} for a process`, {
        hint: 'Such variables make a program load code or run another program.',
      })
    }
    if (typeof cwd === 'string' && !insideWorkFolder(cwd)) {
      throw new HubError(
        'cwd_forbidden',
        `The working directory ${quoteName(cwd)} lies outside the server’s own folder`,
        {
          hint: 'Leave "cwd" out, or give a path relative to the server’s folder.',
        },
      )
    }
  }
  const asked = sandbox === 'full' || sandbox === 'off' ? { sandbox } : {}
  spawnPolicy({ ...deps.stdio(), ownerRole, ...asked } as Parameters<typeof spawnPolicy>[0])
}

/** By the path's own words; a link that leads out is found at the start. */
function insideWorkFolder(cwd: string): boolean {
  if (cwd.split(/[/\\]/).includes('..')) return false
  return !cwd.startsWith('/') || cwd === WORK_FOLDER || cwd.startsWith(`${WORK_FOLDER}/`)
}

function checkAddresses(
  deps: Pick<RegistryDeps, 'outboundAllow' | 'ownPorts'>,
  ownerRole: Role,
  transport: TransportName,
  filled: JsonObject,
): void {
  const loops: FieldError[] = []
  for (const { pointer, url } of addressesOf(transport, filled)) {
    if (isOwnAddress(url, deps.ownPorts?.() ?? [])) {
      loops.push({ pointer, code: 'loop_detected', detail: `${url.host} is this hub itself` })
    }
    const rights = { networks: deps.outboundAllow, admin: ownerRole === 'admin' }
    if (judgeHostLiteral(url.hostname, rights) === 'blocked') {
      const shown = quoteName(url.hostname)
      throw new HubError('url_address_blocked', `The server’s address ${shown} is not open to servers of this owner`, {
        hint: 'An administrator can open a network by OUTBOUND_ALLOW.',
      })
    }
  }
  if (loops.length > 0) throw validationError(loops)
}

function isOwnAddress(url: URL, own: readonly string[]): boolean {
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  const host = url.hostname.replace(/\.$/, '')
  const local =
    /^(?:localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(host)
  return own.some(entry => (/^\d+$/.test(entry) ? local && entry === port : entry === `${host}:${port}`))
}
