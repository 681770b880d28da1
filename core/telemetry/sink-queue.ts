import type { LogBatch } from '../features/log-store.ts'
import { type Losses, RecordBlocks } from './record-blocks.ts'
import type { RecordLine } from './record-line.ts'

/** Number of lost records: `full` queue, `rejected` permanently by the sink, `late` at the end. */
export interface Dropped {
  readonly full: number
  readonly rejected: number
  readonly late: number
}

/** Size of a queue, and where its batches go. */
export interface SinkQueueOptions {
  readonly maxRecords: number
  /** Highest number of bytes of all waiting lines together, in UTF-8. */
  readonly maxBytes: number
  /** Highest number of records in one batch. Read for each batch: it may change. */
  readonly maxBatch: number
  /**
   * Resolves when the sink has accepted the batch, with the number of records that it rejected permanently. If it rejects, the
   * same batch is sent again.
   */
  send(batch: LogBatch, signal: AbortSignal): Promise<{ readonly rejected: number }>
  /** The first failure after a success, and the first success after a failure. */
  changed(state: 'failing' | 'up', error?: unknown): void
  /** Pauses before a failed batch is sent again, in milliseconds; the last one repeats. Default 1, 5, 25 and 60 s. */
  readonly pausesMs?: readonly number[]
}

/** Time for which records wait for more of them, in milliseconds. */
const BATCH_MS = 200
/** Longest time for one batch, in milliseconds. */
const SEND_MS = 30_000
const PAUSES_MS = [1_000, 5_000, 25_000, 60_000]

/** Waiting records of one sink. One batch is under way at a time; when the queue is full, the holder of most loses its oldest. */
export class SinkQueue {
  readonly #options: SinkQueueOptions
  #waiting: RecordBlocks
  #inFlight = 0
  #sent = 0
  #rejected = 0
  #late = 0
  #failures = 0
  #fault: unknown
  #timer: ReturnType<typeof setTimeout> | undefined
  #retry: (() => void) | undefined
  #idle: (() => void)[] = []
  readonly #end = new AbortController()

  constructor(options: SinkQueueOptions) {
    this.#options = options
    this.#waiting = newQueue(options)
  }

  get failing(): boolean {
    return this.#failures > 0
  }

  /** Error of the last attempt of a failing queue. */
  get fault(): unknown {
    return this.failing ? this.#fault : undefined
  }

  /** Records that wait or are under way. */
  get waiting(): number {
    return this.#waiting.count + this.#inFlight
  }

  /** All records that ever came. */
  get arrived(): number {
    return this.waiting + this.#sent + this.#waiting.dropped + this.#rejected + this.#late
  }

  get sent(): number {
    return this.#sent
  }

  get dropped(): Dropped {
    return { full: this.#waiting.dropped, rejected: this.#rejected, late: this.#late }
  }

  /** Lost records by user id or component name, largest first. */
  get losses(): Losses {
    return this.#waiting.losses()
  }

  /** `holder`: owner of the share of the queue that the record uses. */
  push(line: string | RecordLine, readers: string, holder?: string): void {
    if (this.#end.signal.aborted) {
      this.#late += 1
      return
    }
    const waiting = this.#waiting
    waiting.push(line, readers, holder)
    if (this.#inFlight > 0) return
    if (waiting.count >= this.#options.maxBatch) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), BATCH_MS)
  }

  /** Sends what waits without waiting for more, also after a failure. Resolves when all of it has arrived, or after
   * `withinMs`. */
  async flush(withinMs: number): Promise<void> {
    this.#retry?.()
    if (this.#inFlight === 0) this.#begin()
    if (this.waiting === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle.push(resolve)
    const limit = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(limit)
  }

  /** Flushes; records that have not arrived by then are counted as `late`, and so are later ones. */
  async end(withinMs: number): Promise<void> {
    await this.flush(withinMs)
    this.#late += this.waiting
    this.#end.abort()
    clearTimeout(this.#timer)
    this.#retry?.()
    while (this.#waiting.count > 0) this.#waiting.take(this.#waiting.count)
    this.#inFlight = 0
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#inFlight > 0) return
    if (this.#waiting.count === 0) {
      for (const resolve of this.#idle.splice(0)) resolve()
      return
    }
    const batch = this.#waiting.take(this.#options.maxBatch)
    this.#inFlight = batch.readers.length
    void this.#deliver(batch)
  }

  async #deliver(batch: LogBatch): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      try {
        const { rejected } = await this.#sendOnce(batch)
        if (signal.aborted) return
        this.#rejected += rejected
        this.#sent += batch.readers.length - rejected
        break
      } catch (error) {
        if (signal.aborted) return
        this.#failures += 1
        this.#fault = error
        if (this.#failures === 1) this.#options.changed('failing', error)
        await this.#pause()
      }
    }
    if (!signal.aborted) this.#delivered()
  }

  async #sendOnce(batch: LogBatch): Promise<{ readonly rejected: number }> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), SEND_MS)
    try {
      return await this.#options.send(batch, AbortSignal.any([this.#end.signal, limit.signal]))
    } finally {
      clearTimeout(timer)
    }
  }

  #delivered(): void {
    this.#inFlight = 0
    if (this.#failures > 0) {
      this.#failures = 0
      this.#fault = undefined
      this.#options.changed('up')
    }
    if (this.#idle.length > 0 || this.#waiting.count >= this.#options.maxBatch) this.#begin()
    else if (this.waiting > 0) this.#timer ??= setTimeout(() => this.#begin(), BATCH_MS)
  }

  #pause(): Promise<void> {
    const pauses = this.#options.pausesMs ?? PAUSES_MS
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, pauses[Math.min(this.#failures, pauses.length) - 1])
    this.#retry = resolve
    return promise.finally(() => {
      clearTimeout(timer)
      this.#retry = undefined
    })
  }
}

function newQueue({ maxRecords, maxBytes }: SinkQueueOptions): RecordBlocks {
  return new RecordBlocks({ maxCount: maxRecords, maxBytes })
}
