import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { MOST_MS, slowness } from '../support/work.ts'

/** The most servers that a user may have, in groups of all of them. */
const SERVERS = 200
const GROUPS = 60
/** The configuration of each server, chosen so that all of them nearly fill a user's storage. */
const VARIABLES = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`V${index}`, 'y'.repeat(200)]))
const RUNS = 3

let hub: Hub
let user: Client
const members = Array.from({ length: SERVERS }, (_, index) => ({
  server: `s${index}`,
  alias: `${'a'.repeat(50)}${index}`,
}))

beforeAll(async () => {
  hub = await startHub({ watchTurns: true })
  user = await hub.user('ada')
  user.patient = true
  const server = { url: 'https://mcp.example.com/', enabled: false, variables: VARIABLES }
  for (let from = 0; from < SERVERS; from += 20) {
    const servers = members.slice(from, from + 20).map(({ server: name }) => ({ name, ...server }))
    await user.ok('POST', '/api/servers/batch', { servers })
  }
  for (let index = 0; index < GROUPS; index += 1) await user.ok('POST', '/api/groups', { name: `g${index}`, members })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 60_000)

const REQUESTS: readonly (readonly [string, string, (() => unknown)?])[] = [
  ['GET', '/api/groups?limit=1000'],
  ['GET', '/api/groups?q=zzz'],
  ['GET', '/api/groups/g1'],
  ['GET', '/api/servers?limit=1000'],
  ['GET', '/api/limits'],
  ['GET', '/api/monitoring/connections'],
  ['POST', '/api/groups', () => ({ name: crypto.randomUUID(), members })],
  ['PATCH', '/api/groups/g1', () => ({ description: crypto.randomUUID() })],
  ['POST', '/api/groups/preview', () => ({ name: 'preview', members })],
  ['POST', '/api/export', () => ({})],
]

test.each(REQUESTS)(
  'groups of all that a user has: %s %s holds the main thread for 50 ms at most',
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

test('a page of a list ends at 1 MiB, and the next one begins there', async () => {
  for (const [path, key] of [
    ['/api/groups', 'g'],
    ['/api/servers', 's'],
  ] as const) {
    const names: string[] = []
    let next = 0
    for (let pages = 1; ; pages += 1) {
      const answer = await user.request('GET', `${path}?limit=1000&offset=${next}`)
      expect(answer.text.length).toBeLessThan(1.1 * 2 ** 20)
      const { items, total, limit } = answer.json as { items: { name: string }[]; total: number; limit: number }
      expect(items).not.toBeEmpty()
      names.push(...items.map(({ name }) => name))
      next += limit
      if (names.length < total) continue
      expect(pages).toBeGreaterThan(1)
      expect(names).toHaveLength(total)
      break
    }
    expect(new Set(names).size).toBe(names.length)
    expect(names).toContain(`${key}0`)
  }
}, 60_000)
