import type { UserActor } from '../contract/records.ts'
import type { CallOutcome } from './call-records.ts'
import type { LogLevel } from './log-records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    logStore: LogStore
  }
}

/** Operators of a condition on one field. */
export type LogOperator = 'eq' | 'in' | 'gte' | 'gt' | 'lte' | 'lt' | 'contains' | 'prefix'

/** One condition on records. Times are milliseconds since 1970, levels their severity, texts compared case-folded. */
export type LogCondition =
  | { readonly and: readonly LogCondition[] }
  | { readonly or: readonly LogCondition[] }
  | { readonly not: LogCondition }
  | { readonly text: string }
  | FieldCondition

/** A condition on one field. */
export interface FieldCondition {
  readonly field: string
  readonly op: LogOperator
  readonly values: readonly (string | number)[]
}

/** Limits a question of an administrator. */
export interface OwnOnly {
  /** For administrators: true to read only the records that they could read as ordinary users. */
  readonly mine?: boolean
}

/** One search. */
export interface RecordQuery extends OwnOnly {
  readonly where: LogCondition
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** Id of the record after which the search continues. */
  readonly after?: number
  /** The counted matches are also counted by steps of this length, in milliseconds, and by level. */
  readonly stepMs?: number
}

/** Result of a search. */
export interface RecordPage {
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

/** Query for numbers of records. */
export interface CountQuery extends OwnOnly {
  /** Errors: records of level ERROR, and calls that failed. */
  readonly only: 'all' | 'calls' | 'errors'
  /** `user`: the caller. */
  readonly by: 'server' | 'tool' | 'code' | 'level' | 'user' | 'outcome'
  /** Only of these servers. */
  readonly serverIds?: readonly string[]
  /** Time range up to now, in milliseconds. */
  readonly rangeMs: number
  /** Counted for each of these steps, in milliseconds, a multiple of 10,000; absent: for the whole range. */
  readonly stepMs?: number
  /** Most counts of an answer. */
  readonly limit: number
}

/** One number; the members are those by which is counted. */
export interface RecordCount {
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
  readonly counts: readonly RecordCount[]
}

/** Measured operations. The names are those of the specification's `responseTimeMetrics`. */
export type DurationKind = 'server_startup' | 'tool_execution' | 'api_requests'

/** Query for durations. */
export interface MeasureQuery extends OwnOnly {
  readonly kinds: readonly DurationKind[]
  /** Only of this server, or of these. */
  readonly serverId?: string
  readonly serverIds?: readonly string[]
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

/** The stored records and numbers, with the rights of one actor. Each method throws `rate_limited` beyond 2 questions at a time. */
export interface StoredRecords {
  /** `behind`: records that were logged and are not stored yet. */
  search(query: RecordQuery): Promise<RecordPage & { readonly behind: number }>
  /** Counts records, stored or not. */
  count(query: CountQuery): Promise<Counted>
  /**
   * Durations of operations, until now. `ofOwner`: those that this user may read, for one server of it (`serverId`) of which the hub
   * has checked that the actor may see the sums.
   */
  measure(query: MeasureQuery & { readonly ofOwner?: string }): Promise<Measured>
  /** The same as a file. */
  export(query: MeasureQuery & { readonly stepMs: number }, format: ExportFormat): Promise<string>
}

/** Records of one batch, as they are logged. */
export interface LogBatch {
  /** The lines one behind the other, in UTF-8. */
  readonly bytes: Uint8Array
  /** End offset of each line in `bytes`. */
  readonly ends: Uint32Array
  /** Parallel to `ends`: ids of the users who may read the record, joined by commas. An empty text: only administrators. */
  readonly readers: readonly string[]
}

/** Fields that records of one kind share. Missing values are empty texts. */
export interface TallyKey {
  readonly level: LogLevel
  /** User ids of those who may read the record besides administrators. */
  readonly owner: string
  readonly caller: string
  readonly serverId: string
  readonly server: string
  readonly tool: string
  /** The hub's error code, or `error` for a tool's own error. */
  readonly code: string
  readonly isCall: boolean
  /** Outcome of a call. */
  readonly outcome?: CallOutcome
  /** True for a call whose outcome is not `ok`, or a record of level ERROR. */
  readonly failed: boolean
}

/** Number of records of one kind in the slot that begins at `at`, in milliseconds since 1970. */
export interface TallyRow extends TallyKey {
  readonly at: number
  readonly count: number
}

/**
 * Subject of a stored series. `calls_elsewhere` are a user's calls of others' servers, once more, for that user; `calls_unsent`
 * those that reached no server, which have no durations. Both are read as `tool_execution`.
 */
export type SeriesKind = DurationKind | 'calls_elsewhere' | 'calls_unsent'

/** Series to which a duration belongs. Missing values are empty texts: requests without a credential have no owner. */
export interface DurationKey {
  readonly kind: SeriesKind
  /** User id. */
  readonly owner: string
  readonly serverId: string
  readonly server: string
  readonly tool: string
}

/** Numbers of one series in the slot that begins at `at`, in milliseconds since 1970. Durations are in microseconds. */
export interface DurationRow extends DurationKey {
  readonly at: number
  readonly count: number
  readonly failed: number
  readonly sum: number
  readonly least: number
  readonly greatest: number
  readonly histogram: Uint8Array
}

/** Numbers that the hub adds up until a store takes them. */
export interface PendingRows<R> {
  take(): readonly R[]
  /** For rows that could not be stored. */
  putBack(rows: readonly R[]): void
}

/** The records and numbers that a store gets. */
export interface LogStoreFeed {
  /** Records that wait or are under way. */
  readonly waiting: number
  /** All records that ever came. */
  readonly arrived: number
  /** Error of the last attempt, while batches are refused. */
  readonly fault: unknown
  /** Sends what waits at once. Resolves when all of it has arrived, or after `withinMs`. */
  flush(withinMs: number): Promise<void>
  readonly tally: PendingRows<TallyRow>
  readonly durations: PendingRows<DurationRow>
  /** Flushes for `withinMs` at most; later records are lost. */
  end(withinMs: number): Promise<void>
}

/** The half of a store that takes records. */
export interface LogStoreSink {
  /** Records and bytes that wait at most. */
  readonly queue: { readonly maxRecords: number; readonly maxBytes: number }
  /** Highest number of records in one batch. Read for each batch: it may change. */
  readonly maxBatch: number
  /** Called once, before the first batch. A store that ends must end its feed, as long as it can still store what waits. */
  opened(feed: LogStoreFeed): void
  /** Stores a batch, which is sent again when it rejects. `rejected`: number of records that are no records. */
  write(batch: LogBatch): Promise<{ readonly rejected: number }>
}

/** Stores log records and numbers, and answers questions about them. The first contribution is used. */
export interface LogStore {
  /** An ordinary user reads what concerns it, an administrator all. Throws where nothing is stored. */
  for(actor: UserActor): StoredRecords
  /** Absent: nothing is stored. */
  readonly sink?: LogStoreSink
}
