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
