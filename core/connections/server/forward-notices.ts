import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord } from '../../contract/records.ts'
import type { ConnectionEvents } from '../connection/connection-events.ts'
import type { ServerContext } from './server-context.ts'

const MOST_DEVIATIONS = 4
const LOGGED_CHARACTERS = 4_000
const LOGGER_CHARACTERS = 200

/**
 * Handles notifications of a connection that belong to no call, and records all log messages of the server. `own`: a dedicated connection;
 * `hears`: it belongs to one client, which gets log messages too.
 */
export function upstreamNotices(
  { bus, log, records, redact, stray, deviations }: ServerContext,
  record: () => ServerRecord,
  own?: { readonly key: string; readonly hears: boolean },
): Pick<ConnectionEvents, 'notification' | 'said' | 'log' | 'malformed' | 'stray' | 'deviates'> {
  return {
    said: params => {
      const { level, message, logger } = logMessage(params)
      const said = redact(message).slice(0, LOGGED_CHARACTERS)
      const from = logger === undefined ? {} : { logger: redact(logger).slice(0, LOGGER_CHARACTERS) }
      records.write(record(), level, said, from)
    },
    notification: (method, params) => {
      const { id: serverId, ownerId } = record()
      // On a shared connection a log message cannot be matched to a client, so no client gets it.
      if (method === 'notifications/message' && !own?.hears) return
      const data = { serverId, ...(own ? { sessionId: own.key } : {}), method, params }
      bus.emit('upstream.notification', ownerId, data, 'internal')
    },
    malformed: (detail, count) => {
      records.malformed(record(), detail, count)
    },
    stray: line => {
      if (stray.first !== undefined) return
      stray.first = line
      const { id: serverId, ownerId, name } = record()
      log.info('A server sends text that is no MCP message, which is skipped', {
        server: name,
        serverId,
        ownerId,
        line,
      })
    },
    deviates: how => {
      if (deviations.has(how) || deviations.size >= MOST_DEVIATIONS) return
      deviations.add(how)
      const { id: serverId, ownerId, name } = record()
      log.info(`A server deviates from MCP, which is taken all the same: ${how}`, { server: name, serverId, ownerId })
    },
    log: (level, message) => {
      const { id: serverId, ownerId, name } = record()
      log[level](message, { server: name, serverId, ownerId })
    },
  }
}

/** The levels of MCP that are not errors. */
const LEVELS = new Map<string, 'debug' | 'info' | 'warn'>([
  ['debug', 'debug'],
  ['info', 'info'],
  ['notice', 'info'],
  ['warning', 'warn'],
])

/** The parts of a `notifications/message`; `data` may be any JSON. */
function logMessage(params: JsonObject | undefined) {
  const { level = '', logger, data } = params ?? {}
  return {
    level: LEVELS.get(String(level)) ?? ('error' as const),
    message: typeof data === 'string' ? data : JSON.stringify(data ?? null),
    logger: typeof logger === 'string' ? logger : undefined,
  }
}
