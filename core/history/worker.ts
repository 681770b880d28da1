/** The history thread: stores log records and searches them, so that main waits for no disk. */
import { DurationStore } from './durations.ts'
import { exportText } from './export-text.ts'
import type { HistoryAnswer, HistoryOptions, HistoryRequest } from './protocol.ts'
import { toRow } from './row.ts'
import { search } from './search.ts'
import { Segments } from './segments.ts'
import { TallyStore } from './tally.ts'

declare const self: Worker

/** Rows of one transaction. */
const BATCH = 500
/** For each millisecond of storing the thread rests so many: storing takes at most a fifth of a processor. */
const REST = 4
const RETAIN_MS = 60_000

class HistoryThread {
  readonly #segments: Segments
  readonly #tally: TallyStore
  readonly #durations: DurationStore
  /** Ends a rest. */
  #wake: (() => void) | undefined
  /** Somebody waits for what is written: it is not the time to rest. */
  #hurried = false

  constructor(options: HistoryOptions) {
    this.#segments = new Segments(options, note => tell({ note }))
    this.#tally = new TallyStore(options.folder, note => tell({ note }))
    this.#durations = new DurationStore(options.folder, note => tell({ note }))
    this.#retain()
    setInterval(() => this.#retain(), RETAIN_MS).unref()
  }

  take(request: HistoryRequest): void {
    switch (request.type) {
      case 'write':
        void this.#write(request)
        return
      case 'search':
        this.#hurried = false
        return answer(request.id, () => ({ page: search(this.#segments.all, request.query) }))
      case 'tally':
        return answer(request.id, () => {
          this.#tally.add(request.rows)
          return { done: true }
        })
      case 'count':
        return answer(request.id, () => ({ counted: this.#tally.counts(request.query, Date.now()) }))
      case 'durations':
        return answer(request.id, () => {
          this.#durations.add(request.rows)
          return { done: true }
        })
      case 'measure':
        return answer(request.id, () => ({ measured: this.#durations.measures(request.query, Date.now()) }))
      case 'export':
        void this.#export(request)
        return
      case 'hurry':
        this.#hurried = true
        this.#wake?.()
        return
      case 'close':
        return answer(request.id, () => {
          this.#segments.close()
          this.#tally.close()
          this.#durations.close()
          return { done: true }
        })
    }
  }

  /** The text is made here, since a large one would hold main. */
  async #export({ id, query, format }: HistoryRequest & { readonly type: 'export' }): Promise<void> {
    try {
      tell({ id, text: await exportText(format, this.#durations.measures(query, Date.now()), query) })
    } catch (error) {
      tell({ id, failure: String(error) })
    }
  }

  /** Answered when the thread has rested, so that the next batch waits in main. */
  async #write({ id, lines, readers }: HistoryRequest & { readonly type: 'write' }): Promise<void> {
    const rows = lines.flatMap((line, index) => toRow(line, readers[index] ?? '') ?? [])
    try {
      for (let at = 0; at < rows.length; at += BATCH) {
        const startedAt = performance.now()
        this.#segments.append(rows.slice(at, at + BATCH))
        await this.#rest((performance.now() - startedAt) * REST)
      }
      tell({ id, rejected: lines.length - rows.length })
    } catch (error) {
      tell({ id, failure: String(error) })
    }
  }

  #rest(ms: number): Promise<void> | undefined {
    if (this.#hurried) return undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    return promise.finally(() => clearTimeout(timer))
  }

  #retain(): void {
    try {
      this.#segments.retain(Date.now())
      this.#tally.retain(Date.now())
      this.#durations.retain(Date.now())
    } catch (error) {
      tell({ note: `Old files of the log history cannot be removed: ${String(error)}` })
    }
  }
}

function tell(message: HistoryAnswer): void {
  self.postMessage(message)
}

function answer(id: number, work: () => object): void {
  try {
    self.postMessage({ id, ...work() })
  } catch (error) {
    tell({ id, failure: String(error) })
  }
}

/** The first message brings the options. */
self.onmessage = ({ data: options }: MessageEvent<HistoryOptions>): void => {
  const thread = new HistoryThread(options)
  self.onmessage = ({ data }: MessageEvent<HistoryRequest>) => thread.take(data)
}
