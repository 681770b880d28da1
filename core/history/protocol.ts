import type { LogCondition } from '../domain/log/log-query.ts'

/** Where the history lies, and how much of it is kept. */
export interface HistoryOptions {
  /** Absolute; made with mode 0700. */
  readonly folder: string
  /** Segments whose newest record is older go. */
  readonly retentionMs: number
  /** Of all segments together; beyond it the oldest go. */
  readonly maxBytes: number
}

/** One search, with the rights of the one who asks. */
export interface HistoryQuery {
  /** Ids of which one must be among a record's readers. */
  readonly readers: 'all' | readonly [string, ...string[]]
  readonly where: LogCondition
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** Goes on behind the record of this id. */
  readonly after?: number
}

/** What a search found. */
export interface HistoryPage {
  /** Records as JSON texts. */
  readonly items: readonly string[]
  /** All matches, up to 10,000. */
  readonly total: number
  /** False when there are more, or the time was over before all was looked at. */
  readonly totalIsExact: boolean
  /** Goes on with this id; absent when everything was looked at. */
  readonly next?: number
}

/** From main to the thread. */
export type HistoryRequest =
  | {
      readonly type: 'write'
      readonly id: number
      readonly lines: readonly string[]
      readonly readers: readonly string[]
    }
  | { readonly type: 'search'; readonly id: number; readonly query: HistoryQuery }
  /** A search waits for what was written, or the hub ends: the thread rests no longer. */
  | { readonly type: 'hurry' }
  | { readonly type: 'close'; readonly id: number }

/** From the thread to main. */
export type HistoryAnswer =
  | { readonly id: number; readonly rejected: number }
  | { readonly id: number; readonly page: HistoryPage }
  | { readonly id: number; readonly done: true }
  | { readonly id: number; readonly failure: string }
  | { readonly note: string }
