import { write } from 'node:fs'
import type { SinkFault, SinkState } from './log-feed.ts'
import { LogFile } from './log-file.ts'
import type { RotationOptions } from './log-rotation.ts'
import { RecordBlocks, type Taken } from './record-blocks.ts'
import type { RecordLine } from './record-line.ts'

/** Lines are collected for this long, in milliseconds, so that a busy hub writes in batches: each one wakes another thread. */
const BATCH_MS = 200
const BATCH_BYTES = 512 * 1024
/** Fewer than may wait. */
const BATCH_LINES = 5_000
/** Limits of the queue while the log cannot be written; beyond them the holder of most loses its oldest lines. */
const MOST_LINES = 10_000
const MOST_BYTES = 16 * 1024 * 1024
const RETRY_MS = 1_000
const RETRY_BUSY_MS = 20
/** Longest wait for the last lines when the hub stops, in milliseconds. */
const FLUSH_MS = 1_000
const STANDARD_OUTPUT = 1

/** Options of the log writer. */
export interface LogWriterOptions {
  /** Absolute path; absent: standard output. */
  readonly file?: string
  /** Absent: the file grows without limit. */
  readonly rotation?: RotationOptions
  /** Called once an hour while the file cannot be rotated, with the system's message. */
  readonly notRotated?: (error: string) => void
  /** The line that replaces `count` lost ones. */
  readonly lost: (count: number) => string
  /** The form in which a line is written. Default: as it is. */
  readonly render?: (line: string | RecordLine) => string | RecordLine
}

/**
 * Writes lines without blocking, even when the reader of the log is slow or has ended, or the disk is full. One write runs at a
 * time; further lines wait in a bounded queue, and the number of lost lines is logged as soon as writing succeeds again.
 */
export class LogWriter {
  /** Absent: standard output. */
  readonly #file: LogFile | undefined
  readonly #lost: LogWriterOptions['lost']
  readonly #render: (line: string | RecordLine) => string | RecordLine
  readonly #waiting = new RecordBlocks({ maxCount: MOST_LINES, maxBytes: MOST_BYTES })
  /** The unwritten rest of the batch that is being written. */
  #batch: Uint8Array | undefined
  /** Lines of the write that is running. */
  #taken: Taken | undefined
  /** Number of lost lines when the last line reported them. */
  #droppedBefore = 0
  #sent = 0
  /** Lines in `#batch`. */
  #batchLines = 0
  #refused = false
  #refusal: NodeJS.ErrnoException | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #drained: (() => void)[] = []

  readonly #notRotated: LogWriterOptions['notRotated']

  private constructor(file: LogFile | undefined, { lost, notRotated, render }: LogWriterOptions) {
    this.#file = file
    this.#lost = lost
    this.#render = render ?? (line => line)
    this.#notRotated = notRotated
  }

  /** Throws the error of the file system when the file cannot be opened. */
  static async open(options: LogWriterOptions): Promise<LogWriter> {
    const { file, rotation } = options
    return new LogWriter(file === undefined ? undefined : await LogFile.open(file, rotation), options)
  }

  /** Calls `LogFile.rotateBy`; without a file it does nothing. */
  rotateBy(rotation: RotationOptions): void {
    this.#file?.rotateBy(rotation)
  }

  /** Calls `LogFile.reopen`; without a file it does nothing. */
  reopen(): Promise<string | undefined> {
    return this.#file?.reopen() ?? Promise.resolve(undefined)
  }

  /** True when the last write failed, or lines were lost since the last successful one. */
  get failing(): boolean {
    return this.#refused || this.#dropped > 0
  }

