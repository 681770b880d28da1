/**
 * Lets everything else run that is waiting, between the parts of a long piece of work. Awaiting the database is no such pause:
 * SQLite answers at once, and what is awaited then goes on before any other request.
 */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0))
}

/** How long work in many small parts holds the thread before it lets others run. */
const TURN_MS = 5

/** To be awaited after each small part of a long piece of work: a `nextTurn` whenever 5 ms have passed since the last one. */
export function pauses(): () => Promise<void> {
  let beganMs = performance.now()
  return async () => {
    if (performance.now() - beganMs < TURN_MS) return
    await nextTurn()
    beganMs = performance.now()
  }
}
