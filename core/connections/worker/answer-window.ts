import { BodyTurns } from '../../outbound/body-turns.ts'

/**
 * How many bytes of long answers a thread may have sent to main that main has not handled yet, for the servers of one owner.
 * While they are too many nothing more is read of what could be a long answer.
 */
export class AnswerWindow {
  /** Of the bodies that come over HTTP. */
  readonly turns = new BodyTurns()
  readonly #most: number
  readonly #waiting = new Set<() => void>()
  #unsettled = 0

  /** `most`: bytes; one answer may be more. */
  constructor(most: number) {
    this.#most = most
  }

  get full(): boolean {
    return this.#unsettled >= this.#most
  }

  sent(bytes: number): void {
    this.#unsettled += bytes
    if (this.full) this.turns.pause()
  }

  settled(bytes: number): void {
    this.#unsettled -= bytes
    if (this.full) return
    this.turns.resume()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const go of waiting) go()
  }

  /** Calls once there is room; not at once. */
  whenOpen(go: () => void): void {
    this.#waiting.add(go)
  }
}
