/**
 * Calls of others while one user sends a hub expensive requests: the p99 of their calls is at most twice the calm one.
 *
 * On two processors, the attacker's own work and that of the hub's threads in between take time from everybody. Therefore the
 * calm run is not one of an idle machine: the same attack runs beside it, against a second hub.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { median } from '../bench/rounds.ts'
import { type Client, type Hub, LOOPBACK, send, startHub, stdioFixture } from '../support/hub.ts'
import { watchLatency } from '../support/latency-watch.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { slowness } from '../support/work.ts'

const SECONDS = 2
/** Between two of an honest user's calls. */
const CALL_MS = 10
const LEAST_ROUNDS = 3
/** A machine that others use at the same time makes single rounds slow: then more of them are made before the verdict. */
const MOST_ROUNDS = 9
const MOST = 2
/** Most that one turn of the system's scheduler may add, whatever the ratio (Linux: base_slice_ns, 2.8 to 3 ms). */
const TURN_MS = 3

/** A hub with an honest user, who calls a server of hers, and an attacker. */
interface Side {
  readonly hub: Hub
  readonly honest: { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  readonly mallory: Client
  readonly credential: string
}

const sides: Side[] = []

beforeAll(async () => {
  sides.push(await side(), await side())
}, 240_000)

afterAll(async () => {
  for (const { hub } of sides) await hub.stop()
}, 120_000)

async function side(): Promise<Side> {
  const crowd = { ...stdioFixture('varied', { TOOLS: '5000' }), visibility: 'public' }
  const hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { crowd, good: stdioFixture('echo') } } })
  const admin = await hub.setup()
  await online(admin, ['good', 'crowd'], 60_000)
  const honest = await new RawClient(hub, '/mcp/good', await admin.mcpKey()).open()
  const mallory = await hub.user('mallory')
  await mallory.ok('POST', '/api/groups', { name: 'crowd', members: ['admin~crowd'] })
  for (let count = 0; count < 150; count += 1) {
    const { status } = await mallory.request('POST', '/api/servers', {
      ...{ name: `s${count}`, url: 'http://127.0.0.1:9/', enabled: false },
    })
    if (status === 429) {
      count -= 1
      await Bun.sleep(200)
    }
  }
  await Bun.sleep(1_000)
  return {
    hub,
    honest: { url: `${hub.url}/mcp/good`, headers: honest.headers },
    ...{ mallory, credential: await mallory.mcpKey() },
  }
}

const many = (n: number, entry: (index: number) => readonly [string, unknown]): object =>
  Object.fromEntries(Array.from({ length: n }, (_, index) => entry(index)))
const heavy = { name: 'heavy2', command: 'true', enabled: false }
const BODIES = {
  references: JSON.stringify({
    ...heavy,
    variables: many(1_000, index => [`V${index}`, 'x']),
    args: Array.from({ length: 20 }, (_, index) => `\${W${index}}`),
  }),
  fields: JSON.stringify({ ...heavy, ...many(9_900, index => [`unknown${index}`, 1]) }),
  entries: JSON.stringify({
    document: JSON.stringify({ mcpServers: many(100_000, at => [`s${at}`, { command: 'true' }]) }),
  }),
  command: JSON.stringify({ document: `true ${'a '.repeat(8_000_000)}` }),
  document: JSON.stringify({
    name: 'doc',
    openapi: {
      schema: { openapi: '4.0.0', paths: many(100_000, at => [`/path/${at}`, { get: { summary: 'x'.repeat(100) } }]) },
    },
  }),
  signIn: JSON.stringify(many(40_000, index => [`unknown${index}`, 1])),
}
const call = (name: string, args: object, id: number | string = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })

/** One request of the attacker; each is repeated as soon as it is answered, a few at a time. */
type Deed = (side: Side, at: number) => Promise<unknown>

const post =
  (path: string, body: string): Deed =>
  ({ mallory }) =>
    mallory.request('POST', path, body)

