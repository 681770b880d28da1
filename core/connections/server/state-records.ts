import type { ErrorCode, WireError } from '../../contract/errors.ts'
import type { ConnectionState, ServerRecord } from '../../contract/records.ts'
import type { ServerContext } from './server-context.ts'

/** Reasons for which a server is offline without a fault: a person or its configuration wants it so. */
const RESTING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['stopped', 'idle', 'owner_disabled', 'draining'])

interface State {
  readonly state: ConnectionState
  readonly reason?: WireError
}

type Logger = Pick<ServerContext, 'log'>
type Named = Pick<ServerRecord, 'id' | 'ownerId' | 'name'>

/**
 * Logs a change of a server's state with its cause: INFO where it is online, rests or connects for the first time, WARN where it
 * connects again or is degraded, ERROR where it is offline by a fault.
 */
export function logState(
  { log }: Logger,
  server: Named,
  { state, reason }: State,
  { before, attempts }: { readonly before: ConnectionState; readonly attempts: number },
): void {
  const isFault = reason !== undefined && !RESTING.has(reason.code)
  const again = attempts > 0 || before === 'online' || isFault
  const level = levelOf(state, isFault, again)
  const why = reason ? `: ${reason.message}` : ''
  log[level](`The server ${saidOf(state, isFault, again)}${why}`, {
    ...of(server),
    ...{ state, before, attempts, code: reason?.code },
  })
}

/** Logs that the checks of a server began to fail, or succeed again. */
export function logHealth({ log }: Logger, server: Named, error: State['reason']): void {
  if (error)
    log.warn(`The checks of the server fail: ${error.message}`, { ...of(server), health: 'failing', code: error.code })
  else log.info('The checks of the server succeed again', { ...of(server), health: 'healthy' })
}

function of({ id: serverId, ownerId, name: server }: Named) {
  return { component: 'server', server, serverId, ownerId }
}

function levelOf(state: ConnectionState, isFault: boolean, again: boolean): 'info' | 'warn' | 'error' {
  if (state === 'offline') return isFault ? 'error' : 'info'
  if (state === 'online') return isFault ? 'warn' : 'info'
  return again ? 'warn' : 'info'
}

function saidOf(state: ConnectionState, isFault: boolean, again: boolean): string {
  if (state === 'connecting') return again ? 'is connecting again' : 'is connecting'
  return state === 'online' && isFault ? 'is online, but degraded' : `is ${state}`
}
