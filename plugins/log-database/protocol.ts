import type {
  Counted,
  CountQuery,
  DurationRow,
  ExportFormat,
  Measured,
  MeasureQuery,
  RecordPage,
  RecordQuery,
  TallyRow,
} from 'patchbay/features'

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

/** The rights of the user who asks. */
interface Readers {
  /** A record matches if one of these ids is among its readers. */
  readonly readers: 'all' | readonly [string, ...string[]]
}

/** One search, with the rights of its user. */
export type HistoryQuery = Omit<RecordQuery, 'mine'> & Readers

/** Query for numbers of records, with the rights of its user. */
export type TallyQuery = Omit<CountQuery, 'mine'> & Readers

/** Query for durations, with the rights of its user. */
export type DurationQuery = Omit<MeasureQuery, 'mine'> & Readers

/** From main to the thread. */
export type HistoryRequest =
  | {
      readonly type: 'write'
      readonly bytes: Uint8Array
      readonly ends: Uint32Array
      /** The readers of each record in one line: a list of texts would be slower to transfer. */
      readonly readers: string
      /** Milliseconds of rest for each one of storing. */
      readonly rest: number
    }
  | { readonly type: 'search'; readonly query: HistoryQuery }
  | { readonly type: 'tally'; readonly rows: readonly TallyRow[] }
  | { readonly type: 'count'; readonly query: TallyQuery }
  | { readonly type: 'durations'; readonly rows: readonly DurationRow[] }
  | { readonly type: 'measure'; readonly query: DurationQuery }
  | {
      readonly type: 'export'
      readonly query: DurationQuery & { readonly stepMs: number }
      readonly format: ExportFormat
    }
  /** A search waits for written records, or the hub is ending: the thread stops pausing. */
  | { readonly type: 'hurry' }
  | { readonly type: 'close' }

/** A request with the options: the thread may have been started for it. */
export interface HistoryMessage {
  readonly options: HistoryOptions
  readonly request: HistoryRequest
}

/** Results of the thread. */
export type HistoryResult =
  | { readonly rejected: number }
  | { readonly page: RecordPage }
  | { readonly counted: Counted }
  | { readonly measured: Measured }
  | { readonly text: string }
  | { readonly done: true }

/** From the thread to main. `notes`: what happened since the last answer and is to be logged. */
export type HistoryAnswer = { readonly notes?: readonly string[] } & (
  | HistoryResult
  | {
      readonly failure: string
      /** SQLite's result code, PostgreSQL's SQLSTATE or the system's errno name. */
      readonly code?: string | undefined
    }
)
