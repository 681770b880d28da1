import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { CLIENTS, exceptionFor, FEATURES, UPSTREAMS } from './axes.ts'
import { type Found, runMatrix } from './matrix.ts'
import { compatibilityPage, PAGE } from './page.ts'
import { startWorld, type World } from './upstreams.ts'

let world: World
let found: readonly Found[]

beforeAll(async () => {
  world = await startWorld(UPSTREAMS)
  found = await runMatrix(world, CLIENTS)
}, 120_000)

afterAll(async () => {
  await world?.stop()
}, 40_000)

for (const client of CLIENTS)
  describe(`a client of ${client.name}`, () => {
    for (const upstream of UPSTREAMS)
      for (const feature of FEATURES) {
        const { outcome, reason } = exceptionFor(client, upstream, feature) ?? { outcome: 'works', reason: undefined }
        test(`${feature} with a server of ${upstream.name}: ${outcome}${reason === undefined ? '' : `, since: ${reason}`}`, () => {
          const one = found.find(
            each => each.client === client && each.upstream === upstream && each.feature === feature,
          )
          expect(one?.outcome).toBe(outcome)
        })
      }
  })

test('docs/reference/compatibility.md says what was found (bun test/compatibility/write.ts writes it)', async () => {
  expect(await Bun.file(PAGE).text()).toBe(compatibilityPage(found))
})
