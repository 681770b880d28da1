import type { LogRecord } from './api.ts'

/** Records that are remembered; the oldest are forgotten. */
const MOST_KEYS = 20_000

/**
 * Avoids showing records twice that are both live and in a search. Records have no id, so equal ones are counted: each is shown
 * as often as the source that had more of them.
 */
export class SeenRecords {
  readonly #live = new Map<string, number>()
  readonly #found = new Map<string, number>()

  /** True when a live record is not shown yet. */
  addLive(record: LogRecord): boolean {
    const key = keyOf(record)
    const count = (this.#live.get(key) ?? 0) + 1
    keep(this.#live, key, count)
    return count > (this.#found.get(key) ?? 0)
  }

  /** Returns the records of one search that are not shown yet. */
  addFound(records: readonly LogRecord[]): readonly LogRecord[] {
    const counts = new Map<string, number>()
    const unseen = records.filter(record => {
      const key = keyOf(record)
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return count > Math.max(this.#live.get(key) ?? 0, this.#found.get(key) ?? 0)
    })
    for (const [key, count] of counts) keep(this.#found, key, Math.max(count, this.#found.get(key) ?? 0))
    return unseen
  }
}

function keep(map: Map<string, number>, key: string, count: number): void {
  map.set(key, count)
  const [oldest] = map.size > MOST_KEYS ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
}

function keyOf({ timestamp, level, message, server, tool, requestId, duration, status }: LogRecord): string {
  return JSON.stringify([timestamp, level, message, server, tool, requestId, duration, status])
}
