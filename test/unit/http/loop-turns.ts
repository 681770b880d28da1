/** Holds the thread. */
export function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** The turns of the event loop in which something happened, counted from now. */
export function turnsOf(): { readonly at: () => number; readonly end: () => void } {
  let turn = 0
  let over = false
  const count = (): void => {
    turn += 1
    if (!over) setImmediate(count)
  }
  setImmediate(count)
  return {
    at: () => turn,
    end: () => {
      over = true
    },
  }
}
