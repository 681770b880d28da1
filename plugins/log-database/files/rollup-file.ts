import { chmodSync, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { assertRoom, hasRoom } from './disk.ts'
import { openOrPutAside } from './put-aside.ts'

/** One table of a roll-up: its rows are of slots of this length, and kept so long, both in milliseconds. */
export interface Level {
  readonly table: string
  readonly slotMs: number
  readonly keptMs: number
}

/** Finest first. */
export type Levels = readonly [Level, Level, Level]

/** Part of a table's span that is removed at a time, in slots. */
const SLOTS_A_TURN = 60

/** Options of a roll-up. */
export interface RollupOptions {
  /** Absolute. */
  readonly path: string
  /** Finest first. Every table has a column `at`: when the slot begins, in milliseconds since 1970. */
  readonly levels: readonly Level[]
  /** Makes the tables where they are missing. */
  readonly schema: string
  /** Beyond it the oldest rows of each table go. */
  readonly mostBytes: number
  /** Called for a damaged file, which is put aside. */
  readonly note: (text: string) => void
}

/** The time that an answer is about. */
interface Range {
  readonly rangeMs: number
  /** The answer is by steps of this length. */
  readonly stepMs?: number | undefined
  readonly mostSlots?: number
}

/** Rows of this table, from this time on. */
interface Reach {
  readonly table: string
  readonly from: number
}

/**
 * A database of numbers by time, in tables of different resolution. The file, mode 0600, is created once the disk has room, and
 * nothing is stored while the disk is nearly full.
 */
export class RollupFile {
  readonly #options: RollupOptions
  #db: Database | undefined

  constructor(options: RollupOptions) {
    this.#options = options
  }

  /** Undefined while the disk never had room for it. Throws the error of a file that cannot be opened now. */
  get db(): Database | undefined {
    const { path } = this.#options
    return this.#db ?? (existsSync(path) || hasRoom(dirname(path)) ? this.#open() : undefined)
  }

  /** Stores in one transaction. Throws the database's error, or that the disk is nearly full; nothing is stored then. */
  store(work: (db: Database) => void): void {
    assertRoom(dirname(this.#options.path))
    const db = this.#open()
    db.exec('begin immediate')
    try {
      work(db)
      db.exec('commit')
    } catch (error) {
      if (db.inTransaction) db.exec('rollback')
      throw error
    }
  }

  /** Removes a part of the rows that are too old, or exceed the size limit. */
  retain(nowMs: number): void {
    const { db } = this
    if (!db) return
    const tooMuch = bytesOf(db) > this.#options.mostBytes
    for (const { table, slotMs, keptMs } of this.#options.levels) {
      const oldest = `(select min(at) from ${table})`
      const until = tooMuch ? nowMs : nowMs - keptMs
      db.prepare(`delete from ${table} where at < min(?, ${oldest} + ?)`).run([until, SLOTS_A_TURN * slotMs])
    }
  }

  close(): void {
    this.#db?.close()
  }

  #open(): Database {
    const { path, schema, note } = this.#options
    const open = (): Database => openDatabase(path, schema)
    this.#db ??= openOrPutAside(path, open, note) ?? open()
    return this.#db
  }
}

/**
 * The table that answers for a range until `nowMs`, and the begin of the first slot of the answer: the coarsest table that such
 * steps can be put together of; without steps the finest one that covers the range with at most `mostSlots`.
 */
export function reachOf(
  levels: Levels,
  { rangeMs, stepMs, mostSlots = Number.POSITIVE_INFINITY }: Range,
  nowMs: number,
): Reach {
  const fitting = stepMs
    ? levels.filter(({ slotMs }) => stepMs % slotMs === 0).toReversed()
    : levels.filter(({ slotMs, keptMs }) => rangeMs <= keptMs && rangeMs / slotMs <= mostSlots)
  const { table, slotMs, keptMs } = fitting[0] ?? levels[2]
  const unit = stepMs ?? slotMs
  return { table, from: Math.max(Math.floor((nowMs - rangeMs) / unit), Math.ceil((nowMs - keptMs) / unit)) * unit }
}

/** Places of a list's values in a statement. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}

function openDatabase(path: string, schema: string): Database {
  const db = new Database(path, { timeout: 250 })
  try {
    chmodSync(path, 0o600)
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
    db.pragma('cache_size = -4000')
    db.exec(schema)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function bytesOf(db: Database): number {
  const value = (name: string): number => Number(Object.values(db.prepare(`pragma ${name}`).all()[0] as object)[0])
  return (value('page_count') - value('freelist_count')) * value('page_size')
}
