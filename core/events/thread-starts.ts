import { channel } from 'node:diagnostics_channel'

const NAME = 'patchbay:thread-starts'

/**
 * Call right before `new Worker`. A thread that gets no descriptors for its event loop ends the whole process, so that who holds some
 * back has to give them up first.
 */
export function announceThread(): void {
  channel(NAME).publish(undefined)
}

/** Calls `run` before each thread of this process starts. Returns what ends this. */
export function beforeThreads(run: () => void): () => void {
  const listener = (): void => run()
  channel(NAME).subscribe(listener)
  return () => void channel(NAME).unsubscribe(listener)
}
