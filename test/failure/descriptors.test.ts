/** Too few descriptors; `descriptors.long.test.ts` has clients that take all of them. */
import { expect, test } from 'bun:test'
import { HubDidNotStart, startHub } from '../support/hub.ts'

test('a hub with too few descriptors for itself does not start, and says what to do', async () => {
  const start = startHub({ wrap: ['prlimit', '--nofile=64', '--'] }).then(
    hub => hub.stop(),
    (error: unknown) => error,
  )
  const error = await start
  expect(error).toBeInstanceOf(HubDidNotStart)
  const { exitCode, log } = error as HubDidNotStart
  expect(exitCode).toBe(1)
  expect(log).toStartWith('error: descriptors_short: The hub may open 64 files')
  expect(log).toContain('ulimit -n')
}, 120_000)
