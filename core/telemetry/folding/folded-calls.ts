import type { LogLevel } from '../../features/log-records.ts'

/** Calls of one user that have a record each, in one second. */
const PER_SECOND = 200
const WINDOW_MS = 1_000
/** Records of one user in one second for each server, tool and outcome; further calls share one for each server or group. */
const MOST_KINDS = 50
/** Most records with the tool, and with the server or group alone, per second; further calls share one record. */
const MOST_PLACES = 100
/** Different outcomes that are counted by name. */
const MOST_OUTCOMES = 20
const SEVERITY: readonly LogLevel[] = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR']

/** The fields of the record of one call. */
export interface CallFields {
  readonly userId: string
  readonly serverId?: string | undefined
  readonly group?: string | undefined
  readonly duration: number
  readonly outcome: string
  readonly [name: string]: unknown
}

/** Writes one record. `readers`: ids, joined by commas; `ownerId`: of the server. */
export type WriteCall = (level: LogLevel, fields: CallFields, readers: string, ownerId: string) => void

interface Fold {
  level: LogLevel
  /** Fields that all of its calls have in common. */
  readonly fields: Record<string, unknown>
  readers: string
  ownerId: string
  count: number
  errors: number
  readonly outcomes: Record<string, number>
  longest: number
  total: number
}

interface Window {
  written: number
  readonly folds: Map<string, Fold>
}

/**
 * Writes records of calls: the first 200 of a user in a second separately, and the others as one record a second for each
 * server, tool and outcome. So a user with endless calls leaves others room in the queues and the store, and a search by tool,
 * outcome or level still finds the calls. Such a record has the fields that its calls share, and also `count`, `errors`,
 * `outcomes` (their number by outcome), `duration` (the longest) and `durationTotal`, in ms. Its `status` is `error` if its
 * calls have different ones.
 */
export class FoldedCalls {
  readonly #write: WriteCall
  /** By user, of the present second. */
  readonly #windows = new Map<string, Window>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(write: WriteCall) {
    this.#write = write
  }

  add(level: LogLevel, fields: CallFields, readers: string, ownerId: string): void {
    const { userId } = fields
    let window = this.#windows.get(userId)
    if (!window) {
      window = { written: 0, folds: new Map() }
      this.#windows.set(userId, window)
      this.#timer ??= setTimeout(() => this.flush(), WINDOW_MS)
    }
    if (window.written < PER_SECOND) {
      window.written += 1
      this.#write(level, fields, readers, ownerId)
    } else fold(window.folds, level, fields, readers, ownerId)
  }

  /** Writes the records of the calls that were left out; the next second begins. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const windows = [...this.#windows.values()]
    this.#windows.clear()
    for (const { folds } of windows) {
      for (const { level, fields, readers, ownerId, count, errors, outcomes, longest, total } of folds.values()) {
        const counted = { count, errors, outcomes, durationTotal: total }
        const status = fields.status ?? 'error'
        // The numbers are first: a sink that truncates long records keeps them.
        const made = { ...(count > 1 ? counted : {}), ...fields, status, duration: longest }
        this.#write(level, made as unknown as CallFields, readers, ownerId)
      }
    }
  }
}

function fold(folds: Map<string, Fold>, level: LogLevel, fields: CallFields, readers: string, ownerId: string): void {
  const place = placeOf(folds, fields)
  const known = folds.get(place)
  const into = known ?? newFold(level, fields, readers, ownerId)
  if (!known) folds.set(place, into)
  else {
    keepCommon(into.fields, fields)
    if (SEVERITY.indexOf(level) > SEVERITY.indexOf(into.level)) into.level = level
    if (into.readers !== readers) {
      // Calls to servers of several owners: only the caller may read the record.
      into.readers = fields.userId
      into.ownerId = fields.userId
    }
  }
  const { outcome, duration } = fields
  const name = outcome in into.outcomes || Object.keys(into.outcomes).length < MOST_OUTCOMES ? outcome : 'others'
  into.outcomes[name] = (into.outcomes[name] ?? 0) + 1
  into.count += 1
  if (outcome !== 'ok') into.errors += 1
  into.longest = Math.max(into.longest, duration)
  into.total += duration
}

/** The key of the record that a call is counted in. */
function placeOf(folds: ReadonlyMap<string, Fold>, { serverId, group = '', tool, outcome }: CallFields): string {
  const own = serverId ?? `group ${group}`
  // The tool of a call that reached no server is any text of the caller.
  const kind = `${own}\n${outcome}\n${serverId === undefined ? '' : String(tool)}`
  if (folds.has(kind) || folds.size < MOST_KINDS) return kind
  return folds.has(own) || folds.size < MOST_PLACES ? own : ''
}

function newFold(level: LogLevel, fields: CallFields, readers: string, ownerId: string): Fold {
  const outcomes = Object.create(null) as Record<string, number>
  return { level, fields: { ...fields }, readers, ownerId, count: 0, errors: 0, outcomes, longest: 0, total: 0 }
}

function keepCommon(common: Record<string, unknown>, fields: CallFields): void {
  for (const name in common) if (common[name] !== fields[name]) common[name] = undefined
}
