import type { ServerRecord, TransportName } from '../../contract/records.ts'
import { eraOf } from '../../domain/era.ts'
import type { ServerStatus, ServerWarning } from '../../domain/server/status.ts'
import type { ServerCatalog } from '../api.ts'
import type { OpenedMessage } from '../protocol.ts'
import { OWNER_DISABLED, type ServerState, STOPPED } from './server-state.ts'

/** The public status of a server; stored lists fill in what the connection has not reported yet. */
export function serverStatus(
  serverState: ServerState,
  lists: ServerCatalog | undefined,
  opened: OpenedMessage | undefined,
  more: {
    readonly starting: ServerStatus['starting']
    readonly latencyMs: ServerStatus['latencyMs'] | undefined
    readonly pid: number | undefined
    readonly transport: TransportName
    readonly health: NonNullable<ServerStatus['health']>
    /** True when the server also speaks the legacy era. */
    readonly older: boolean
    readonly connections: NonNullable<ServerStatus['connections']>
    readonly session: NonNullable<ServerStatus['session']>
    readonly warnings: readonly ServerWarning[]
  },
): ServerStatus {
  const { state, since, nextAttemptAtMs } = serverState.now
  const { attempts } = serverState
  // Online, with truncated lists.
  const reason = serverState.reason ?? (state === 'online' ? lists?.refused : undefined)
  const handshake = opened ?? lists
  const warnings = [...more.warnings, ...missingPaths(more.health)]
  return {
    state,
    since,
    ...(reason ? { reason: { ...reason, ...serverState.ofOwner } } : {}),
    attempts,
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: new Date(nextAttemptAtMs).toISOString() }),
    ...(more.starting ? { starting: more.starting } : {}),
    transport: more.transport,
    ...(handshake
      ? {
          era: eraOf(handshake.protocolVersion),
          eras: [...(more.older ? (['legacy'] as const) : []), eraOf(handshake.protocolVersion)],
          protocolVersion: handshake.protocolVersion,
          serverInfo: handshake.serverInfo,
          capabilities: handshake.capabilities,
        }
      : {}),
    counts: {
      tools: lists?.tools.length ?? 0,
      prompts: lists?.prompts.length ?? 0,
      resources: lists?.resources.length ?? 0,
    },
    health: more.health,
    connections: more.connections,
    session: more.session,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(more.pid === undefined ? {} : { pid: more.pid }),
    ...(more.latencyMs ? { latencyMs: more.latencyMs } : {}),
  }
}

function missingPaths({ missingPaths: paths = [] }: NonNullable<ServerStatus['health']>): readonly ServerWarning[] {
  if (paths.length === 0) return []
  const message = `healthCheck.endpoints: no such path on this server: ${paths.join(', ')}`
  return [{ code: 'health_path_missing', message }]
}

/** The expected status of a server whose record, or latest change, has not reached this object yet. */
export function unheardStatus(
  record: Pick<ServerRecord, 'enabled' | 'problem' | 'ownerDisabled'> | undefined,
): ServerStatus {
  const common = { since: new Date().toISOString(), attempts: 0, counts: { tools: 0, prompts: 0, resources: 0 } }
  if (!record) {
    return { state: 'offline', reason: { code: 'starting', message: 'The server is not known yet' }, ...common }
  }
  if (record.ownerDisabled) return { state: 'offline', reason: OWNER_DISABLED, ...common }
  if (record.problem)
    return { state: 'offline', reason: { code: record.problem.code, message: record.problem.message }, ...common }
  return record.enabled ? { state: 'connecting', ...common } : { state: 'offline', reason: STOPPED, ...common }
}
