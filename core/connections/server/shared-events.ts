import type { ConnectionEvents } from '../connection/connection-events.ts'
import type { ListsRead } from '../protocol.ts'
import { upstreamNotices } from './forward-notices.ts'
import { LOOP_MET } from './machine/server-machine.ts'
import { askingEvents } from './seen-asking.ts'
import type { ServerParts } from './server-parts.ts'

/** Handlers for what arrives over a server's next shared connection, besides its own life. */
export function sharedEvents(
  parts: ServerParts,
  configHash: string,
): Omit<ConnectionEvents, 'opened' | 'unusable' | 'ended' | 'retired'> {
  const { context, record, slots, latency, health, lists, asking } = parts
  context.stray.first = undefined
  context.deviations.clear()
  return {
    lost: (call, how, reason) => slots.lost(call, how, reason),
    input: (call, text) => slots.input(call, text),
    answered: call => latency.add(performance.now() - call.startedAtMs),
    health: report => health.checked(report),
    list: (kind, entries) => lists.part(kind, entries),
    catalog: read => listsRead(parts, read, configHash),
    stale: () => {
      asking.stale()
      lists.begin({ awaited: true })
    },
    ...askingEvents(capability => asking.noted(capability)),
    ...upstreamNotices(context, record),
  }
}

/** The server's lists contain this hub's own and would grow forever: they are rejected, the previous ones stay. */
export function loopFound({ driver, shared }: Pick<ServerParts, 'driver' | 'shared'>): void {
  driver.dispatch({ type: 'loop-found', retryMs: shared.failureDelayMs(LOOP_MET) })
}

function listsRead(parts: ServerParts, read: ListsRead, configHash: string): void {
  const { context, driver, shared, slots, lists, asking, older, serverState } = parts
  const { opened, otherTransport, openedAtMs } = shared
  if (!opened) return
  if (read.lists.instances?.some(context.isOwnMark)) return loopFound(parts)
  const before = lists.catalog
  lists.read(read, opened, configHash, otherTransport)
  driver.dispatch({ type: 'lists-read', again: read.lists.again.length > 0, failed: read.lists.failed })
  const { catalog } = lists
  if (catalog && !read.more) asking.seen({ opened, configHash, tools: catalog.tools })
  if (read.noticed.length > 0 || before?.tools !== catalog?.tools) older.mayDiffer()
  serverState.changed()
  const unused = slots.usedAtMs < openedAtMs && slots.base.connection?.inFlight === 0
  if (unused) driver.dispatch({ type: 'unused' })
}
