const BAD_IN_A_ROW = 100
const LOGGED_IN_A_ROW = 3

export interface FaultsOptions {
  readonly log: (level: 'debug' | 'warn', message: string) => void
  /** Too much: the connection is not worth keeping. */
  readonly end: (message: string) => void
}

/** What an upstream sends that cannot be used: counted, logged at first, and too much when nothing else comes. */
export class ProtocolErrors {
  readonly #options: FaultsOptions
  #badInARow = 0
  #lateAnswers = 0
  #last: string | undefined

  constructor(options: FaultsOptions) {
    this.#options = options
  }

  /** What came last of it, for people. */
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

  /** An answer to what has timed out or was cancelled: no fault of the server. Returns false, it is of no use. */
  late(): false {
    this.#lateAnswers += 1
    this.#options.log('debug', `A late answer was dropped (${this.#lateAnswers} so far)`)
    return false
  }
}
