import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, LOOPBACK, send, startHub } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

/** More and larger ones, such as 200 of 15 MiB, take minutes to store. */
const SERVERS = Number(process.env.PATCHBAY_WEIGHT_SERVERS ?? 24)
const LARGE_BYTES = Number(process.env.PATCHBAY_WEIGHT_MIB ?? 6) * 1024 * 1024
const SETUP_LIMIT_MS = 60_000 + SERVERS * 5_000
/** What weighs nothing may be so much slower, and the clock is not finer than these milliseconds. */
const FACTOR = 1.2
const CLOCK_MS = 2
const START_CLOCK_MS = 50

interface Side {
  readonly folder: string
  readonly padding: string
  hub: Hub
  admin: Client
}

const sides: Side[] = []

/** A server is online where something listens at its address. */
const api = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('{}') })

function documentOf(padding: string): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    servers: [{ url: `http://127.0.0.1:${api.port}` }],
    paths: { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'All' } } } } },
    'x-padding': padding,
  }
}

beforeAll(async () => {
  for (const padding of ['x', 'x'.repeat(LARGE_BYTES)]) {
    const folder = await makeTemp('weight')
    const hub = await startHub({ folder, settings: { mcpServers: {} }, env: LOOPBACK })
    const admin = await hub.setup()
    for (let count = 0; count < SERVERS; count += 1) {
      const openapi = { schema: documentOf(padding) }
      await admin.ok('POST', '/api/servers', { name: `s${count}`, visibility: 'public', enabled: false, openapi })
    }
    await admin.ok('POST', '/api/groups', { name: 'all', members: Array.from({ length: SERVERS }, (_, n) => `s${n}`) })
    sides.push({ folder, padding, hub, admin })
  }
}, SETUP_LIMIT_MS)

afterAll(async () => {
  await api.stop(true)
  for (const { hub, folder } of sides) {
    await hub.stop()
    await removeTemp(folder)
  }
})

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The median of both sides' times, measured in turns so that a busy machine slows both. */
async function medians(times: number, work: (side: Side, at: number) => Promise<unknown>): Promise<[number, number]> {
  const taken: [number[], number[]] = [[], []]
  for (let at = 0; at < times; at += 1) {
    for (const [index, side] of sides.entries()) {
      const sinceMs = performance.now()
      await work(side, at)
      taken[index === 0 ? 0 : 1].push(performance.now() - sinceMs)
    }
  }
  return [median(taken[0]), median(taken[1])]
}

/** A machine that is busy with other work may favour one side by chance, not in every one of these rounds. */
const ROUNDS = 4

async function expectAlike(
  what: string,
  times: number,
  work: (side: Side, at: number) => Promise<unknown>,
  clockMs = CLOCK_MS,
): Promise<void> {
  const figures: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const [small, large] = await medians(times, work)
    figures.push(`small ${small.toFixed(2)} ms, large ${large.toFixed(2)} ms`)
    console.log(`${what}: ${figures.at(-1)}`)
    if (large < FACTOR * small + clockMs) return
  }
  expect.unreachable(`${what}: ${figures.join('; ')}`)
}

const nothing = (): undefined => undefined

const REQUESTS: readonly [what: string, method: string, path: string, body: (at: number) => object | undefined][] = [
  ['list of servers', 'GET', '/api/servers?limit=200', nothing],
  ['list of groups', 'GET', '/api/groups', nothing],
  ['one server', 'GET', '/api/servers/s3', nothing],
  ['PATCH of a flag', 'PATCH', '/api/servers/s3', at => ({ isolate: at % 2 === 0 })],
  ['PATCH of a group', 'PATCH', '/api/groups/all', at => ({ description: `${at}` })],
]

test.each(REQUESTS)(
  '%s takes as long with large documents as with small ones',
  async (what, method, path, body) => {
    await expectAlike(what, 15, ({ admin }, at) => admin.ok(method, path, body(at)))
  },
  60_000,
)

test('anonymous requests for the public servers take as long with large documents, and see a change at once', async () => {
  const ask = ({ hub }: Side) => send(hub.url, 'GET', '/api/public/servers')
  // Few, since an address has 20 at once and 10 a second, also when rounds are repeated.
  const three = async (side: Side) => {
    for (let count = 0; count < 3; count += 1) expect((await ask(side)).status).toBe(200)
  }
  await expectAlike('three anonymous lists', 1, three, 3 * CLOCK_MS)
  // What a change shows must not wait for the page to grow old.
  const [side] = sides
  if (!side) return expect.unreachable()
  const { hub, admin } = side
  const first = await ask(side)
  expect(first.json.total).toBe(SERVERS)
  const etag = first.headers.get('etag') ?? ''
  expect((await send(hub.url, 'GET', '/api/public/servers', undefined, { 'if-none-match': etag })).status).toBe(304)
  await admin.ok('PATCH', '/api/servers/s1', { visibility: 'private' })
  expect((await ask(side)).json.total).toBe(SERVERS - 1)
}, 60_000)

test(
  'the hub starts as quickly with large documents, and reads a document when its server starts',
  async () => {
    const [first, second] = sides
    if (!first || !second) return expect.unreachable()
    const restart = async (side: Side) => {
      await side.hub.stop({ keep: true })
      side.hub = await startHub({ folder: side.folder, env: LOOPBACK })
    }
    await expectAlike('stop and start of the hub', 3, restart, START_CLOCK_MS)
    const admin = await second.hub.signIn('admin')
    const { openapi } = await admin.ok('GET', '/api/servers/s5')
    expect(openapi).toMatchObject({ document: { bytes: JSON.stringify(documentOf(second.padding)).length } })
    expect((await admin.ok('GET', '/api/servers/s5/document'))['x-padding']).toHaveLength(LARGE_BYTES)
    await admin.ok('PATCH', '/api/servers/s5', { enabled: true })
    const status = await until(
      async () => {
        const answer = (await admin.ok('GET', '/api/servers/s5')).status
        return answer.state === 'online' && answer.counts.tools > 0 ? answer : undefined
      },
      { what: 'the server of the large document to be online', timeoutMs: 15_000 },
    )
    expect(status.counts.tools).toBe(1)
  },
  SETUP_LIMIT_MS,
)
