import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { MOST_MS, slowness } from '../support/work.ts'

/** The server has 5,000 items of each kind, the limit of one address; a body may hold 10,000 names. */
const NAMED_ITEMS = 3_000
const RUNS = 3

let hub: Hub
let user: Client

/** A member that names each of its items, as a group's editor does where somebody leaves a few out. */
const NAMED = [
  {
    server: 'heavy',
    tools: Array.from({ length: NAMED_ITEMS }, (_, index) => `tools_${index}`),
    prompts: Array.from({ length: NAMED_ITEMS }, (_, index) => `prompts_${index}`),
    resources: Array.from({ length: NAMED_ITEMS }, (_, index) => `heavy://resources_${index}`),
  },
]

beforeAll(async () => {
  hub = await startHub({ watchTurns: true })
  user = await hub.setup()
  user.patient = true
  await user.ok('POST', '/api/servers', { name: 'heavy', ...stdioFixture('heavy-lists', { SHAPE: 'small' }) })
  await online(user, ['heavy'])
  await user.ok('POST', '/api/groups', { name: 'whole', members: [{ server: 'heavy' }] })
  await user.ok('POST', '/api/groups', { name: 'named', members: NAMED })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

const REQUESTS: readonly (readonly [string, string, (() => unknown)?])[] = [
  ...['whole', 'named'].flatMap(group => [
    ['GET', `/api/groups/${group}`] as const,
    ['GET', `/api/groups/${group}/tools?limit=100`] as const,
    ['GET', `/api/groups/${group}/openapi.json`] as const,
    ['PATCH', `/api/groups/${group}`, () => ({ description: crypto.randomUUID() })] as const,
  ]),
  ['GET', '/api/groups?limit=1000'],
  ['POST', '/api/groups', () => ({ name: crypto.randomUUID(), members: NAMED })],
  ['POST', '/api/groups/preview', () => ({ name: 'preview', members: NAMED })],
]

test.each(REQUESTS)(
  'a group of thousands of tools: %s %s holds the main thread for 50 ms at most',
  async (method, path, body) => {
    const turns: number[] = []
    for (let run = 0; run < RUNS; run += 1) {
      await hub.longestTurnMs()
      await user.ok(method, path, body?.())
      turns.push(await hub.longestTurnMs())
    }
    console.log(`${method} ${path}: ${turns.map(ms => ms.toFixed(1)).join(', ')} ms in one turn`)
    expect(Math.min(...turns)).toBeLessThan(MOST_MS * slowness())
  },
  60_000,
)
