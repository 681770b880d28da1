import type { FinishedCall } from '../../features/calls.ts'
import { SharedQueue } from '../../transport-kit/shared-queue.ts'
import type { EndedCall } from './ended-call.ts'

/** Calls of one queue; with more of them the user with the most loses its oldest. */
const MOST_WAITING = 10_000
/** Time in which calls gather, in milliseconds. */
const DELAY_MS = 50

/** Calls that waited, and the number of those that were lost since the queue began. */
export interface CallBatch {
  readonly calls: readonly FinishedCall[]
  readonly lost: number
}

/** Calls that ended and wait for one plugin, which takes them when it is ready. */
export class CallQueue {
  readonly #waiting = new SharedQueue<readonly [number: number, call: FinishedCall]>(
    { maxCount: MOST_WAITING, maxBytes: Number.POSITIVE_INFINITY },
    () => {
      this.#lost += 1
    },
  )
  #number = 0
  #lost = 0
  #wake: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isEnded = false

  add(call: FinishedCall): void {
    if (this.#isEnded) return
    this.#number += 1
    this.#waiting.add(call.userId, [this.#number, call], 1)
    if (this.#wake) this.#timer ??= setTimeout(() => this.#wake?.(), DELAY_MS)
  }

  /** Resolves with what waits, as soon as there is a call; with undefined when the queue ends. One call of it at a time. */
  async next(): Promise<CallBatch | undefined> {
    if (this.#waiting.count === 0 && !this.#isEnded) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
      this.#wake = undefined
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
    if (this.#isEnded) return undefined
    const calls = [...this.#waiting.items()].sort(([a], [b]) => a - b).map(([, call]) => call)
    this.#waiting.clear()
    return { calls, lost: this.#lost }
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#waiting.clear()
    this.#wake?.()
  }
}

/** The queues of all plugins that follow calls. */
export class CallQueues {
  readonly #queues = new Set<CallQueue>()

  /** Gives each queue a call that ended. */
  add(call: EndedCall): void {
    if (this.#queues.size === 0) return
    const finished = finishedCall(call)
    for (const queue of this.#queues) queue.add(finished)
  }

  /** A queue that gets all calls from now on, until `close`. */
  open(): { readonly queue: CallQueue; close(): void } {
    const queue = new CallQueue()
    this.#queues.add(queue)
    const close = (): void => {
      this.#queues.delete(queue)
      queue.end()
    }
    return { queue, close }
  }
}

function finishedCall(call: EndedCall): FinishedCall {
  const { at, requestId, userId, ownerId, serverId, server, groupId, tool, durationMs, outcome, status } = call
  const { resultBytes, traceId } = call
  const more = { ...(resultBytes === undefined ? {} : { resultBytes }), ...(traceId === undefined ? {} : { traceId }) }
  return {
    at,
    requestId,
    userId,
    ownerId,
    serverId,
    server,
    groupId,
    tool,
    durationMs,
    outcome,
    status,
    ...more,
  }
}
