import { channel } from 'node:diagnostics_channel'

/** Referenced here: an unreferenced channel is garbage-collected, with its subscribers. */
const BEFORE = channel('patchbay:thread-starts')
const RUNNING = channel('patchbay:thread-runs')

/**
 * Starts a worker. A thread that gets no descriptors for its event loop ends the whole process, so the reserve of descriptors
 * must release some first.
 */
export function startThread(make: () => Worker): Worker {
  BEFORE.publish(undefined)
  const worker = make()
  let runs = false
  // A worker that fails at once is only closed.
  const once = (): void => {
    if (!runs) RUNNING.publish(undefined)
    runs = true
  }
  worker.addEventListener('open', once, { once: true })
  worker.addEventListener('close', once, { once: true })
  return worker
}

/** Calls `before` before each thread of this process starts, and `running` once it runs or has ended. Returns what ends this. */
export function onThreadStarts({ before, running }: { before(): void; running(): void }): () => void {
  const starts = (): void => before()
  const runs = (): void => running()
  BEFORE.subscribe(starts)
  RUNNING.subscribe(runs)
  return () => {
    BEFORE.unsubscribe(starts)
    RUNNING.unsubscribe(runs)
  }
}
