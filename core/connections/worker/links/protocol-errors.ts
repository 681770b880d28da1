import { GatheredNotices } from '../../../domain/log/gathered-notices.ts'

const BAD_IN_A_ROW = 100

/** Callbacks of a `ProtocolErrors`. */
export interface ProtocolErrorsOptions {
  readonly debug: (message: string) => void
  /** Called once a second at most, with the number of malformed messages since the last time and what the last one was. */
  readonly malformed: (detail: string, count: number) => void
  /** Called when there are too many errors and the connection should end. */
  readonly end: (message: string) => void
}

/** Counts and reports malformed messages of an upstream, and ends the connection when no valid ones arrive. */
export class ProtocolErrors {
  readonly #options: ProtocolErrorsOptions
  readonly #notices: GatheredNotices
  #badInARow = 0
  #lateAnswers = 0
  #last: string | undefined

  constructor(options: ProtocolErrorsOptions) {
    this.#options = options
    this.#notices = new GatheredNotices(options.malformed)
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

  /** A response to a request that timed out or was cancelled is no error of the server. Returns false: no answer. */
  late(): false {
    this.#lateAnswers += 1
    this.#options.debug(`A late answer was dropped (${this.#lateAnswers} so far)`)
    return false
  }

  /** The connection ends: reports what was not reported yet. */
  flush(): void {
    this.#notices.flush()
  }
}