/** The name, the number at a time, and the request. */
const ATTACKS: readonly (readonly [string, number, Deed])[] = [
  ['20 unknown references beside 1,000 variables', 4, post('/api/servers', BODIES.references)],
  ['9,900 unknown fields', 4, post('/api/servers', BODIES.fields)],
  ['imports of 100,000 entries', 2, post('/api/servers/import', BODIES.entries)],
  ['command lines of 16 MB', 2, post('/api/servers/import', BODIES.command)],
  ['documents of 13 MB', 2, post('/api/servers', BODIES.document)],
  ['sign-ins of 0.7 MB by nobody', 4, ({ hub }) => send(hub.url, 'POST', '/api/auth/login', BODIES.signIn)],
  [
    'wrong passwords',
    4,
    ({ hub }, at) => send(hub.url, 'POST', '/api/auth/login', { username: `u${at}`, password: 'a wrong pass phrase' }),
  ],
  ['lists of the servers of all', 8, ({ hub }) => send(hub.url, 'GET', '/api/public/servers')],
  ['own lists', 8, ({ mallory }) => mallory.request('GET', '/api/servers?limit=200')],
  [
    '64 hosted keys for 150 servers',
    2,
    ({ mallory }) =>
      mallory.request('PATCH', '/api/settings', {
        hostedKeys: many(64, index => [`platform${index}`, `sk-${crypto.randomUUID()}`]),
      }),
  ],
  ['searches of the log', 4, ({ mallory }) => mallory.request('GET', '/api/logs?q=nothing+of+this&limit=1000')],
  ['overviews', 4, ({ mallory }) => mallory.request('GET', '/api/monitoring/overview')],
  [
    'unknown tools beside 5,000',
    4,
    async ({ hub, credential }, at) => {
      const client = new RawClient(hub, '/mcp/@mallory/crowd', credential)
      await (await client.post(call(`crowd_tool_number_${at}`, {}))).text()
    },
  ],
  [
    'lists of 5,000 tools',
    4,
    async ({ hub, credential }) => {
      const client = await new RawClient(hub, '/mcp/crowd', credential).open()
      await (await client.send('tools/list')).text()
      await (await client.delete()).text()
    },
  ],
  [
    'random keys',
    16,
    ({ hub }) => send(hub.url, 'POST', '/mcp/good', '{}', { authorization: `Bearer pb_${crypto.randomUUID()}` }),
  ],
]

/** The p99 of an honest user's calls at one hub while another hub, or the same, is under attack. */
async function p99(calm: Side, attacked: Side, atOnce: number, deed: Deed): Promise<number> {
  let over = false
  let count = 0
  const attack = Array.from({ length: atOnce }, async () => {
    while (!over) {
      count += 1
      await deed(attacked, count).catch(() => Bun.sleep(20))
    }
  })
  await Bun.sleep(300)
  const watch = await watchLatency({ ...calm.honest, everyMs: CALL_MS, call: { tool: 'echo', args: { text: 'x' } } })
  await Bun.sleep(SECONDS * 1_000)
  const sorted = (await watch.stop()).toSorted((a, b) => a - b)
  over = true
  await Promise.all(attack)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY
}

test.each(ATTACKS)(
  'others, while one user sends: %s',
  async (name, atOnce, deed) => {
    const [one, other] = sides as [Side, Side]
    const calm: number[] = []
    const attacked: number[] = []
    const allowed = (): number => Math.max(MOST * median(calm), median(calm) + TURN_MS * slowness())
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      calm.push(await p99(one, other, atOnce, deed))
      attacked.push(await p99(one, one, atOnce, deed))
      if (round >= LEAST_ROUNDS && median(attacked) <= allowed()) break
    }
    const shown = (each: readonly number[]): string => each.map(ms => ms.toFixed(1)).join(' ')
    console.log(
      `${name}: ${(median(attacked) / median(calm)).toFixed(2)} times (${shown(calm)} → ${shown(attacked)} ms)`,
    )
    expect(median(attacked)).toBeLessThan(allowed())
  },
  180_000,
)
