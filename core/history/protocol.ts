import type { CallOutcome } from '../contract/records.ts'
import type { LogCondition } from '../domain/log/log-query.ts'
import type { DurationKind, DurationRow } from '../telemetry/duration-series.ts'
import type { TallyRow } from '../telemetry/log-tally.ts'

/** Place and limits of the history. */
export interface HistoryOptions {
  /** Absolute; made with mode 0700. */
  readonly folder: string
  /** Segments whose newest record is older are removed, in milliseconds. */
  readonly retentionMs: number
  /** Highest number of bytes of all segments together; above it the oldest are removed. */
  readonly maxBytes: number
  /** Name of the table of records; a new name applies to the next segment. Lower-case letters, digits and `_`. */
  readonly table: string
  /** Fields that have an index in a new segment, of `INDEXED_FIELDS`. */
  readonly indexes: readonly string[]
  /** PostgreSQL for the records; counts and durations stay in the folder. */
  readonly databaseUrl?: string
}

/** One search, with the rights of its user. */
export interface HistoryQuery {
  /** A record matches if one of these ids is among its readers. */
  readonly readers: 'all' | readonly [string, ...string[]]
  readonly where: LogCondition
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** Id of the record after which the search continues. */
  readonly after?: number
  /** The counted matches are also counted by steps of this length, in milliseconds, and by level. */
  readonly stepMs?: number
}

/** Result of a search. */
export interface HistoryPage {
  /** Records as JSON texts. */
  readonly items: readonly string[]
  /** All matches, up to 10,000. */
  readonly total: number
  /** The same, but a record of several calls counts as that many. */
  readonly calls: number
  /** False if there are more records, or the time ended before all were read. */
  readonly totalIsExact: boolean
  /** With `stepMs`: the counts of `calls`, by step and level, as a JSON text, since it may have 10,000 steps. */
  readonly histogram?: string
  /** Id with which to continue; absent if all records were read. */
  readonly next?: number
}

/** Query for numbers of records, with the rights of its user. */
export interface TallyQuery {
  readonly readers: HistoryQuery['readers']
  /** Errors: records of level ERROR, and calls that failed. */
  readonly only: 'all' | 'calls' | 'errors'
  /** `user`: the caller. */
  readonly by: 'server' | 'tool' | 'code' | 'level' | 'user' | 'outcome'
  /** Time range up to now, in milliseconds. */
  readonly rangeMs: number
  /** Counted for each of these steps, in milliseconds, a multiple of 10,000; absent: for the whole range. */
  readonly stepMs?: number
  /** Most counts of an answer. */
  readonly limit: number
}

/** One number; the members are those by which is counted. */
export interface TallyCount {
  readonly serverId?: string
  readonly server?: string
  readonly tool?: string
  readonly code?: string
  readonly userId?: string
  /** For records of calls only. */
  readonly outcome?: CallOutcome
  /** 10 to 50. */
  readonly level?: number
  /** When the step begins, in ms since 1970. */
  readonly slot?: number
  readonly count: number
  readonly failed: number
}

/** Counts, and the time that they cover, in ms since 1970: less than requested if older numbers are no longer kept. */
export interface Counted {
  readonly from: number
  readonly to: number
  readonly counts: readonly TallyCount[]
}

/** Query for durations, with the rights of its user. */
export interface MeasureQuery {
  readonly readers: HistoryQuery['readers']
  readonly kinds: readonly DurationKind[]
  /** Only of this server. */
  readonly serverId?: string
  /** Only of tools of this name. */
  readonly tool?: string
  /** With steps: highest number of distinct series, the most frequent ones. */
  readonly lines?: number
  /** Percentiles are not needed, and are 0: reading distributions is most of the work. */
  readonly countsOnly?: boolean
  /** Fields by which series are distinguished, besides kinds. */
  readonly by: 'kind' | 'server' | 'tool'
  /** Time range up to now, in milliseconds. */
  readonly rangeMs: number
  /** Measured for each of these steps, in milliseconds, a multiple of 10,000; absent: for the whole range. */
  readonly stepMs?: number
  /** Most measures of an answer. */
  readonly limit: number
}

/**
 * Number of events and their durations in milliseconds; a percentile is off by 0.8 % at most. Times are null where
 * nothing was timed, as of calls that reached no server.
 */
export interface Measure {
  readonly kind: DurationKind
  readonly serverId?: string
  readonly server?: string
  readonly tool?: string
  /** When the step begins, in ms since 1970. */
  readonly slot?: number
  readonly count: number
  readonly failed: number
  readonly avgMs: number | null
  readonly minMs: number | null
  readonly maxMs: number | null
  readonly p50Ms: number | null
  readonly p95Ms: number | null
  readonly p99Ms: number | null
}

/** Measures, and the time that they cover, in ms since 1970: less than requested if older ones are no longer kept. */
export interface Measured {
  readonly from: number
  readonly to: number
  readonly measures: readonly Measure[]
}

/** The form of a file of measures. */
export type ExportFormat = 'json' | 'csv' | 'prometheus'

/** From main to the thread. */
export type HistoryRequest =
  | {
      readonly type: 'write'
      readonly id: number
      readonly bytes: Uint8Array
      readonly ends: Uint32Array
      /** The readers of each record in one line: a list of texts would be slower to transfer. */
      readonly readers: string
      /** Milliseconds of rest for each one of storing. */
      readonly rest: number
    }
  | { readonly type: 'search'; readonly id: number; readonly query: HistoryQuery }
  | { readonly type: 'tally'; readonly id: number; readonly rows: readonly TallyRow[] }
  | { readonly type: 'count'; readonly id: number; readonly query: TallyQuery }
  | { readonly type: 'durations'; readonly id: number; readonly rows: readonly DurationRow[] }
  | { readonly type: 'measure'; readonly id: number; readonly query: MeasureQuery }
  | {
      readonly type: 'export'
      readonly id: number
      readonly query: MeasureQuery & { readonly stepMs: number }
      readonly format: ExportFormat
    }
  /** A search waits for written records, or the hub is ending: the thread stops pausing. */
  | { readonly type: 'hurry' }
  | { readonly type: 'close'; readonly id: number }

/** From the thread to main. */
export type HistoryAnswer =
  | { readonly id: number; readonly rejected: number }
  | { readonly id: number; readonly page: HistoryPage }
  | { readonly id: number; readonly counted: Counted }
  | { readonly id: number; readonly measured: Measured }
  | { readonly id: number; readonly text: string }
  | { readonly id: number; readonly done: true }
  | {
      readonly id: number
      readonly failure: string
      /** SQLite's result code, PostgreSQL's SQLSTATE or the system's errno name. */
      readonly code?: string | undefined
    }
  | { readonly note: string }
