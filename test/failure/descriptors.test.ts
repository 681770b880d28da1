/** Clients that take all descriptors; `descriptors.long.test.ts` has every kind of them, with few and many descriptors. */
import { expect, test } from 'bun:test'
import { survives } from '../support/descriptor-flood.ts'
import { HubDidNotStart, startHub } from '../support/hub.ts'

test('event streams of a user take 256 descriptors: the hub lives, answers others, and gets them back', async () => {
  await survives(256, 'event streams', true)
}, 120_000)

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
