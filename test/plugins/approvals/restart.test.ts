/** A kill of the hub is a no for all that waits, and no yes is used twice by it. */
import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { Killed, meetAKill } from './killed.ts'

setDefaultTimeout(120_000)

let killed: Killed

beforeAll(async () => {
  killed = await Killed.start()
}, 120_000)
afterAll(() => killed?.stop(), 120_000)

test('four kinds of callers meet SIGKILL before the decision, after it, and after the call', () => meetAKill(killed))
