/** The hub is killed at random moments while a call uses its yes: no yes is ever two calls. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Killed } from './killed.ts'

const ROUNDS = 12
/** A call over REST is answered within this time on a quiet machine. */
const LATEST_MS = 24

setDefaultTimeout(400_000)

let killed: Killed

beforeAll(async () => {
  killed = await Killed.start()
}, 120_000)
afterAll(() => killed?.stop(), 120_000)

test('SIGKILL between the yes and the call, or behind it', async () => {
  const counts: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const amount = 100 + round
    expect(await killed.rest(amount)).toBe('approval_pending')
    await killed.decide('approve', amount)
    const calling = Promise.all([killed.rest(amount), killed.rest(amount)]).catch(() => 'lost')
    await Bun.sleep((round * LATEST_MS) / ROUNDS)
    await killed.kill()
    await calling
    // The yes is still there, was used, or is lost.
    await Promise.all([killed.rest(amount), killed.rest(amount)])
    counts.push(killed.payments.paid(amount))
  }
  console.log(`payments by kills after 0 to ${LATEST_MS} ms: ${counts.join(' ')}`)
  expect(counts.filter(count => count > 1)).toEqual([])
  expect(counts).toContain(1)
})
