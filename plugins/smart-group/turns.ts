/**
 * Runs one task at a time, the users in turn: a user with endless searches waits for its own earlier ones, and all searches
 * together use at most half of the thread.
 */
export class Turns {
  readonly #now: () => number
  readonly #queues = new Map<string, (() => void)[]>()
  #busy = false

  constructor(now: () => number) {
    this.#now = now
  }

  async run<T>(user: string, work: () => Promise<T>): Promise<T> {
    await this.#turn(user)
    const since = this.#now()
    try {
      return await work()
    } finally {
      // Pauses as long as the work took.
      setTimeout(() => this.#next(), this.#now() - since)
    }
  }

  #turn(user: string): Promise<void> | undefined {
    if (!this.#busy) {
      this.#busy = true
      return undefined
    }
    return new Promise(begin => {
      const queue = this.#queues.get(user)
      if (queue) queue.push(begin)
      else this.#queues.set(user, [begin])
    })
  }

  /** The user whose turn was longest ago is next. */
  #next(): void {
    const [user, queue] = this.#queues.entries().next().value ?? []
    const begin = queue?.shift()
    if (user === undefined || queue === undefined || begin === undefined) {
      this.#busy = false
      return
    }
    this.#queues.delete(user)
    if (queue.length > 0) this.#queues.set(user, queue)
    begin()
  }
}
