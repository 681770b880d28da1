/** The history thread: stores log records and searches them, so that main waits for no disk. */
import { setPriority } from 'node:os'
import { TextTerms } from '../domain/log/log-terms.ts'
import { storageCode } from '../store/errors.ts'
import { linesOf } from '../telemetry/record-blocks.ts'
import { DurationStore } from './durations.ts'
import { exportText } from './export-text.ts'
import type { HistoryAnswer, HistoryOptions, HistoryRequest } from './protocol.ts'
import { type RecordStore, SegmentStore } from './record-store.ts'
import { toRow } from './row.ts'
import { TallyStore } from './tally.ts'

declare const self: Worker

/** Longest pause, in milliseconds: on an overloaded machine storing takes long, and the main thread stops waiting after 10 s. */
const LONGEST_REST_MS = 2_000
/** Calls have priority when processors are few. */
const NICENESS = 5
const RETAIN_MS = 60_000

class HistoryThread {
  readonly #records: RecordStore
  readonly #texts = new TextTerms()
  readonly #tally: TallyStore
  readonly #durations: DurationStore
  /** Ends a rest. */
  #wake: (() => void) | undefined
  /** A request waits for written records, so the thread must not pause. */
  #hurried = false

  constructor(options: HistoryOptions, records: RecordStore) {
    this.#records = records
    this.#tally = new TallyStore(options.folder, note => send({ note }))
    this.#durations = new DurationStore(options.folder, note => send({ note }))
    void this.#retain()
    setInterval(() => void this.#retain(), RETAIN_MS).unref()
  }

  take(request: HistoryRequest): void {
    switch (request.type) {
      case 'write':
        void this.#write(request)
        return
      case 'search':
        this.#hurried = false
        return void answer(request.id, async () => ({ page: await this.#records.search(request.query) }))
      case 'tally':
        return void answer(request.id, () => {
          this.#tally.add(request.rows)
          return { done: true }
        })
      case 'count':
        return void answer(request.id, () => ({ counted: this.#tally.counts(request.query, Date.now()) }))
      case 'durations':
        return void answer(request.id, () => {
          this.#durations.add(request.rows)
          return { done: true }
        })
      case 'measure':
        return void answer(request.id, () => ({ measured: this.#durations.measures(request.query, Date.now()) }))
      case 'export':
        void this.#export(request)
        return
      case 'hurry':
        this.#hurried = true
        this.#wake?.()
        return
      case 'close':
        return void answer(request.id, async () => {
          await this.#records.close()
          this.#tally.close()
          this.#durations.close()
          return { done: true }
        })
    }
  }

  /** The text is built here, since a large one would block the main thread. */
  async #export({ id, query, format }: HistoryRequest & { readonly type: 'export' }): Promise<void> {
    try {
      send({ id, text: await exportText(format, this.#durations.measures(query, Date.now()), query) })
    } catch (error) {
      fail(id, error)
    }
  }

  /**
   * Stores the batch in one transaction, since main sends all of it again after a failure. Answered when the thread has rested, so
   * that the next batch waits in main.
   */
  async #write({
    id,
    readers: allReaders,
    rest,
    ...batch
  }: HistoryRequest & { readonly type: 'write' }): Promise<void> {
    try {
      // Reading records and their terms is a good part of the work.
      const startedAt = performance.now()
      const readers = allReaders.split('\n')
      const lines = linesOf(batch)
      const rows = lines.flatMap((line, index) => toRow(line, readers[index] ?? '', this.#texts) ?? [])
      await this.#records.append(rows)
      await this.#rest(Math.min((performance.now() - startedAt) * rest, LONGEST_REST_MS))
      send({ id, rejected: lines.length - rows.length })
    } catch (error) {
      fail(id, error)
    }
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
        send({ note: `What is too old in the log history cannot be removed: ${String(error)}` })
      }
    }
  }
}

function send(message: HistoryAnswer): void {
  self.postMessage(message)
}

async function answer(id: number, work: () => object | Promise<object>): Promise<void> {
  try {
    const made = await work()
    self.postMessage({ id, ...made })
  } catch (error) {
    fail(id, error)
  }
}

function fail(id: number, error: unknown): void {
  send({ id, failure: String(error), code: storageCode(error) })
}

/**
 * PostgreSQL is loaded only if it is used. The folder is not created: a removed data folder must not be replaced by an empty
 * one.
 */
async function openRecords(options: HistoryOptions): Promise<RecordStore> {
  const { databaseUrl } = options
  if (databaseUrl === undefined) return new SegmentStore(options, note => send({ note }))
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

/** The first message has the options; messages that arrive before the store is open wait for it. */
self.onmessage = ({ data: options }: MessageEvent<HistoryOptions>): void => {
  const opened = openRecords(options).then(records => new HistoryThread(options, records))
  self.onmessage = ({ data }: MessageEvent<HistoryRequest>) => void opened.then(thread => thread.take(data))
}
