import { nextTurn } from '../domain/next-turn.ts'

/** Longest time for which work in many small parts holds the thread, in milliseconds. */
const TURN_MS = 5

/**
 * Await the result after each small part of a long task over stored records: it waits for a `nextTurn` whenever 5 ms have passed
 * since the last one.
 */
export function pauses(): () => Promise<void> {
  let beganMs = performance.now()
  return async () => {
    if (performance.now() - beganMs < TURN_MS) return
    await nextTurn()
    beganMs = performance.now()
  }
}
