import type { ServerRecord } from '../../contract/records.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'
import type { ServerContext } from './server-context.ts'

const LOGGED_CHARACTERS = 4_000

/**
 * Where the notifications and remarks of a connection go that belong to no call. `own`: it is not the shared one; `hears`: it
 * belongs to one client, which gets log messages too.
 */
export function upstreamNotices(
  { bus, log, redact }: ServerContext,
  record: () => ServerRecord,
  own?: { readonly key: string; readonly hears: boolean },
): Pick<ConnectionEvents, 'notification' | 'log'> {
  return {
    notification: (method, params) => {
      const { id: serverId, ownerId, name } = record()
      // Where several callers share a connection nobody can say whose message it is, so no client gets it.
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
