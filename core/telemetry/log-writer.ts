import { write } from 'node:fs'
import { LogFile, type LogFileLimits } from './log-file.ts'

/** Lines wait for each other this long, in milliseconds, so that a busy hub writes in batches. */
const BATCH_MS = 200
const BATCH_CHARACTERS = 8 * 1024
/** What may wait for a log that is not read, or cannot be written; beyond it the oldest lines are lost. */
const MOST_LINES = 10_000
const MOST_CHARACTERS = 16 * 1024 * 1024
const RETRY_MS = 1_000
const RETRY_BUSY_MS = 20
/** How long the end of the hub waits for the last lines. */
const FLUSH_MS = 1_000
const STANDARD_OUTPUT = 1

export interface LogWriterOptions {
  /** Absolute path; absent: standard output. */
  readonly file?: string
  /** When the file is put aside for a new one, and how many are kept. Absent: it grows without end. */
  readonly limits?: LogFileLimits
  /** The line that stands in the place of `count` lost ones. */
  readonly lost: (count: number) => string
}

/**
 * Writes lines without ever holding anybody up: whoever reads the log may stop reading or go away, and the disk may be
 * full. One write is under way at a time; lines wait behind it in a bounded queue, and how many were lost is told in the
 * log itself as soon as it takes lines again.
 */
export class LogWriter {
  /** Absent: standard output. */
  readonly #file: LogFile | undefined
  readonly #lost: LogWriterOptions['lost']
  #waiting: string[] = []
  #waitingCharacters = 0
  /** What is being written, as far as it is not. */
  #batch: Uint8Array | undefined
  #dropped = 0
  #refused = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #drained: (() => void)[] = []

  private constructor(file: LogFile | undefined, lost: LogWriterOptions['lost']) {
    this.#file = file
    this.#lost = lost
  }

  /** Throws the error of the file system when the file cannot be opened. */
  static async open({ file, limits, lost }: LogWriterOptions): Promise<LogWriter> {
    return new LogWriter(file === undefined ? undefined : await LogFile.open(file, limits), lost)
  }

  /** As `LogFile.reopen`, before the next write; without a file it does nothing. */
  reopen(): Promise<string | undefined> {
    return this.#file?.reopen() ?? Promise.resolve(undefined)
  }

  /** Whether the last write was refused, or lines were lost since the last one that was not. */
  get failing(): boolean {
    return this.#refused || this.#dropped > 0
  }

  /** `line` ends with a line end. */
  write(line: string): void {
    this.#waiting.push(line)
    this.#waitingCharacters += line.length
    while (this.#waiting.length > MOST_LINES || this.#waitingCharacters > MOST_CHARACTERS) {
      this.#waitingCharacters -= this.#waiting.shift()?.length ?? 0
      this.#dropped += 1
    }
    if (this.#batch) return
    if (this.#waitingCharacters >= BATCH_CHARACTERS) this.hurry()
    else this.#timer ??= setTimeout(() => this.hurry(), BATCH_MS)
  }

  /** Does not wait for more lines. */
  hurry(): void {
    if (this.#batch) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#dropped > 0) {
      this.#waiting.unshift(this.#lost(this.#dropped))
      this.#dropped = 0
    }
    if (this.#waiting.length === 0) {
      for (const drained of this.#drained.splice(0)) drained()
      return
    }
    const batch = Buffer.from(this.#waiting.join(''))
    this.#batch = batch
    this.#waiting = []
    this.#waitingCharacters = 0
    if (this.#file?.isFull(batch.length)) void this.#file.rotate().then(() => this.#next(batch))
    else this.#next(batch)
  }

  /** Resolves when all is written, or after a second. Lines that come later are still taken. */
  async flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained.push(resolve)
    this.hurry()
    const limit = setTimeout(resolve, FLUSH_MS)
    await promise
    clearTimeout(limit)
  }

  /** Writes what waits, and closes the file. */
  async end(): Promise<void> {
    await this.flush()
    clearTimeout(this.#timer)
    // Closing would wait for a write that hangs; the process is about to end anyway.
    if (!this.#batch) await this.#file?.close()
  }

  #next(batch: Uint8Array): void {
    this.#file?.follow()
    write(this.#file?.fd ?? STANDARD_OUTPUT, batch, 0, batch.length, null, (error, written) => {
      if (error || written === 0) {
        // A full disk may show only as nothing written.
        const busy = error?.code === 'EAGAIN' || error?.code === 'EBUSY'
        this.#refused = !busy
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
      const more = this.#drained.length > 0 || this.#waitingCharacters >= BATCH_CHARACTERS || this.#dropped > 0
      if (more) this.hurry()
      else if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.hurry(), BATCH_MS)
    })
  }
}
