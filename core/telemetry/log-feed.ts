import { type Dropped, SinkQueue, type SinkQueueOptions } from './sink-queue.ts'

/** Records from before the first sink that are handed on to it. */
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
  #early: { readonly line: string; readonly readers: string }[] = []

  /** `readers`: ids, joined by commas. `component`: who logged it. Without a sink, the first 1,000 records are kept. */
  push(line: string, readers: string, component: string | undefined): void {
    if (this.#queues.size === 0) {
      this.#keep(line, readers)
      return
    }
    for (const [id, queue] of this.#queues) {
      // What a failing sink says of itself would only make its queue longer.
      if (queue.failing && component === `sink:${id}`) continue
      queue.push(line, readers)
    }
  }

  /** Opens the queue of a sink; returns it. The first one gets what was logged before it. */
  add(id: string, options: SinkQueueOptions): SinkQueue {
    const queue = new SinkQueue(options)
    this.#queues.set(id, queue)
    for (const { line, readers } of this.#early.splice(0)) queue.push(line, readers)
    return queue
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

  #keep(line: string, readers: string): void {
    if (this.#early.length < MOST_EARLY) this.#early.push({ line, readers })
  }
}
