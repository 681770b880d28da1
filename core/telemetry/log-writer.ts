import { write } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

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
  /** The line that stands in the place of `count` lost ones. */
  readonly lost: (count: number) => string
}

/**
 * Writes lines without ever holding anybody up: whoever reads the log may stop reading or go away, and the disk may be
 * full. One write is under way at a time; lines wait behind it in a bounded queue, and how many were lost is told in the
 * log itself as soon as it takes lines again.
 */
export class LogWriter {
  readonly #fd: number
  readonly #close: () => Promise<void>
  readonly #lost: LogWriterOptions['lost']
  #waiting: string[] = []
  #waitingCharacters = 0
  /** What is being written, as far as it is not. */
  #batch: Uint8Array | undefined
  #dropped = 0
  #refused = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #drained: (() => void)[] = []

  private constructor(fd: number, close: () => Promise<void>, lost: LogWriterOptions['lost']) {
    this.#fd = fd
    this.#close = close
    this.#lost = lost
  }

  /** Throws the error of the file system when the file cannot be opened. */
  static async open({ file, lost }: LogWriterOptions): Promise<LogWriter> {
    if (file === undefined) return new LogWriter(STANDARD_OUTPUT, async () => {}, lost)
    await mkdir(dirname(file), { recursive: true })
    const handle = await open(file, 'a', 0o600)
    return new LogWriter(handle.fd, () => handle.close(), lost)
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
    this.#batch = Buffer.from(this.#waiting.join(''))
    this.#waiting = []
    this.#waitingCharacters = 0
    this.#next(this.#batch)
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
    if (!this.#batch) await this.#close()
  }

  #next(batch: Uint8Array): void {
    write(this.#fd, batch, 0, batch.length, null, (error, written) => {
      if (error || written === 0) {
        // A full disk may show only as nothing written.
        const busy = error?.code === 'EAGAIN' || error?.code === 'EBUSY'
        this.#refused = !busy
        this.#timer = setTimeout(() => this.#next(batch), busy ? RETRY_BUSY_MS : RETRY_MS)
        return
      }
      this.#refused = false
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
