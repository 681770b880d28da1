/**
 * Queues work that takes milliseconds: one item per turn of the event loop, round-robin by owner, so that neither
 * requests nor other owners' work wait for one owner's.
 */
export class FairTurns {
  readonly #queues = new Map<string, (() => void)[]>()
  #running = false

  add(ownerId: string, work: () => void): void {
    const queue = this.#queues.get(ownerId)
    if (queue) queue.push(work)
    else this.#queues.set(ownerId, [work])
    if (this.#running) return
    this.#running = true
    setImmediate(() => this.#next())
  }

  #next(): void {
    const [first] = this.#queues
    if (!first) {
      this.#running = false
      return
    }
    const [ownerId, queue] = first
    const work = queue.shift()
    // Re-added after the other owners.
    this.#queues.delete(ownerId)
    if (queue.length > 0) this.#queues.set(ownerId, queue)
    setImmediate(() => this.#next())
    work?.()
  }
}
