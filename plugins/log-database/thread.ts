/** The thread of the store: stores log records and searches them, so that main waits for no disk. */

import { setPriority } from 'node:os'
import { linesOf, storageCode } from 'patchbay/log-kit'
import { exportText } from './export-text.ts'
import { DurationStore } from './files/durations.ts'
import { TallyStore } from './files/tally.ts'
import { TextTerms } from './log-terms.ts'
import type { HistoryAnswer, HistoryMessage, HistoryOptions, HistoryRequest, HistoryResult } from './protocol.ts'
import { type RecordStore, SegmentStore } from './record-store.ts'
import { toRow } from './row.ts'

/** Longest pause, in milliseconds: on an overloaded machine storing takes long, and the main thread stops waiting after 10 s. */
const LONGEST_REST_MS = 2_000
/** Calls have priority when processors are few. */
const NICENESS = 5
const RETAIN_MS = 60_000

/** Notes that wait for an answer; the first ones say what happened. */
const MOST_NOTES = 100

/** Stores of one folder, and the pauses between writes. */
class OpenHistory {
  readonly #records: RecordStore
  readonly #texts = new TextTerms()
  readonly #tally: TallyStore
  readonly #durations: DurationStore
  readonly #note: (text: string) => void
  /** Ends a rest. */
  #wake: (() => void) | undefined
  /** A request waits for written records, so the thread must not pause. */
  #hurried = false

  constructor(options: HistoryOptions, records: RecordStore, note: (text: string) => void) {
    this.#records = records
    this.#note = note
    this.#tally = new TallyStore(options.folder, note)
    this.#durations = new DurationStore(options.folder, note)
    void this.#retain()
    setInterval(() => void this.#retain(), RETAIN_MS).unref()
  }

  async take(request: HistoryRequest): Promise<HistoryResult> {
    switch (request.type) {
      case 'write':
        return this.#write(request)
      case 'search':
        this.#hurried = false
        return { page: await this.#records.search(request.query) }
      case 'tally':
        this.#tally.add(request.rows)
        return { done: true }
      case 'count':
        return { counted: this.#tally.counts(request.query, Date.now()) }
      case 'durations':
        this.#durations.add(request.rows)
        return { done: true }
      case 'measure':
        return { measured: this.#durations.measures(request.query, Date.now()) }
      case 'export': {
        // The text is built here, since a large one would block the main thread.
        const { format, query } = request
        return { text: await exportText(format, this.#durations.measures(query, Date.now()), query) }
      }
      case 'hurry':
        this.#hurried = true
        this.#wake?.()
        return { done: true }
      case 'close':
        await this.#records.close()
        this.#tally.close()
        this.#durations.close()
        return { done: true }
    }
  }

  /**
   * Stores the batch in one transaction, since main sends all of it again after a failure. Answered when the thread has rested, so
   * that the next batch waits in main.
   */
  async #write({ readers: allReaders, rest, ...batch }: HistoryRequest & { readonly type: 'write' }) {
    // Reading records and their terms is a good part of the work.
    const startedAt = performance.now()
    const readers = allReaders.split('\n')
    const lines = linesOf(batch)
    const rows = lines.flatMap((line, index) => toRow(line, readers[index] ?? '', this.#texts) ?? [])
    await this.#records.append(rows)
    await this.#rest(Math.min((performance.now() - startedAt) * rest, LONGEST_REST_MS))
    return { rejected: lines.length - rows.length }
  }

  #rest(ms: number): Promise<void> | undefined {
    if (this.#hurried) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    return promise.finally(() => clearTimeout(timer))
  }

  async #retain(): Promise<void> {
    for (const part of [this.#records, this.#tally, this.#durations]) {
      try {
        await part.retain(Date.now())
      } catch (error) {
        this.#note(`What is too old in the log history cannot be removed: ${String(error)}`)
      }
    }
  }
}

/** Opens the stores at the first request, which the others await, and gives each answer the notes since the last one. */
class HistoryThread {
  #opened: Promise<OpenHistory> | undefined
  #notes: string[] = []

  async answer({ options, request }: HistoryMessage): Promise<HistoryAnswer> {
    const answer = await this.#result(options, request).catch(failureOf)
    const notes = this.#notes
    if (notes.length === 0) return answer
    this.#notes = []
    return { ...answer, notes }
  }

  async #result(options: HistoryOptions, request: HistoryRequest): Promise<HistoryResult> {
    this.#opened ??= this.#open(options)
    const opened = await this.#opened
    return opened.take(request)
  }

  async #open(options: HistoryOptions): Promise<OpenHistory> {
    const note = (text: string): void => {
      if (this.#notes.length < MOST_NOTES) this.#notes.push(text)
    }
    try {
      return new OpenHistory(options, await openRecords(options, note), note)
    } catch (error) {
      this.#opened = undefined
      throw error
    }
  }
}

function failureOf(error: unknown): HistoryAnswer {
  return { failure: String(error), code: storageCode(error) }
}

/**
 * PostgreSQL is loaded only if it is used. The folder is not created: a removed data folder must not be replaced by an empty
 * one.
 */
async function openRecords(options: HistoryOptions, note: (text: string) => void): Promise<RecordStore> {
  const { databaseUrl } = options
  if (databaseUrl === undefined) return new SegmentStore(options, note)
  const { PostgresRecords } = await import('./postgres-records.ts')
  return new PostgresRecords({ ...options, databaseUrl })
}

/** On Linux each thread has a priority; elsewhere that of the whole process would change. */
function yieldToOthers(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, NICENESS)
  } catch {
    // A container may forbid it. The share of the time is kept all the same.
  }
}

yieldToOthers()

const thread = new HistoryThread()

/** Answers one request of main; a failure is an answer too, since errors lose their codes between threads. */
export default (message: HistoryMessage): Promise<HistoryAnswer> => thread.answer(message)
