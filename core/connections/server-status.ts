import type { ServerStatus } from '../contract/records.ts'
import { eraOf } from '../domain/era.ts'
import type { ServerCatalog } from './api.ts'
import type { Observed } from './observed.ts'
import type { OpenedMessage } from './protocol.ts'

/** What people see of a server; from its stored lists what a connection has not said yet. */
export function serverStatus(
  observed: Observed,
  lists: ServerCatalog | undefined,
  opened: OpenedMessage | undefined,
  more: { readonly latencyMs: ServerStatus['latencyMs'] | undefined; readonly pid: number | undefined },
): ServerStatus {
  const { state, since, nextAttemptAtMs } = observed.now
  const { reason, attempts } = observed
  const said = opened ?? lists
  return {
    state,
    since,
    ...(reason ? { reason } : {}),
    attempts,
    ...(nextAttemptAtMs === undefined ? {} : { nextAttemptAt: new Date(nextAttemptAtMs).toISOString() }),
    ...(said
      ? {
          era: eraOf(said.protocolVersion),
          protocolVersion: said.protocolVersion,
          serverInfo: said.serverInfo,
          capabilities: said.capabilities,
        }
      : {}),
    counts: {
      tools: lists?.tools.length ?? 0,
      prompts: lists?.prompts.length ?? 0,
      resources: lists?.resources.length ?? 0,
    },
    ...(more.pid === undefined ? {} : { pid: more.pid }),
    ...(more.latencyMs ? { latencyMs: more.latencyMs } : {}),
  }
}
