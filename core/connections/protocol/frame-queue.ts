import { LONG_CHARACTERS } from '../../domain/json/long-text.ts'

/** The frames of one turn on their way over the worker border, sent as one string. */
export class FrameQueue {
  readonly #post: (text: string) => void
  readonly #later: (flush: () => void) => void
  #frames: string[] = []
  #scheduled = false

  /** `later` calls back at the end of the turn; `post` sends the joined frames. */
  constructor(later: (flush: () => void) => void, post: (text: string) => void) {
    this.#later = later
    this.#post = post
  }

  push(frame: string): void {
    // Joining a long frame with others would copy it again, and all of them would be handled in one turn.
    if (frame.length > LONG_CHARACTERS) {
      this.flush()
      this.#post(frame)
      return
    }
    this.#frames.push(frame)
    if (this.#scheduled) return
    this.#scheduled = true
    this.#later(() => this.flush())
  }

  /** Sends what waits, before a message that must come after it. */
  flush(): void {
    this.#scheduled = false
    const [first] = this.#frames
    if (first === undefined) return
    const text = this.#frames.length === 1 ? first : this.#frames.join('\n')
    this.#frames = []
    this.#post(text)
  }
}
