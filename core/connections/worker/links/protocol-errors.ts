import { GatheredNotices } from '../../../domain/log/gathered-notices.ts'

const BAD_IN_A_ROW = 100
/** More bytes of stray text than this within this window in milliseconds (1 MB a second) end the connection. */
const STRAY_WINDOW_MS = 10_000
const STRAY_BYTES = 10_000_000
/** Stray lines are logged as other errors for the first minute, and after that in sums of ten minutes. */
const STRAY_MINUTE_MS = 60_000
const STRAY_LOGGED_MS = 10 * 60_000
/** Characters of the first stray line that are passed on; it is redacted before it is cut to what is shown. */
const STRAY_READ = 8_192

/** Callbacks of a `ProtocolErrors`. */
export interface ProtocolErrorsOptions {
  readonly debug: (message: string) => void
  /** Called once a second at most, with the number of malformed messages since the last time and what the last one was. */
  readonly malformed: (detail: string, count: number) => void
  /** Called with the first stray line, at most 8,192 characters. */
  readonly stray: (line: string) => void
  /** Called when there are too many errors and the connection should end. */
  readonly end: (message: string) => void
}

/** Counts and reports malformed messages of an upstream, and ends the connection when no valid ones arrive. */
export class ProtocolErrors {
  readonly #options: ProtocolErrorsOptions
  readonly #notices: GatheredNotices
  readonly #strayNotices: GatheredNotices
  readonly #now: () => number
  #badInARow = 0
  #lateAnswers = 0
  #last: string | undefined
  #hasStray = false
  #strayFirstMs: number | undefined
  #strayBytes = 0
  #strayStartMs = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(options: ProtocolErrorsOptions, now = (): number => performance.now()) {
    this.#options = options
    this.#now = now
    this.#notices = new GatheredNotices(options.malformed)
    this.#strayNotices = new GatheredNotices(options.malformed, STRAY_LOGGED_MS)
  }

  /** The latest protocol error, as a text. */
  get last(): string | undefined {
    return this.#last
  }

  good(): void {
    this.#badInARow = 0
  }

  bad(detail: string): void {
    this.#badInARow += 1
    this.#last = detail
    this.#notices.add(detail)
    if (this.#badInARow === BAD_IN_A_ROW) {
      this.#options.end(`The server sent ${BAD_IN_A_ROW} bad messages in a row, at last ${detail}`)
    }
  }

  /**
   * A text that is no JSON-RPC, such as a log line. Many programs print those to standard output, in any number: they
   * count by bytes and rate.
   */
  stray(detail: string, text: string): void {
    this.#last = detail
    const now = this.#now()
    this.#strayFirstMs ??= now
    if (now - this.#strayFirstMs < STRAY_MINUTE_MS) this.#notices.add(detail)
    else this.#strayNotices.add(detail)
    if (!this.#hasStray && text.trim() !== '') {
      this.#hasStray = true
      this.#options.stray(text.trim().slice(0, STRAY_READ))
    }
    if (now - this.#strayStartMs > STRAY_WINDOW_MS) {
      this.#strayStartMs = now
      this.#strayBytes = 0
    }
    this.#strayBytes += Buffer.byteLength(text)
    if (this.#strayBytes <= STRAY_BYTES) return
    this.#strayBytes = Number.NEGATIVE_INFINITY
    this.#options.end(`The server sent more than 1 MB a second of text that is no MCP message, at last ${detail}`)
  }

  /** A response to a request that timed out or was cancelled is no error of the server. Returns false: no answer. */
  late(): false {
    this.#lateAnswers += 1
    this.#options.debug(`A late answer was dropped (${this.#lateAnswers} so far)`)
    return false
  }

  /** The connection ends: reports what was not reported yet. */
  flush(): void {
    this.#notices.flush()
    this.#strayNotices.flush()
  }
}
