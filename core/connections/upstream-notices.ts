import type { ServerRecord } from '../contract/records.ts'
import type { ConnectionEvents } from './connection-events.ts'
import type { ServerContext } from './server-context.ts'

const LOGGED_CHARACTERS = 4_000

/** Where the notifications and remarks of a connection go that belong to no call. */
export function upstreamNotices(
  { bus, log, redact }: ServerContext,
  record: () => ServerRecord,
  sessionId?: string,
): Pick<ConnectionEvents, 'notification' | 'log'> {
  return {
    notification: (method, params) => {
      const { id: serverId, ownerId, name } = record()
      // On a shared connection nobody can say whose message it is, so no client gets it.
      if (method === 'notifications/message' && sessionId === undefined) {
        const said = redact(JSON.stringify(params ?? {})).slice(0, LOGGED_CHARACTERS)
        log.info('Log message of a server', { server: name, ownerId, record: said })
        return
      }
      const data = { serverId, ...(sessionId === undefined ? {} : { sessionId }), method, params }
      bus.emit('upstream.notification', ownerId, data, 'internal')
    },
    log: (level, message) => log[level](message, { server: record().name, ownerId: record().ownerId }),
  }
}
