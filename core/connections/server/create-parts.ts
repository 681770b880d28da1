import type { ServerRecord } from '../../contract/records.ts'
import { eraOf } from '../../domain/era.ts'
import { OLDER_CONNECTION } from '../../domain/session-scope.ts'
import { PendingCall } from '../connection/call.ts'
import { DrainingConnections } from '../connection/draining-connections.ts'
import { ConnectionTurns } from '../probe/connection-turns.ts'
import { within } from '../within.ts'
import { CallDispatcher } from './call-dispatcher.ts'
import { CallerLists } from './caller-lists.ts'
import { LegacySide } from './legacy-side.ts'
import { ProtocolFindings } from './protocol-findings.ts'
import { ServerAsking } from './server-asking.ts'
import type { ServerContext } from './server-context.ts'
import { ServerDriver } from './server-driver.ts'
import { Latency, ServerHealth } from './server-health.ts'
import { ServerLists } from './server-lists.ts'
import { type ServerParts, versionOf } from './server-parts.ts'
import { ServerState } from './server-state.ts'
import { SharedConnection } from './shared-connection.ts'
import { loopFound, sharedEvents } from './shared-events.ts'

/** Longest wait for the shared connection's answer to a ping, after a second connection was opened. */
const PING_MS = 3_000

/** Builds the objects of one server. `wanted`: it should run. */
export function createParts(context: ServerContext, record: () => ServerRecord, wanted: boolean): ServerParts {
  const common = { context, record }
  const serverState = new ServerState(record, context)
  const health = new ServerHealth(record, context)
  const latency = new Latency()
  const lists = new ServerLists(context, record)
  const isWanted = (): boolean => driver.state.wanted
  const isAsleep = (): boolean => serverState.now.reason?.code === 'idle'
  const isUsable = (): boolean =>
    isWanted() && (serverState.now.state === 'online' || slots.base.connection !== undefined || isAsleep())
  const version = (): string => versionOf({ shared, lists, callers })
  const protocol = new ProtocolFindings(context, record)
  const isForCallers = (): boolean => isWanted() && serverState.wantsOwner
  const era = () => eraOf(version())
  // An attempt beside a former connection may have failed for that reason alone, as where both need one port.
  const draining = new DrainingConnections(() => driver.dispatch({ type: 'retry-due' }))
  const turns = new ConnectionTurns({
    shared: () => shared.connection,
    giveWay: () => driver.dispatch({ type: 'give-way' }),
    closed: () => Promise.all([shared.closed(), draining.ended()]),
  })
  // Servers of this transport may end when a second connection opens; `shared` says that there is to be one.
  const isSse = (): boolean => (shared.otherTransport ?? record().transport) === 'sse'
  const shared: SharedConnection = new SharedConnection({
    ...{ ...common, version, protocol, draining, turns },
    single: () => asking.single || (record().session === 'shared' && isSse()),
    knownTools: () => lists.markedTools,
    report: event => driver.dispatch(event),
    events: configHash => sharedEvents(parts, configHash),
  })
  const asking: ServerAsking = new ServerAsking({
    ...{ ...common, era, isSse, turns },
    plan: () => shared.plan(),
    usable: () => isUsable(),
    tools: () => lists.catalog?.tools,
    found: extra => lists.alsoListed(extra),
    watchShared: () => watchShared(shared, slots),
    reconnect: () => {
      if (shared.connection) driver.dispatch({ type: 'restart' })
    },
  })
  const older = new LegacySide({
    ...{ ...common, era },
    plan: () => shared.plan(),
    ready: () => isWanted() && (serverState.now.state !== 'offline' || isAsleep()),
    open: () => slots.openOlder(),
    connection: () => slots.connectionOf(OLDER_CONNECTION),
    changed: () => serverState.changed(),
    loopFound: () => loopFound(parts),
  })
  const callers: CallerLists = new CallerLists({
    ...{ ...common, kind: () => asking.kind, usable: () => isUsable() || isForCallers() },
    connection: key => slots.connectionOf(key),
    open: (key, userId, isOlder) => slots.openUser(key, userId, isOlder),
    hasTool: name => lists.catalog?.tools.some(({ key }) => key === name) === true,
  })
  const slots: CallDispatcher = new CallDispatcher({
    ...{ ...common, serverState, asking, older, callers, version, protocol, draining, turns },
    effective: () => shared.configured(),
    wanted: isWanted,
    forCallers: isForCallers,
    knownTools: () => lists.markedTools,
    wake: () => driver.wake(),
    startTimeoutMs: () => shared.startTimeoutMs,
    answered: call => latency.add(performance.now() - call.startedAtMs),
  })
  const driver: ServerDriver = new ServerDriver(wanted, {
    ...{ ...common, serverState, health, shared, protocol, slots, lists, asking, older, callers },
  })
  const parts = {
    ...common,
    driver,
    serverState,
    health,
    latency,
    shared,
    protocol,
    draining,
    slots,
    lists,
    asking,
    older,
    callers,
  }
  return parts
}

/** See `ServerAskingOptions.watchShared`: an intact connection was not lost, and answers a ping. */
function watchShared(shared: SharedConnection, { base }: CallDispatcher): () => Promise<boolean> {
  const { losses } = shared
  const { connection } = base
  // The hub itself may have closed it meanwhile.
  const isOther = (): boolean => base.connection !== connection
  return async () => {
    if (shared.losses !== losses) return false
    // A server that works on a call may be silent until it is done.
    if (!connection || isOther() || connection.inFlight > 0) return true
    const ping = new PendingCall({ method: 'ping', params: undefined })
    connection.send(ping)
    const reply = await within(ping.reply, PING_MS)
    if (reply === undefined) ping.cancel()
    if (shared.losses !== losses) return false
    return isOther() || (reply !== undefined && reply.kind !== 'failed')
  }
}
