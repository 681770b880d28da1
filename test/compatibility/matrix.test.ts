import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type ClientKind,
  clientsOf,
  exceptionFor,
  FEATURES,
  type Feature,
  OLDER_UPSTREAMS,
  triedClientsOf,
  UPSTREAMS,
  type UpstreamKind,
} from './axes.ts'
import { FOREIGN_HEADING } from './foreign/page.ts'
import { type Found, runMatrix } from './matrix.ts'
import { compatibilityPage, PAGE } from './page.ts'
import { startWorld, type World } from './upstreams.ts'

const ALL = [...UPSTREAMS, ...OLDER_UPSTREAMS]
const KINDS = ALL.filter(upstream => triedClientsOf(upstream).length > 0)

let world: World
let found: readonly Found[]

beforeAll(async () => {
  world = await startWorld(KINDS)
  found = await runMatrix(world)
}, 300_000)

afterAll(async () => {
  await world?.stop()
}, 120_000)

function expected(client: ClientKind, upstream: UpstreamKind, feature: Feature) {
  return exceptionFor(client, upstream, feature) ?? { outcome: 'works', reason: undefined }
}

function outcomeOf(client: ClientKind, upstream: UpstreamKind, feature: Feature): string | undefined {
  return found.find(one => one.client === client && one.upstream === upstream && one.feature === feature)?.outcome
}

for (const upstream of KINDS)
  for (const client of triedClientsOf(upstream))
    describe(`a client of ${client.name} with a server of ${upstream.name}`, () => {
      for (const feature of FEATURES) {
        const { outcome, reason } = expected(client, upstream, feature)
        test(`${feature}: ${outcome}${reason === undefined ? '' : `, since: ${reason}`}`, () => {
          expect(outcomeOf(client, upstream, feature)).toBe(outcome)
        })
      }
    })

test('each server has answered the version that it was to answer', async () => {
  for (const { id, version } of KINDS) {
    const { status } = await world.admin.ok('GET', `/api/servers/${id}`)
    if (version !== undefined) expect(status.protocolVersion).toBe(version)
  }
})

test('docs/reference/compatibility.md says what was found, of all else what is expected (bun run compatibility writes it)', async () => {
  const cells = ALL.flatMap(upstream =>
    clientsOf(upstream).flatMap(client =>
      FEATURES.map(feature => {
        const outcome = outcomeOf(client, upstream, feature) ?? expected(client, upstream, feature).outcome
        return { client, upstream, feature, outcome }
      }),
    ),
  )
  const [first] = (await Bun.file(PAGE).text()).split(`\n${FOREIGN_HEADING}`)
  expect(first).toBe(compatibilityPage(cells))
})
