import type { Kysely } from 'kysely'
import { LIMITS } from '../../config/limits.ts'
import type { PluginLogger } from '../../contract/plugin.ts'
import { withStorageErrors } from '../../store/errors.ts'
import type { Tables } from '../../store/tables.ts'

/** The records of open sessions, which survive restarts. `key`: the hash of a session's id. */
export interface SessionRecords {
  /** Records that the session is open and was last used at this time (ms since 1970). Written soon, not awaited. */
  used(key: string, atMs: number): void
  /** Records that the session has ended and its id must be rejected. Resolves when that is stored or storing failed. */
  ended(key: string): Promise<void>
  /** Last use of an open session; undefined for one that has ended or is unknown. Throws storage errors. */
  usedAt(key: string): Promise<number | undefined>
  /** Drops sessions that were idle for too long, and retries writes that failed. */
  sweep(): Promise<void>
  /** Resolves when everything is written, or writing failed. */
  flush(): Promise<void>
}

/** Stores nothing: sessions end with the process. */
export const NO_SESSION_RECORDS: SessionRecords = {
  used() {},
  async ended() {},
  async usedAt() {
    return undefined
  },
  async sweep() {},
  async flush() {},
}

/** Last use in milliseconds, or `ended` for a session that has ended. */
type Change = number | 'ended'

/** Sessions that open within this time are written together. */
const GATHER_MS = 50
/** Rows in one statement, far below the parameter limits of SQLite and PostgreSQL. */
const ROWS_AT_ONCE = 500

/**
 * The open sessions, in the database. Only open ones have a row, rather than only ended ones: a lost write then costs a
 * client a new `initialize`, and never revives an ended session.
 */
export class StoredSessions implements SessionRecords {
  readonly #db: Kysely<Tables>
  readonly #log: PluginLogger
  readonly #now: () => number
  #waiting = new Map<string, Change>()
  /** The changes that are being written. */
  #writing: ReadonlyMap<string, Change> = new Map()
  #running: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(db: Kysely<Tables>, log: PluginLogger, now: () => number = Date.now) {
    this.#db = db
    this.#log = log
    this.#now = now
  }

  used(key: string, atMs: number): void {
    this.#waiting.set(key, atMs)
    this.#timer ??= setTimeout(() => void this.flush(), GATHER_MS)
  }

  ended(key: string): Promise<void> {
    this.#waiting.set(key, 'ended')
    return this.flush()
  }

  async usedAt(key: string): Promise<number | undefined> {
    if (this.#hasEnded(key)) return undefined
    const row = await withStorageErrors(() =>
      this.#db.selectFrom('client_session').select('used_at').where('key', '=', key).executeTakeFirst(),
    )
    // It may have ended during the query.
    return row && !this.#hasEnded(key) ? Date.parse(row.used_at) : undefined
  }

  async sweep(): Promise<void> {
    const oldestMs = this.#now() - LIMITS.sessionIdleMs
    await this.flush()
    await this.#try(() =>
      this.#db.deleteFrom('client_session').where('used_at', '<', new Date(oldestMs).toISOString()).execute(),
    )
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // The running write may have begun before the latest change; the next one writes that, with all that wait.
    await this.#running
    if (this.#waiting.size === 0) return this.#running
    this.#running ??= this.#write().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #write(): Promise<void> {
    const changes = this.#waiting
    this.#writing = changes
    this.#waiting = new Map()
    const stored = await this.#try(async () => {
      const ended = [...changes].filter(([, change]) => change === 'ended').map(([key]) => key)
      for (const keys of inParts(ended)) await this.#db.deleteFrom('client_session').where('key', 'in', keys).execute()
      const used = [...changes].flatMap(([key, change]) =>
        change === 'ended' ? [] : [{ key, used_at: new Date(change).toISOString() }],
      )
      for (const rows of inParts(used))
        await this.#db
          .insertInto('client_session')
          .values(rows)
          .onConflict(conflict => conflict.column('key').doUpdateSet(eb => ({ used_at: eb.ref('excluded.used_at') })))
          .execute()
    })
    // Retried by the next sweep. Changes since then are newer.
    if (!stored) for (const [key, change] of changes) if (!this.#waiting.has(key)) this.#waiting.set(key, change)
    this.#writing = new Map()
  }

  #hasEnded(key: string): boolean {
    return (this.#waiting.get(key) ?? this.#writing.get(key)) === 'ended'
  }

  async #try(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.#log.warn('The open sessions could not be stored; clients may have to initialize again after a restart', {
        error: String(error),
      })
      return false
    }
  }
}

function* inParts<T>(all: readonly T[]): IterableIterator<T[]> {
  for (let start = 0; start < all.length; start += ROWS_AT_ONCE) yield all.slice(start, start + ROWS_AT_ONCE)
}
