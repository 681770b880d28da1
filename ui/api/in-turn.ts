let last: Promise<unknown> = Promise.resolve()

/**
 * Requests data of the history after the previous request has ended: the hub rejects more than two searches of a user at a time,
 * and a page with several parts would send more.
 */
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const answer = last.then(ask)
  last = answer.catch(() => {})
  return answer
}
