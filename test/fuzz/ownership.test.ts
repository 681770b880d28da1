import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { extent } from '../support/extent.ts'
import { check, fuzzTimeout } from '../support/fuzz.ts'
import { commands } from './ownership/commands.ts'
import { Model } from './ownership/model.ts'
import { World } from './ownership/world.ts'

const LIMIT_MS = 15_000

let world: World

beforeAll(async () => {
  world = await World.start()
}, 120_000)

afterAll(() => world?.stop(), 120_000)

test(
  'whatever three people do with servers, groups and keys, the hub allows and refuses what the model says',
  async () => {
    await check(
      fc.asyncProperty(commands, async steps => {
        await world.clear()
        await fc.asyncModelRun(() => ({ model: new Model(), real: world }), steps)
      }),
      { share: extent(0.02, 0.06), limitMs: LIMIT_MS },
    )
    expect(world.hub.unhandled()).toEqual([])
  },
  fuzzTimeout(LIMIT_MS),
)
