import { type Dropped, SinkQueue, type SinkQueueOptions } from './sink-queue.ts'

/** Records from before all sinks stood that are handed on to each. */
const MOST_EARLY = 1_000

/** One sink for administrators. */
export interface SinkState {
  readonly id: string
  readonly state: 'up' | 'failing'
  /** Records that wait. */
  readonly waiting: number
  /** Records that have arrived. */
  readonly sent: number
  readonly dropped: Dropped
}

/** Hands each record to the queues of all sinks. Awaits and parses nothing. */
export class LogFeed {
  readonly #queues = new Map<string, SinkQueue>()
  #early: { readonly line: string; readonly readers: string }[] | undefined = []

  /** `readers`: ids, joined by commas. `component`: who logged it. */
  push(line: string, readers: string, component: string | undefined): void {
    if (this.#early && this.#early.length < MOST_EARLY) this.#early.push({ line, readers })
    for (const [id, queue] of this.#queues) {
      // What a failing sink says of itself would only make its queue longer.
      if (queue.failing && component === `sink:${id}`) continue
      queue.push(line, readers)
    }
  }

  /** Opens the queue of a sink; returns it. Until `started` a sink gets what was logged before it. */
  add(id: string, options: SinkQueueOptions): SinkQueue {
    const queue = new SinkQueue(options)
    this.#queues.set(id, queue)
    for (const { line, readers } of this.#early ?? []) queue.push(line, readers)
    return queue
  }

  /** The hub has started, and its sinks with it. */
  started(): void {
    this.#early = undefined
  }

  /** Sends what waits for at most `withinMs`, and forgets the sink. */
  async remove(id: string, withinMs: number): Promise<void> {
    const queue = this.#queues.get(id)
    this.#queues.delete(id)
    await queue?.end(withinMs)
  }

  list(): readonly SinkState[] {
    return [...this.#queues].map(([id, queue]) => ({
      id,
      state: queue.failing ? 'failing' : 'up',
      waiting: queue.waiting,
      sent: queue.sent,
      dropped: queue.dropped,
    }))
  }
}
