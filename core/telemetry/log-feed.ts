import { type ErrorCode, HubError } from '../contract/errors.ts'
import type { Losses } from './record-blocks.ts'
import type { RecordLine } from './record-line.ts'
import { type Dropped, SinkQueue, type SinkQueueOptions } from './sink-queue.ts'

/** Records from before all sinks stood that are handed on to each. */
const MOST_EARLY = 1_000
/** Characters of a sink’s error that are shown. */
const LONGEST_MESSAGE = 500

/** One sink for administrators. */
export interface SinkState {
  readonly id: string
  readonly state: 'up' | 'failing'
  /** Records that wait. */
  readonly waiting: number
  /** Records that have arrived. */
  readonly sent: number
  readonly dropped: Dropped
  /** Lost records by user id or component. */
  readonly losses: Losses
  /** Reason why it accepts nothing: the last attempt, with the stable code of its error. */
  readonly reason?: SinkFault
}

/** Why a sink takes no records. */
export interface SinkFault {
  readonly code: ErrorCode
  readonly message: string
}

/** Hands each record to the queues of all sinks. Awaits and parses nothing. */
export class LogFeed {
  readonly #queues = new Map<string, SinkQueue>()
  /** The same queues, each with its sink's component: going through a map makes a pair of each entry, which is garbage. */
  #fed: readonly { readonly queue: SinkQueue; readonly self: string }[] = []
  #early: { readonly line: string; readonly readers: string; readonly holder: string }[] | undefined = []

  /**
   * `readers`: ids, joined by commas. `component`: the component that logged it. `holder`: owner of the share of the queues that
   * the record uses.
   */
  push(line: string | RecordLine, readers: string, component: string | undefined, holder = component ?? ''): void {
    if (this.#early && this.#early.length < MOST_EARLY) this.#early.push({ line: String(line), readers, holder })
    for (const { queue, self } of this.#fed) {
      // Records that a failing sink logs about itself would only make its queue longer.
      if (queue.failing && component === self) continue
      queue.push(line, readers, holder)
    }
  }

  /** Opens and returns the queue of a sink. Until `started`, a new sink also gets the records that were logged before. */
  add(id: string, options: SinkQueueOptions): SinkQueue {
    const queue = new SinkQueue(options)
    this.#queues.set(id, queue)
    this.#list()
    for (const { line, readers, holder } of this.#early ?? []) queue.push(line, readers, holder)
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
    this.#list()
    await queue?.end(withinMs)
  }

  list(): readonly SinkState[] {
    return [...this.#queues].map(([id, queue]) => ({
      id,
      state: queue.failing ? 'failing' : 'up',
      waiting: queue.waiting,
      sent: queue.sent,
      dropped: queue.dropped,
      losses: queue.losses,
      ...(queue.failing ? { reason: faultOf(queue.fault) } : {}),
    }))
  }

  #list(): void {
    this.#fed = [...this.#queues].map(([id, queue]) => ({ queue, self: `sink:${id}` }))
  }
}

/**
 * Converts an error to a fault. An error of a plugin without a code counts as `delivery_failed`, the code that sinks should use.
 */
function faultOf(error: unknown): SinkFault {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_MESSAGE)
  return { code: error instanceof HubError ? error.code : 'delivery_failed', message }
}
