import type { CallOutcome, LogLevel } from '../contract/records.ts'

/** Most different rows of one slot; what is beyond them is counted by level alone. */
const MOST_ROWS = 300
/** Most rows that wait because they cannot be stored. */
const MOST_WAITING = 10 * MOST_ROWS

/** What one kind of record has in common. Texts are empty where there is none. */
export interface TallyKey {
  readonly level: LogLevel
  /** User ids of those who may read it besides administrators. */
  readonly owner: string
  readonly caller: string
  readonly serverId: string
  readonly server: string
  readonly tool: string
  /** The hub's error code, or `error` for a tool's own error. */
  readonly code: string
  readonly isCall: boolean
  /** Of a call. */
  readonly outcome?: CallOutcome
  /** A call whose outcome is not `ok`, or a record of level ERROR. */
  readonly failed: boolean
}

/** How many records of one kind there were in the slot that begins at `at`, in milliseconds since 1970. */
export interface TallyRow extends TallyKey {
  readonly at: number
  readonly count: number
}

interface Row {
  readonly key: TallyKey
  readonly at: number
  count: number
}

/** Length of a slot, in milliseconds. */
export const SLOT_MS = 10_000

/**
 * Counts log records by slots of 10 s, also those that a sink loses later. Takes a fraction of a microsecond a record, and
 * at most 300 rows a slot and a few for the rest.
 */
export class LogTally {
  readonly #now: () => number
  #rows = new Map<string, Row>()
  #slot = 0
  #inSlot = 0
  /** Of the last record: the next one is often of the same kind. */
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

  /** All that was counted since the last time. */
  take(): readonly TallyRow[] {
    const rows = [...this.#rows.values()].map(({ key, at, count }) => ({ ...key, at, count }))
    this.#rows = new Map()
    this.#inSlot = 0
    this.#last = undefined
    return rows
  }

  /** Counts again what could not be stored. What is beyond 3,000 rows is lost. */
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

/** Whether both are counted in one row; servers are distinguished by their ids. */
function isSame(a: TallyKey, b: TallyKey): boolean {
  const isOfOne = a.serverId === b.serverId && a.tool === b.tool && a.owner === b.owner && a.caller === b.caller
  if (a.outcome !== b.outcome) return false
  return isOfOne && a.level === b.level && a.code === b.code && a.isCall === b.isCall && a.failed === b.failed
}

const REST = { owner: '', caller: '', serverId: '', server: '', tool: '', code: '' }

function isRest({ owner, caller, serverId, tool, code }: TallyKey): boolean {
  return owner === '' && caller === '' && serverId === '' && tool === '' && code === ''
}
