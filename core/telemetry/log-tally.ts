import type { TallyKey, TallyRow } from '../features/log-store.ts'

/** Highest number of rows in one slot; further records are counted by level only. */
const MOST_ROWS = 300
/** Most rows that wait because they cannot be stored. */
const MOST_WAITING = 10 * MOST_ROWS

interface Row {
  readonly key: TallyKey
  readonly at: number
  count: number
}

/** Length of a slot, in milliseconds. */
export const SLOT_MS = 10_000

/**
 * Counts log records in slots of 10 s, including those that a sink loses later. A record takes a fraction of a microsecond; a
 * slot has at most 300 rows plus a few by level.
 */
export class LogTally {
  readonly #now: () => number
  #rows = new Map<string, Row>()
  #slot = 0
  #inSlot = 0
  /** Row of the last record: the next one is often of the same kind. */
  #last: Row | undefined

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  add(key: TallyKey): void {
    const at = Math.floor(this.#now() / SLOT_MS) * SLOT_MS
    if (at !== this.#slot) {
      this.#slot = at
      this.#inSlot = 0
    }
    if (this.#last?.at === at && isSame(this.#last.key, key)) this.#last.count += 1
    else this.#last = this.#count(key, at, 1)
  }

  /** Returns and removes all rows since the last call. */
  take(): readonly TallyRow[] {
    const rows = [...this.#rows.values()].map(({ key, at, count }) => ({ ...key, at, count }))
    this.#rows = new Map()
    this.#inSlot = 0
    this.#last = undefined
    return rows
  }

  /** Puts back rows that could not be stored. Rows above 3,000 are lost. */
  putBack(rows: readonly TallyRow[]): void {
    for (const { at, count, ...key } of rows) if (this.#rows.size < MOST_WAITING) this.#count(key, at, count)
  }

  /** Returns the row that holds it. */
  #count(key: TallyKey, at: number, count: number): Row {
    const { level, owner, caller, serverId, server, tool, code, isCall, failed, outcome } = key
    const name = `${at}\n${level}${isCall}${failed}${outcome}\n${owner}\n${caller}\n${serverId}\n${code}\n${tool}`
    const known = this.#rows.get(name)
    if (known) {
      known.count += count
      return known
    }
    if (this.#inSlot >= MOST_ROWS && !isRest(key)) return this.#count({ ...key, ...REST }, at, count)
    this.#inSlot += 1
    const kept = { level, owner, caller, serverId, server, tool, code, isCall, failed }
    const row = { key: outcome === undefined ? kept : { ...kept, outcome }, at, count }
    this.#rows.set(name, row)
    return row
  }
}

/** True when both are counted in one row; servers are distinguished by their ids. */
function isSame(a: TallyKey, b: TallyKey): boolean {
  const isOfOne = a.serverId === b.serverId && a.tool === b.tool && a.owner === b.owner && a.caller === b.caller
  if (a.outcome !== b.outcome) return false
  return isOfOne && a.level === b.level && a.code === b.code && a.isCall === b.isCall && a.failed === b.failed
}

const REST = { owner: '', caller: '', serverId: '', server: '', tool: '', code: '' }

function isRest({ owner, caller, serverId, tool, code }: TallyKey): boolean {
  return owner === '' && caller === '' && serverId === '' && tool === '' && code === ''
}