  /** Number of lines lost since the last line that reported lost ones. */
  get #dropped(): number {
    return this.#waiting.dropped - this.#droppedBefore
  }

  get #isBatch(): boolean {
    const { bytes, count } = this.#waiting
    return bytes >= Math.min(BATCH_BYTES, this.#mostBytes) || count >= BATCH_LINES
  }

  /** Highest number of bytes of one write. */
  get #mostBytes(): number {
    return this.#file?.maxBytes ?? Number.POSITIVE_INFINITY
  }

  /** `sent` and `dropped` count lines since the start. */
  state(): Omit<SinkState, 'id'> {
    const waiting = this.#waiting.count + this.#batchLines
    return {
      state: this.failing ? 'failing' : 'up',
      waiting,
      sent: this.#sent,
      dropped: { full: this.#waiting.dropped, rejected: 0, late: 0 },
      losses: this.#waiting.losses(),
      ...(this.#refused ? { reason: refusalOf(this.#refusal) } : {}),
    }
  }

  /** `line` ends with a line feed. `holder`: owner of the share of the queue that the line uses. */
  write(line: string | RecordLine, holder?: string): void {
    this.#waiting.push(this.#render(line), '', holder)
    if (this.#batch) return
    if (this.#isBatch) this.flushNow()
    else this.#timer ??= setTimeout(() => this.flushNow(), BATCH_MS)
  }

  /** Writes the queue without waiting for more lines. */
  flushNow(): void {
    if (this.#batch) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lost = this.#dropped > 0 ? Buffer.from(String(this.#render(this.#lost(this.#dropped)))) : undefined
    this.#droppedBefore = this.#waiting.dropped
    const taken = this.#waiting.takeBlock(this.#mostBytes)
    this.#taken = taken
    this.#batchLines = (taken?.count ?? 0) + (lost ? 1 : 0)
    if (this.#batchLines === 0) {
      for (const drained of this.#drained.splice(0)) drained()
      return
    }
    const bytes = taken?.bytes ?? new Uint8Array()
    const batch = lost ? Buffer.concat([lost, bytes]) : bytes
    this.#batch = batch
    if (this.#file?.isDue(batch.length)) void this.#rotate(this.#file, batch)
    else this.#next(batch)
  }

  /** Resolves when everything is written, or after a second. Later lines are still accepted. */
  async flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained.push(resolve)
    this.flushNow()
    const limit = setTimeout(resolve, FLUSH_MS)
    await promise
    clearTimeout(limit)
  }

  /** Writes the queue and closes the file. */
  async end(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
    // Closing would wait for a write that hangs; the process is about to exit anyway.
    if (!this.#batch) await this.#file?.close()
  }

  async #rotate(file: LogFile, batch: Uint8Array): Promise<void> {
    const problem = await file.rotate()
    this.#next(batch)
    if (problem !== undefined) this.#notRotated?.(problem)
  }

  #next(batch: Uint8Array): void {
    this.#file?.follow()
    write(this.#file?.fd ?? STANDARD_OUTPUT, batch, 0, batch.length, null, (error, written) => {
      if (error || written === 0) {
        // A full disk may show only as zero bytes written.
        const busy = error?.code === 'EAGAIN' || error?.code === 'EBUSY'
        this.#refused = !busy
        this.#refusal = error
        this.#timer = setTimeout(() => this.#next(batch), busy ? RETRY_BUSY_MS : RETRY_MS)
        return
      }
      this.#refused = false
      this.#file?.wrote(written)
      if (written < batch.length) {
        this.#batch = batch.subarray(written)
        this.#next(this.#batch)
        return
      }
      this.#batch = undefined
      this.#taken?.giveBack()
      this.#sent += this.#batchLines
      this.#batchLines = 0
      const more = this.#drained.length > 0 || this.#isBatch || this.#dropped > 0
      if (more) this.flushNow()
      else if (this.#waiting.count > 0) this.#timer = setTimeout(() => this.flushNow(), BATCH_MS)
    })
  }
}

/** Converts a write error to a fault. A full disk may also appear as a write of no bytes without an error. */
function refusalOf(error: NodeJS.ErrnoException | null): SinkFault {
  const isFull = error === null || error.code === 'ENOSPC' || error.code === 'EDQUOT'
  const message = error === null ? 'The system took none of the bytes' : error.message
  return { code: isFull ? 'storage_full' : 'log_unwritable', message }
}
