import type { MetricQuery } from '../domain/alerts/condition.ts'
import type { TallyKey } from '../features/log-store.ts'

const SLOT_MS = 10_000
/** Time for which records are remembered, in milliseconds. */
export const RECORD_WINDOW_MS = 60 * 60_000
/** Number of separate counts of server, level and code. Further ones are counted without the code. */
const MOST_SERIES = 5_000

type Counted = Pick<TallyKey, 'serverId' | 'level' | 'code'>

/** Source of log records. */
export interface RecordSource {
  /** Calls `counted` for each record from now on; returns what ends this. */
  readonly onRecord: (counted: (record: Counted) => void) => () => void
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

interface Series extends Counted {
  readonly slots: { readonly number: number; count: number }[]
}

/** Counts log records of the last hour, by server, level and code. Counts only while a rule needs it. */
export class RecordFacts {
  readonly #source: RecordSource
  /** By server; the hub's own records under an empty id. */
  readonly #servers = new Map<string, Map<string, Series>>()
  #series = 0
  #counting: { readonly sinceMs: number; readonly end: () => void } | undefined

  constructor(source: RecordSource) {
    this.#source = source
  }

  refresh(wanted: boolean): void {
    if (wanted === (this.#counting !== undefined)) return
    this.#counting?.end()
    this.#counting = undefined
    this.#servers.clear()
    this.#series = 0
    if (wanted) {
      this.#counting = { sinceMs: this.#source.now(), end: this.#source.onRecord(record => this.#add(record)) }
    }
  }

  settling(windowMs: number): boolean {
    return this.#counting === undefined || this.#source.now() - this.#counting.sinceMs < windowMs
  }

  /** Records of these servers, and with an empty id those of the hub itself. Undefined until the window is full. */
  count({ selector, windowMs = 0 }: MetricQuery, serverIds: readonly string[]): number | undefined {
    if (this.settling(windowMs)) return undefined
    const from = Math.floor((this.#source.now() - windowMs) / SLOT_MS)
    const isWanted = ({ level, code }: Series): boolean =>
      selector.every(({ field, text, equal }) => {
        if (field === 'level') return (level === text.toUpperCase()) === equal
        return field !== 'code' || (code === text) === equal
      })
    const found = serverIds.flatMap(id => [...(this.#servers.get(id)?.values() ?? [])]).filter(isWanted)
    return found
      .flatMap(({ slots }) => slots.filter(({ number }) => number > from))
      .reduce((sum, slot) => sum + slot.count, 0)
  }

  forget(serverId: string): void {
    this.#series -= this.#servers.get(serverId)?.size ?? 0
    this.#servers.delete(serverId)
  }

  #add({ serverId, level, code }: Counted): void {
    const server = this.#servers.get(serverId) ?? new Map<string, Series>()
    this.#servers.set(serverId, server)
    const key = `${level} ${code}`
    const known = server.get(key)
    if (!known && this.#series >= MOST_SERIES && code !== '') return this.#add({ serverId, level, code: '' })
    const { slots } = known ?? { slots: [] as Series['slots'] }
    if (!known) {
      server.set(key, { serverId, level, code, slots })
      this.#series += 1
    }
    const number = Math.floor(this.#source.now() / SLOT_MS)
    const last = slots.at(-1)
    if (last?.number === number) last.count += 1
    else slots.push({ number, count: 1 })
    while ((slots[0]?.number ?? number) < number - RECORD_WINDOW_MS / SLOT_MS) slots.shift()
  }
}
