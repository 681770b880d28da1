const BAD_IN_A_ROW = 100
const LOGGED_IN_A_ROW = 3

/** Callbacks of a `ProtocolErrors`. */
export interface ProtocolErrorsOptions {
  readonly log: (level: 'debug' | 'warn', message: string) => void
  /** Called when there are too many errors and the connection should end. */
  readonly end: (message: string) => void
}

/** Counts unusable messages of an upstream: logs the first, and ends the connection when no valid ones arrive. */
export class ProtocolErrors {
  readonly #options: ProtocolErrorsOptions
  #badInARow = 0
  #lateAnswers = 0
  #last: string | undefined

  constructor(options: ProtocolErrorsOptions) {
    this.#options = options
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
    if (this.#badInARow <= LOGGED_IN_A_ROW) this.#options.log('warn', `The server sent ${detail}`)
    if (this.#badInARow === BAD_IN_A_ROW) {
      this.#options.end(`The server sent ${BAD_IN_A_ROW} bad messages in a row, at last ${detail}`)
    }
  }

  /** A response to a request that timed out or was cancelled is no error of the server. Returns false: no answer. */
  late(): false {
    this.#lateAnswers += 1
    this.#options.log('debug', `A late answer was dropped (${this.#lateAnswers} so far)`)
    return false
  }
}
