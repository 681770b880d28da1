import type { RecordPage } from 'patchbay/features'
import type { Row } from './files/segment.ts'
import { Segments } from './files/segments.ts'
import type { HistoryOptions, HistoryQuery } from './protocol.ts'
import { search } from './search.ts'

/** A store of log records with search. */
export interface RecordStore {
  /** Throws or rejects with the database's error; nothing is stored then. */
  append(rows: readonly Row[]): void | Promise<void>
  search(query: HistoryQuery): RecordPage | Promise<RecordPage>
  /** Removes records that are too old, or exceed the size limit. */
  retain(nowMs: number): void | Promise<void>
  close(): void | Promise<void>
}

/** The segments of SQLite in the data folder. */
export class SegmentStore implements RecordStore {
  readonly #segments: Segments

  constructor(options: HistoryOptions, note: (text: string) => void) {
    this.#segments = new Segments(options, note)
  }

  append(rows: readonly Row[]): void {
    this.#segments.append(rows)
  }

  search(query: HistoryQuery): RecordPage {
    return search(this.#segments.all, query)
  }

  retain(nowMs: number): void {
    this.#segments.retain(nowMs)
  }

  close(): void {
    this.#segments.close()
  }
}
