import type { TaskTable } from '../call/tasks/task-table.ts'
import type { SessionTable } from '../legacy/sessions.ts'
import type { StreamKeepAlive } from '../legacy/stream-keep-alive.ts'
import type { Subscribers } from '../scope/subscribers.ts'
import { type EventFanoutParts, UpstreamEventFanout } from './event-fanout.ts'
import { ListChanges } from './list-changes.ts'
import { Subscriptions } from './subscriptions.ts'
import { UpstreamLevels } from './upstream-levels.ts'

interface ChangesParts
  extends Pick<EventFanoutParts, 'bus' | 'upstreams' | 'scopes' | 'offlineGrace' | 'log' | 'filters'> {
  readonly keepAlive: StreamKeepAlive
  readonly sessions: SessionTable
  readonly subscribers: Subscribers
  readonly tasks: TaskTable
}

/** Notifications to clients of both eras: list changes, resource updates, log levels, and what upstreams send. */
export interface Changes {
  readonly subscriptions: Subscriptions
  readonly levels: UpstreamLevels
  readonly fanout: UpstreamEventFanout
  dispose(): void
}

/** Built before what answers requests: what must react to a changed scope listens to `fanout`. */
export function createChanges(parts: ChangesParts): Changes {
  const { upstreams, sessions, subscribers, keepAlive } = parts
  const { now } = keepAlive
  const subscriptions = new Subscriptions(upstreams, sessions, now)
  const levels = new UpstreamLevels(upstreams, sessions)
  const changes = new ListChanges(subscribers, now)
  const fanout = new UpstreamEventFanout({
    ...parts,
    changes,
    subscriptions,
    levels,
    subscribersOf: scope => subscribers.of(scope),
    inUse: scope => subscribers.inUse(scope),
  })
  sessions.opened.on(session => levels.opened(session))
  sessions.ended.on(session => {
    subscriptions.drop(session)
    fanout.dropped(session)
    levels.drop(session)
  })
  keepAlive.tick.on(() => fanout.sweep())
  return {
    subscriptions,
    levels,
    fanout,
    dispose() {
      fanout.dispose()
      subscriptions.dispose()
    },
  }
}
