import type { Upstreams } from '../../connections/api.ts'

/** Time for which clients keep seeing a member that fails; its calls get `server_offline` meanwhile. */
const GRACE_MS = 10 * 60_000

/** Since when each server has been failing, across all its attempts to reconnect. */
export class OfflineGracePeriod {
  readonly #upstreams: Pick<Upstreams, 'status'>
  readonly #now: () => number
  readonly #since = new Map<string, number>()
  readonly #announced = new Set<string>()

  constructor(upstreams: Pick<Upstreams, 'status'>, now: () => number) {
    this.#upstreams = upstreams
    this.#now = now
  }

  /** True when clients see this server's items. Stopped by hand: no. Asleep: yes. Failing: for ten minutes. */
  listed(serverId: string): boolean {
    const { state, reason, since } = this.#upstreams.status(serverId)
    if (state === 'online' || reason?.code === 'idle') {
      this.#since.delete(serverId)
      this.#announced.delete(serverId)
      return true
    }
    if (state === 'offline' && reason?.code === 'stopped') return false
    // `since` restarts with each attempt; the outage began with the first of them.
    const began = this.#since.get(serverId) ?? Date.parse(since)
    this.#since.set(serverId, began)
    return this.#now() - began < GRACE_MS
  }

  forget(serverId: string): void {
    this.#since.delete(serverId)
    this.#announced.delete(serverId)
  }

  /** The servers whose ten minutes have ended since the last call. */
  expired(): string[] {
    const found: string[] = []
    for (const [serverId, began] of this.#since) {
      if (this.#announced.has(serverId) || this.#now() - began < GRACE_MS) continue
      this.#announced.add(serverId)
      found.push(serverId)
    }
    return found
  }
}
