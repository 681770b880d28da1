let last: Promise<unknown> = Promise.resolve()

/**
 * Lets everything else run that is waiting, between the parts of a long piece of work. Awaiting the database is no such pause:
 * SQLite answers at once, and what is awaited then goes on before any other request. Of all that wait here one goes on in each turn
 * of the event loop: the parts of many pieces of work do not add up to one long turn.
 */
export function nextTurn(): Promise<void> {
  const turn = last.then(() => new Promise<void>(resolve => setTimeout(resolve, 0)))
  last = turn
  return turn
}
