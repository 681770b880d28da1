import type { ConnectionState } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'

/** Longest time from a server's start until it counts as offline, in milliseconds. */
const START_MS = 30_000
/** Reasons of a server that should not run now. */
const RESTING: ReadonlySet<string> = new Set(['stopped', 'idle', 'owner_disabled'])

interface Reason {
  readonly code: string
  /** See the event `connection.state`. */
  readonly ofOwner?: boolean
}

/** A server for which its owner alone has no credential is no outage: its callers use it. */
function rests({ code, ofOwner = false }: Reason): boolean {
  return ofOwner || RESTING.has(code)
}

interface Seen {
  /** When its present start began; absent: it has been online since. */
  readonly startingSinceMs?: number
}

/** A state as a rule sees it; `resting`: stopped by hand or asleep, so that it is neither online nor offline. */
export type RuleState = ConnectionState | 'resting'

/**
 * The states of servers for rules: one that should run and is not online is offline, through all its attempts to
 * connect, but for the first 30 s of a start.
 */
export class ServerStates {
  readonly #seen = new Map<string, Seen>()
  readonly #now: () => number
  readonly #unlisten: readonly (() => void)[]

  /** `changed` runs after each change of a server's state. */
  constructor(bus: Pick<EventBus, 'on'>, now: () => number, changed: () => void) {
    this.#now = now
    this.#unlisten = [
      bus.on('connection.state', ({ data }) => {
        this.#follow(data.serverId, data.state, data.reason)
        changed()
      }),
      bus.on('server.removed', ({ data }) => {
        this.#seen.delete(data.serverId)
        changed()
      }),
    ]
  }

  /** `live` is the state of the connection now. */
  state(serverId: string, live: { readonly state: ConnectionState; readonly reason?: Reason }) {
    this.#follow(serverId, live.state, live.reason)
    const seen = this.#seen.get(serverId)
    if (!seen) return 'resting'
    if (live.state === 'online') return 'online'
    return this.settling(serverId) ? 'connecting' : 'offline'
  }

  /** It is in the first 30 s of a start, and was not online yet. */
  settling(serverId: string): boolean {
    const since = this.#seen.get(serverId)?.startingSinceMs
    return since !== undefined && this.#now() - since < START_MS
  }

  /** Milliseconds until the next starting server exceeds its time; undefined if none is starting. */
  nextInMs(): number | undefined {
    const ends = [...this.#seen.values()].flatMap(({ startingSinceMs: since }) =>
      since === undefined ? [] : [since + START_MS - this.#now()],
    )
    const open = ends.filter(ms => ms > 0)
    return open.length === 0 ? undefined : Math.min(...open)
  }

  dispose(): void {
    for (const unlisten of this.#unlisten) unlisten()
  }

  #follow(serverId: string, state: ConnectionState, reason: Reason | undefined): void {
    if (state === 'online') this.#seen.set(serverId, {})
    else if (state === 'offline' && reason !== undefined && rests(reason)) this.#seen.delete(serverId)
    else if (!this.#seen.has(serverId)) this.#seen.set(serverId, { startingSinceMs: this.#now() })
  }
}

const DAY_MS = 24 * 60 * 60_000
/** Times kept of one server; with more in a day the oldest are forgotten, and the count is this at least. */
const MOST = 10_000

/** When something rare happened to each server, for a day. Times are of a monotonic clock. */
export class Occurrences {
  readonly #times = new Map<string, number[]>()

  add(serverId: string, nowMs: number): void {
    const times = this.#times.get(serverId) ?? []
    this.#times.set(serverId, times)
    times.push(nowMs)
    while (times.length > MOST || (times[0] ?? nowMs) < nowMs - DAY_MS) times.shift()
  }

  count(serverId: string, windowMs: number, nowMs: number): number {
    return (this.#times.get(serverId) ?? []).filter(at => at > nowMs - windowMs).length
  }

  forget(serverId: string): void {
    this.#times.delete(serverId)
  }
}
