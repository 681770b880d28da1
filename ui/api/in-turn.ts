let last: Promise<unknown> = Promise.resolve()

/**
 * Asks for something from the history when the question before it is answered: the hub refuses more than two searches of a
 * user at a time, and a page with several parts would ask more.
 */
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const answer = last.then(ask)
  last = answer.catch(() => {})
  return answer
}
