import { join } from 'node:path'
import type { Counted, RecordCount, TallyRow } from 'patchbay/features'
import { CALL_OUTCOMES, severityOf } from 'patchbay/log-kit'
import type { TallyQuery } from '../protocol.ts'
import { type Levels, marks, RollupFile, reachOf } from './rollup-file.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Finest first: the length of a slot, and the time for which its rows are kept, in milliseconds. */
const LEVELS = [
  { table: 'tally_10s', slotMs: 10_000, keptMs: 6 * HOUR_MS },
  { table: 'tally_1m', slotMs: 60_000, keptMs: 3 * DAY_MS },
  { table: 'tally_1h', slotMs: HOUR_MS, keptMs: 400 * DAY_MS },
] as const satisfies Levels
/** Beyond it the oldest rows of each table go. */
const MOST_BYTES = 256 * 1024 * 1024
/** Bits of `kind`: for an error or a call; a failed call has both. */
const FAILED = 1
const CALL = 2
/** Above these the outcome of a call, its place in `CALL_OUTCOMES` and 1; 0 in rows from before there were outcomes. */
const OUTCOME_BITS = 2

/** Groupings of counts: the columns of an answer, those that distinguish its rows, and those that order equal counts. */
const GROUPED = {
  server: ['server_id serverId, max(server) server', 'server_id', 'server, serverId'],
  tool: ['server_id serverId, max(server) server, tool', 'server_id, tool', 'server, tool, serverId'],
  code: ['code', 'code', 'code'],
  level: ['level', 'level', 'level'],
  outcome: [`kind >> ${OUTCOME_BITS} outcome`, 'outcome', 'outcome'],
  // The caller of an owner's own call is not named twice.
  user: ["case caller when '' then owner else caller end userId", 'userId', 'userId'],
} as const

/**
 * Numbers of log records by time, kept in three tables of different fineness: expired and lost records count too.
 */
export class TallyStore {
  readonly #file: RollupFile

  constructor(folder: string, note: (text: string) => void) {
    const schema = LEVELS.map(
      ({
        table,
      }) => `create table if not exists ${table}(at integer not null, owner text not null, caller text not null,
        server_id text not null, server text not null, tool text not null, code text not null, level integer not null,
        kind integer not null, n integer not null,
        primary key (at, owner, caller, server_id, tool, code, level, kind)) without rowid;`,
    ).join('\n')
    this.#file = new RollupFile({
      ...{ path: join(folder, 'tally.db'), levels: LEVELS, schema, mostBytes: MOST_BYTES, note },
    })
  }

  /** Adds the rows in one transaction. Throws as `RollupFile.store`. */
  add(rows: readonly TallyRow[]): void {
    this.#file.store(db => {
      for (const { table, slotMs } of LEVELS) {
        const insert = db.prepare(`insert into ${table} values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          on conflict do update set n = n + excluded.n, server = excluded.server`)
        for (const { at, owner, caller, serverId, server, tool, code, level, count, ...row } of rows) {
          const slot = Math.floor(at / slotMs) * slotMs
          insert.run([slot, owner, caller, serverId, server, tool, code, severityOf(level) ?? 0, kindOf(row), count])
        }
      }
    })
  }

  /** The counts until `nowMs`, the largest first and equal ones by name, or by time if the query has a step. */
  counts({ readers, only, by, serverIds, rangeMs, stepMs, limit }: TallyQuery, nowMs: number): Counted {
    const { table, from } = reachOf(LEVELS, { rangeMs, stepMs }, nowMs)
    const [columns, key, names] = GROUPED[by]
    const own = readers === 'all' ? '' : `and (owner in (${marks(readers)}) or caller in (${marks(readers)}))`
    const kinds = { errors: `and kind & ${FAILED}`, calls: `and kind & ${CALL}`, all: '' }[only]
    // One value, since a statement has a limited number of them.
    const of = serverIds === undefined ? '' : 'and server_id in (select value from json_each(?))'
    const [slot, bySlot, order] = stepMs ? [', at / ? * ? slot', ', slot', 'slot'] : ['', '', `count desc, ${names}`]
    const statement = this.#file.db?.prepare(`select ${columns}, sum(n) count,
      sum(case when kind & ${FAILED} then n else 0 end) failed ${slot} from ${table}
      where at >= ? ${own} ${kinds} ${of} group by ${key} ${bySlot} order by ${order} limit ?`)
    const steps = stepMs ? [stepMs, stepMs] : []
    const ids = readers === 'all' ? [] : [...readers, ...readers]
    const servers = serverIds === undefined ? [] : [JSON.stringify(serverIds)]
    const counts = (statement?.all([...steps, from, ...ids, ...servers, limit]) ?? []) as Row[]
    return { from, to: nowMs, counts: counts.map(named) }
  }

  retain(nowMs: number): void {
    this.#file.retain(nowMs)
  }

  close(): void {
    this.#file.close()
  }
}

function kindOf({ isCall, failed, outcome }: Pick<TallyRow, 'isCall' | 'failed' | 'outcome'>): number {
  const place = outcome === undefined ? 0 : CALL_OUTCOMES.indexOf(outcome) + 1
  return (failed ? FAILED : 0) + (isCall ? CALL : 0) + (place << OUTCOME_BITS)
}

type Row = Omit<RecordCount, 'outcome'> & { readonly outcome?: number }

function named({ outcome = 0, ...row }: Row): RecordCount {
  const name = CALL_OUTCOMES[outcome - 1]
  return name === undefined ? row : { ...row, outcome: name }
}
