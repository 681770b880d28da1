import { type FieldError, HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Role, TransportName } from '../../contract/records.ts'
import { refuseClosedHost } from '../../domain/server/permitted-host.ts'
import { cwdForbidden, spawnPolicy } from '../../domain/server/spawn-policy.ts'
import { addressesOf } from '../../domain/server/transport.ts'
import type { Transport } from '../../domain/server/transports.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { RegistryDeps } from '../context.ts'
import type { Owner } from '../owners.ts'

/** The stored server that is being changed. */
interface StoredServer {
  readonly id: string
  /** The save changes nothing, or only enables or disables it. */
  readonly unchanged: boolean
}

/**
 * Checks whether a server of this owner may have this configuration; the owner's rights count, regardless of the user who saves
 * it. Throws HubError: field_forbidden, network_not_permitted, env_key_forbidden, cwd_forbidden, stdio_not_permitted,
 * url_address_blocked, and `validation_failed` with `loop_detected`. `filled` has its variables filled in. `stored` is undefined
 * for a new server.
 */
export function checkServerRights(
  deps: Pick<RegistryDeps, 'transports' | 'stdio' | 'outboundAllow' | 'ownPorts' | 'leavesWorkFolder'>,
  owner: Pick<Owner, 'id' | 'role' | 'grants'>,
  name: TransportName,
  filled: JsonObject,
  stored?: StoredServer,
): void {
  const transport = deps.transports.of(name)
  if (transport?.kind === 'process') checkProcess(deps, owner, filled, stored)
  if (owner.role !== 'admin' && isJsonObject(filled.tls) && filled.tls.insecure === true && !stored?.unchanged) {
    throw new HubError('field_forbidden', 'Only servers of administrators take any certificate ("tls.insecure")', {
      hint: 'List the server’s authority in "tls.ca", or ask an administrator.',
    })
  }
  checkAddresses(deps, owner.role, transport, filled)
}

function checkProcess(
  deps: Pick<RegistryDeps, 'stdio' | 'leavesWorkFolder' | 'transports'>,
  { id, role, grants }: Pick<Owner, 'id' | 'role' | 'grants'>,
  filled: JsonObject,
  stored: StoredServer | undefined,
): void {
  // A value from an administrator must not stop another owner from enabling the server: it has no effect then.
  if (role !== 'admin' && filled.sandbox === 'off' && !stored?.unchanged) {
    throw new HubError('field_forbidden', 'Only servers of administrators run with sandbox "off"')
  }
  const isStored = deps.transports.programs.of(filled) !== undefined
  const verdict = spawnPolicy({ ...deps.stdio(), ownerRole: role, grants, config: filled, stored: isStored })
  if (verdict.sandbox === 'off' || !stored) return
  if (deps.leavesWorkFolder?.(id, stored.id, verdict.cwd)) throw cwdForbidden(String(filled.cwd))
}

function checkAddresses(
  deps: Pick<RegistryDeps, 'outboundAllow' | 'ownPorts'>,
  ownerRole: Role,
  transport: Transport | undefined,
  filled: JsonObject,
): void {
  const loops: FieldError[] = []
  for (const { pointer, url } of addressesOf(transport, filled)) {
    if (isOwnAddress(url, deps.ownPorts?.() ?? [])) {
      loops.push({ pointer, code: 'loop_detected', detail: `${url.host} is this hub itself` })
    }
    const rights = { networks: deps.outboundAllow, admin: ownerRole === 'admin' }
    refuseClosedHost('The server’s address', url.hostname, rights, 'servers')
  }
  if (loops.length > 0) throw validationError(loops)
}

function isOwnAddress(url: URL, own: readonly string[]): boolean {
  const port = url.port === '' ? (/^(?:https|wss):$/.test(url.protocol) ? '443' : '80') : url.port
  const host = url.hostname.replace(/\.$/, '')
  const local =
    /^(?:localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(host)
  return own.some(entry => (/^\d+$/.test(entry) ? local && entry === port : entry === `${host}:${port}`))
}
