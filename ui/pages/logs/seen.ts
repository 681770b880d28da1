import type { LogRecord } from '../../api/logs.ts'

/** Records that are remembered; the oldest are forgotten. */
const MOST_KEYS = 20_000

/**
 * Tells records that come live from those that a search found too. Records have no id, so that equal ones are counted: of
 * each, as many are shown as the way that saw more of them.
 */
export class SeenRecords {
  readonly #live = new Map<string, number>()
  readonly #found = new Map<string, number>()

  /** Whether a record that came live is not shown yet. */
  addLive(record: LogRecord): boolean {
    const key = keyOf(record)
    const count = (this.#live.get(key) ?? 0) + 1
    keep(this.#live, key, count)
    return count > (this.#found.get(key) ?? 0)
  }

  /** Those of the records of one search that are not shown yet. */
  addFound(records: readonly LogRecord[]): readonly LogRecord[] {
    const counts = new Map<string, number>()
    const fresh = records.filter(record => {
      const key = keyOf(record)
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return count > Math.max(this.#live.get(key) ?? 0, this.#found.get(key) ?? 0)
    })
    for (const [key, count] of counts) keep(this.#found, key, Math.max(count, this.#found.get(key) ?? 0))
    return fresh
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
