import type { ErrorCode } from '../contract/errors.ts'
import type { ConnectionState } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** Changes of state that are kept of a server: one that flaps for a day would have thousands. */
const MOST_CHANGES = 200
/** Reasons of a server that should not run now: that time does not count. */
const RESTING: ReadonlySet<string> = new Set(['stopped', 'idle', 'owner_disabled'])

type Kind = 'online' | 'down' | 'resting'

/** A change of a server's state. */
export interface StateChange {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly state: ConnectionState
  readonly reason?: { readonly code: ErrorCode; readonly message: string }
}

/** Observed times of a server in one hour of the clock. */
export interface UptimeHour {
  /** Hours since 1970. */
  readonly number: number
  onlineMs: number
  downMs: number
}

/** State of a server that is kept across a restart of the hub. */
export interface SavedUptime {
  readonly hours: readonly UptimeHour[]
  readonly changes: readonly StateChange[]
}

/**
 * Measures how long servers that should run were online, by the clock's hours of the last day. The time between two runs of the
 * hub does not count.
 */
export class Uptime {
  readonly #servers = new Map<string, { kind: Kind; sinceMs: number; hours: UptimeHour[] }>()
  readonly #changes = new Map<string, StateChange[]>()
  readonly #now: () => number

  /** `now`: milliseconds since 1970. */
  constructor(bus: Pick<EventBus, 'on'>, now: () => number = Date.now) {
    this.#now = now
    bus.on('connection.state', ({ data: { serverId, state, reason } }) => {
      const isResting =
        state === 'offline' && reason !== undefined && (reason.ofOwner === true || RESTING.has(reason.code))
      this.#become(serverId, state === 'online' ? 'online' : isResting ? 'resting' : 'down')
      this.#note(serverId, {
        at: new Date(this.#now()).toISOString(),
        state,
        ...(reason ? { reason: { code: reason.code, message: reason.message } } : {}),
      })
    })
    bus.on('server.removed', ({ data }) => {
      this.#servers.delete(data.serverId)
      this.#changes.delete(data.serverId)
    })
  }

  /**
   * Part of the observed time of the last 24 hours for which the server was online, 0 to 1. Undefined if the server should not
   * run at all.
   */
  ratio(serverId: string): number | undefined {
    const server = this.#servers.get(serverId)
    if (!server) return undefined
    this.#become(serverId, server.kind)
    const online = server.hours.reduce((sum, hour) => sum + hour.onlineMs, 0)
    const down = server.hours.reduce((sum, hour) => sum + hour.downMs, 0)
    return online + down === 0 ? undefined : online / (online + down)
  }

  /**
   * State to persist across restarts, by server id; only servers observed in the last 24 hours. Each is computed when the
   * iterator reaches it, so that a writer can pause between them.
   */
  *saved(): Generator<readonly [serverId: string, saved: SavedUptime]> {
    for (const [id, { kind }] of this.#servers) {
      this.#become(id, kind)
      const hours = this.#servers.get(id)?.hours ?? []
      if (hours.length > 0) yield [id, { hours, changes: this.changes(id) }]
    }
  }

  /** Restores the state that an earlier run saved; call it before a server changes its state. Hours in the future are left out. */
  restore(saved: ReadonlyMap<string, SavedUptime>): void {
    const nowMs = this.#now()
    const thisHour = Math.floor(nowMs / HOUR_MS)
    for (const [id, { hours, changes }] of saved) {
      const known = hours.filter(({ number }) => number <= thisHour && number > thisHour - HOURS)
      if (known.length === 0) continue
      this.#servers.set(id, { kind: 'resting', sinceMs: nowMs, hours: known.map(hour => ({ ...hour })) })
      this.#changes.set(id, changes.slice(-MOST_CHANGES))
    }
  }

  /** The changes of the last 24 hours, at most 200, oldest first; the first may be older: the state that the day began with. */
  changes(serverId: string): readonly StateChange[] {
    const all = this.#changes.get(serverId) ?? []
    const dayAgo = new Date(this.#now() - HOURS * HOUR_MS).toISOString()
    const first = all.findLastIndex(({ at }) => at <= dayAgo)
    return all.slice(Math.max(first, 0))
  }

  #note(serverId: string, change: StateChange): void {
    const all = this.#changes.get(serverId) ?? []
    if (all.at(-1)?.state === change.state && all.at(-1)?.reason?.code === change.reason?.code) return
    this.#changes.set(serverId, [...all, change].slice(-MOST_CHANGES))
  }

  #become(serverId: string, kind: Kind): void {
    const nowMs = this.#now()
    const server = this.#servers.get(serverId) ?? { kind, sinceMs: nowMs, hours: [] }
    this.#servers.set(serverId, server)
    if (server.kind !== 'resting') this.#count(server.hours, server.kind, server.sinceMs, nowMs)
    const oldest = Math.floor(nowMs / HOUR_MS) - HOURS
    server.hours = server.hours.filter(({ number }) => number > oldest)
    server.kind = kind
    server.sinceMs = nowMs
  }

  /** A clock that went back counts nothing; one that went far ahead counts the last day. */
  #count(hours: UptimeHour[], kind: 'online' | 'down', fromMs: number, toMs: number): void {
    let at = Math.max(fromMs, toMs - HOURS * HOUR_MS)
    while (at < toMs) {
      const number = Math.floor(at / HOUR_MS)
      const end = Math.min(toMs, (number + 1) * HOUR_MS)
      const last = hours.at(-1)
      const hour = last?.number === number ? last : { number, onlineMs: 0, downMs: 0 }
      if (hour !== last) hours.push(hour)
      hour[kind === 'online' ? 'onlineMs' : 'downMs'] += end - at
      at = end
    }
  }
}
