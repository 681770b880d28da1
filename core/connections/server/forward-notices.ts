import type { ServerRecord } from '../../contract/records.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'
import type { ServerContext } from './server-context.ts'

const LOGGED_CHARACTERS = 4_000

/**
 * Handles notifications and log messages of a connection that belong to no call. `own`: a dedicated connection;
 * `hears`: it belongs to one client, which gets log messages too.
 */
export function upstreamNotices(
  { bus, log, redact }: ServerContext,
  record: () => ServerRecord,
  own?: { readonly key: string; readonly hears: boolean },
): Pick<ConnectionEvents, 'notification' | 'log'> {
  return {
    notification: (method, params) => {
      const { id: serverId, ownerId, name } = record()
      // On a shared connection a log message cannot be matched to a client, so no client gets it.
      if (method === 'notifications/message' && !own?.hears) {
        const said = redact(JSON.stringify(params ?? {})).slice(0, LOGGED_CHARACTERS)
        log.info('Log message of a server', { server: name, serverId, ownerId, record: said })
        return
      }
      const data = { serverId, ...(own ? { sessionId: own.key } : {}), method, params }
      bus.emit('upstream.notification', ownerId, data, 'internal')
    },
    log: (level, message) => {
      const { id: serverId, ownerId, name } = record()
      log[level](message, { server: name, serverId, ownerId })
    },
  }
}
