import { BodyTurns } from '../../outbound/body-turns.ts'

/**
 * Limits the bytes of long answers, of one owner's servers, that were sent to main and are not handled there yet. Above
 * the limit no input is read that may be a long answer.
 */
export class AnswerWindow {
  /** Turns for bodies received over HTTP. */
  readonly turns = new BodyTurns()
  readonly #most: number
  readonly #waiting = new Set<() => void>()
  #unsettled = 0

  /** `most`: limit in bytes; a single answer may exceed it. */
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

  /** Calls `go` once there is room, never synchronously. */
  whenOpen(go: () => void): void {
    this.#waiting.add(go)
  }
}
