import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import Database, { type Statement } from 'better-sqlite3'
import { severityOf } from '../domain/log/log-query.ts'
import type { TallyRow } from '../telemetry/log-tally.ts'
import { assertRoom, hasRoom } from './disk.ts'
import type { Counted, TallyCount, TallyQuery } from './protocol.ts'
import { openOrPutAside } from './put-aside.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Finest first: a slot's length, and how long its rows are kept, in milliseconds. */
const LEVELS = [
  { table: 'tally_10s', slotMs: 10_000, keptMs: 6 * HOUR_MS },
  { table: 'tally_1m', slotMs: 60_000, keptMs: 3 * DAY_MS },
  { table: 'tally_1h', slotMs: HOUR_MS, keptMs: 400 * DAY_MS },
] as const
/** Beyond it the oldest rows of each table go. */
const MOST_BYTES = 256 * 1024 * 1024
/** Removed at a time: so much of a table's span, in slots. */
const SLOTS_A_TURN = 60
/** What `kind` says: of an error or a call, and of a failed call both. */
const FAILED = 1
const CALL = 2

/** By what is counted: the columns of an answer, and those that tell its rows apart. */
const GROUPED = {
  server: ['server_id serverId, max(server) server', 'server_id'],
  tool: ['server_id serverId, max(server) server, tool', 'server_id, tool'],
  code: ['code', 'code'],
  level: ['level', 'level'],
} as const

type Level = (typeof LEVELS)[number]

interface Tables {
  readonly db: Database
  readonly inserts: readonly { readonly slotMs: number; readonly statement: Statement }[]
}

/**
 * Numbers of log records by time, kept in three tables of different fineness: expired and lost records count too. The
 * file, mode 0600, is made once the disk has room. A damaged one is put aside, and `note` tells of it.
 */
export class TallyStore {
  readonly #folder: string
  readonly #note: (text: string) => void
  #opened: Tables | undefined

  constructor(folder: string, note: (text: string) => void) {
    this.#folder = folder
    this.#note = note
    if (existsSync(this.#path) || hasRoom(folder)) this.#tables()
  }

  /** Adds the rows in one transaction. Throws the database's error, or that the disk is nearly full; nothing is added then. */
  add(rows: readonly TallyRow[]): void {
    assertRoom(this.#folder)
    const { db, inserts } = this.#tables()
    db.exec('begin immediate')
    try {
      for (const { at, owner, caller, serverId, server, tool, code, level, isCall, failed, count } of rows) {
        const kind = (failed ? FAILED : 0) + (isCall ? CALL : 0)
        const rest = [owner, caller, serverId, server, tool, code, severityOf(level) ?? 0, kind, count]
        for (const { slotMs, statement } of inserts) statement.run([Math.floor(at / slotMs) * slotMs, ...rest])
      }
      db.exec('commit')
    } catch (error) {
      if (db.inTransaction) db.exec('rollback')
      throw error
    }
  }

  /** The counts until `nowMs`, the largest first, or by time where the query has a step. */
  counts({ readers, only, by, rangeMs, stepMs, limit }: TallyQuery, nowMs: number): Counted {
    const { table, slotMs, keptMs } = levelFor(rangeMs, stepMs)
    const unit = stepMs ?? slotMs
    const from = Math.max(Math.floor((nowMs - rangeMs) / unit), Math.ceil((nowMs - keptMs) / unit)) * unit
    const [columns, key] = GROUPED[by]
    const own = readers === 'all' ? '' : `and (owner in (${marks(readers)}) or caller in (${marks(readers)}))`
    const kinds = { errors: `and kind & ${FAILED}`, calls: `and kind & ${CALL}`, all: '' }[only]
    const [slot, bySlot, order] = stepMs ? [', at / ? * ? slot', ', slot', 'slot'] : ['', '', 'count desc']
    const statement = this.#opened?.db.prepare(`select ${columns}, sum(n) count,
      sum(case when kind & ${FAILED} then n else 0 end) failed ${slot} from ${table}
      where at >= ? ${own} ${kinds} group by ${key} ${bySlot} order by ${order} limit ?`)
    const steps = stepMs ? [stepMs, stepMs] : []
    const ids = readers === 'all' ? [] : [...readers, ...readers]
    return { from, to: nowMs, counts: (statement?.all([...steps, from, ...ids, limit]) ?? []) as TallyCount[] }
  }

  /** Removes a part of what is too old, or too much. */
  retain(nowMs: number): void {
    const db = this.#opened?.db
    if (!db) return
    const tooMuch = bytesOf(db) > MOST_BYTES
    for (const { table, slotMs, keptMs } of LEVELS) {
      const oldest = `(select min(at) from ${table})`
      const until = tooMuch ? nowMs : nowMs - keptMs
      db.prepare(`delete from ${table} where at < min(?, ${oldest} + ?)`).run([until, SLOTS_A_TURN * slotMs])
    }
  }

  close(): void {
    this.#opened?.db.close()
  }

  get #path(): string {
    return join(this.#folder, 'tally.db')
  }

  #tables(): Tables {
    this.#opened ??= openOrPutAside(this.#path, openTables, this.#note) ?? openTables(this.#path)
    return this.#opened
  }
}

function openTables(path: string): Tables {
  const db = new Database(path, { timeout: 250 })
  chmodSync(path, 0o600)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = NORMAL')
  db.pragma('cache_size = -4000')
  for (const { table } of LEVELS) {
    db.exec(`create table if not exists ${table}(at integer not null, owner text not null, caller text not null,
      server_id text not null, server text not null, tool text not null, code text not null, level integer not null,
      kind integer not null, n integer not null,
      primary key (at, owner, caller, server_id, tool, code, level, kind)) without rowid`)
  }
  const inserts = LEVELS.map(({ table, slotMs }) => ({
    slotMs,
    statement: db.prepare(`insert into ${table} values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      on conflict do update set n = n + excluded.n, server = excluded.server`),
  }))
  return { db, inserts }
}

function bytesOf(db: Database): number {
  const value = (name: string): number => Number(Object.values(db.prepare(`pragma ${name}`).all()[0] as object)[0])
  return (value('page_count') - value('freelist_count')) * value('page_size')
}

/** The coarsest table that such steps can be put together of; without steps the finest that goes back so far. */
function levelFor(rangeMs: number, stepMs: number | undefined): Level {
  const fitting = stepMs
    ? LEVELS.filter(({ slotMs }) => stepMs % slotMs === 0).toReversed()
    : LEVELS.filter(({ keptMs }) => rangeMs <= keptMs)
  return fitting[0] ?? LEVELS[2]
}

function marks(values: readonly string[]): string {
  return values.map(() => '?').join(', ')
}
