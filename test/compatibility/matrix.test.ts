import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { clientsOf, exceptionFor, FEATURES, OLDER_UPSTREAMS, UPSTREAMS } from './axes.ts'
import { FOREIGN_HEADING } from './foreign/page.ts'
import { type Found, runMatrix } from './matrix.ts'
import { compatibilityPage, PAGE } from './page.ts'
import { startWorld, type World } from './upstreams.ts'

const KINDS = [...UPSTREAMS, ...OLDER_UPSTREAMS]

let world: World
let found: readonly Found[]

beforeAll(async () => {
  world = await startWorld(KINDS)
  found = await runMatrix(world)
}, 300_000)

afterAll(async () => {
  await world?.stop()
}, 120_000)

for (const upstream of KINDS)
  for (const client of clientsOf(upstream))
    describe(`a client of ${client.name} with a server of ${upstream.name}`, () => {
      for (const feature of FEATURES) {
        const { outcome, reason } = exceptionFor(client, upstream, feature) ?? { outcome: 'works', reason: undefined }
        test(`${feature}: ${outcome}${reason === undefined ? '' : `, since: ${reason}`}`, () => {
          const one = found.find(
            each => each.client === client && each.upstream === upstream && each.feature === feature,
          )
          expect(one?.outcome).toBe(outcome)
        })
      }
    })

test('each server has answered the version that it was to answer', async () => {
  for (const { id, version } of KINDS) {
    const { status } = await world.admin.ok('GET', `/api/servers/${id}`)
    if (version !== undefined) expect(status.protocolVersion).toBe(version)
  }
})

test('docs/reference/compatibility.md says what was found (bun run compatibility writes it)', async () => {
  const [first] = (await Bun.file(PAGE).text()).split(`\n${FOREIGN_HEADING}`)
  expect(first).toBe(compatibilityPage(found))
})
