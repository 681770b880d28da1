import { asApiError } from './problem.ts'

const MOST_ATTEMPTS = 3

let last: Promise<unknown> = Promise.resolve()

/**
 * Requests data of the history after the previous request has ended: the hub rejects more than two searches of a user at a time,
 * another tab may have one of them, and a page with several parts would send more. A request that was rejected so is sent again.
 */
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const answer = last.then(async () => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ask()
      } catch (error) {
        const { code, retryAfterSeconds = 1 } = asApiError(error)
        if (code !== 'rate_limited' || attempt >= MOST_ATTEMPTS) throw error
        await new Promise(resolve => setTimeout(resolve, retryAfterSeconds * 1000))
      }
    }
  })
  last = answer.catch(() => undefined)
  return answer
}
