import { afterAll, beforeAll, expect, test } from 'bun:test'
import { extent } from '../support/extent.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { ROUTES_WITH_BODIES } from '../support/route-bodies.ts'
import { fuzzWork, type Target, targetsOf } from '../support/work-fuzz.ts'

/** Number of times that everything is sent; `bun run soak` sets more. */
const ROUNDS = Number(process.env.PATCHBAY_WORK_ROUNDS ?? 1)
/** Time of one round, in milliseconds. A busy machine makes fewer requests in it. */
const LIMIT_MS = ROUNDS > 1 ? 30_000 : extent(6_000, 12_000)

let hub: Hub
let targets: readonly Target[]

beforeAll(async () => {
  const offers = {
    PROMPTS: '["hello"]',
    RESOURCES: '["file:///a"]',
    TEMPLATES: '["file:///{+path}", "note://{a}/{b}/{c}"]',
  }
  hub = await startHub({
    watchTurns: true,
    settings: { mcpServers: { s: stdioFixture('varied', offers), t: { command: 'true', enabled: false } } },
  })
  targets = await targetsOf(hub)
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test(
  'no body that a route or an MCP method takes holds the main thread over 50 ms, or costs more than n log n',
  async () => {
    const startMs = performance.now()
    const limits = { limitMs: ROUNDS * LIMIT_MS, rounds: ROUNDS }
    const { requests, worst, problems } = await fuzzWork(hub, targets, limits)
    console.log(`${requests} requests in ${((performance.now() - startMs) / 1000).toFixed(1)} s; the costliest:`)
    for (const { name, ms, status } of worst) console.log(`  ${ms.toFixed(1)} ms  ${status}  ${name}`)
    expect(problems).toEqual([])
    expect(requests).toBeGreaterThan(10)
  },
  ROUNDS * LIMIT_MS + 60_000,
)

test('every route that takes JSON is sent bodies, and one whose fields hold others has bodies of its own', async () => {
  const admin = await hub.setup()
  const names = targets.map(({ name }) => name)
  // biome-ignore lint/suspicious/noExplicitAny: the document as it is
  const paths: [string, Record<string, any>][] = Object.entries((await admin.ok('GET', '/api/openapi.json')).paths)
  const taking = paths.flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { requestBody }]) =>
      requestBody?.content['application/json'] ? [{ route: `${method.toUpperCase()} ${path}`, requestBody }] : [],
    ),
  )
  expect(taking.length).toBeGreaterThan(40)
  expect(taking.filter(({ route }) => !names.includes(route))).toEqual([])
  const nested = taking.filter(({ requestBody }) => {
    const { schema } = requestBody.content['application/json']
    return /"type":"(?:array|object)"/.test(JSON.stringify(schema.properties ?? {}))
  })
  const own = (route: string) => ROUTES_WITH_BODIES.includes(route)
  expect(nested.map(({ route }) => route).filter(route => !own(route))).toEqual([])
  expect(ROUTES_WITH_BODIES.filter(route => !names.includes(route))).toEqual([])
}, 60_000)
