import { afterAll, beforeAll, expect, test } from 'bun:test'
import { calmHealth, slowerThanAllowed } from '../support/health-watch.ts'
import { type Hub, startHub } from '../support/hub.ts'

/** The bound for a hub that one user loads with all quotas; a calm one must be well below it. */
const RESIDENT_MIB = 200

let hub: Hub

beforeAll(async () => {
  hub = await startHub()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('a hub with nothing to do answers /health at once and holds little memory', async () => {
  const first = await calmHealth(hub, 1_000)
  console.log(`calm: ${JSON.stringify(first)}`)
  // A quiet machine gives some 50.
  expect(first.answers).toBeGreaterThan(20)
  expect(slowerThanAllowed(await calmHealth(hub, 1_000), first)).toEqual([])
  expect(first.residentMiB).toBeLessThan(RESIDENT_MIB)
})
