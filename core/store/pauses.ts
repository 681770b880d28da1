import { nextTurn } from '../domain/next-turn.ts'

/** How long work in many small parts holds the thread before it lets others run. */
const TURN_MS = 5

/**
 * To be awaited after each small part of a long piece of work over what is stored: a `nextTurn` whenever 5 ms have passed since the
 * last one.
 */
export function pauses(): () => Promise<void> {
  let beganMs = performance.now()
  return async () => {
    if (performance.now() - beganMs < TURN_MS) return
    await nextTurn()
    beganMs = performance.now()
  }
}
