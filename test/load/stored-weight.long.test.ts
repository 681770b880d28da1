// Cost of the largest allowed OpenAPI documents of many servers for requests that do not read them: processor time and bytes
// read.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { type Client, type Hub, LOOPBACK, send, startHub } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { mainThreadMs, slowness } from '../support/work.ts'

/** PATCHBAY_WEIGHT_SERVERS=200 PATCHBAY_WEIGHT_MIB=15 are the largest allowed values: they take 3 GB and some minutes. */
const SERVERS = Number(process.env.PATCHBAY_WEIGHT_SERVERS ?? 24)
const LARGE_MIB = Number(process.env.PATCHBAY_WEIGHT_MIB ?? 6)
const MIB = 2 ** 20
const SETUP_LIMIT_MS = 60_000 + SERVERS * 5_000
/** Differences by chance, as a factor and in milliseconds. */
const FACTOR = 1.2
const CHANCE_MS = 1
const START_CHANCE_MS = 50
/** Pages of SQLite that one side reads and the other has in its cache. */
const CHANCE_BYTES = 128 * 1024

interface Side {
  readonly folder: string
  hub: Hub
  admin: Client
}

const sides: Side[] = []

/** A server is online where something listens at its address. */
const api = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('{}') })

function documentOf(bytes: number): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    servers: [{ url: `http://127.0.0.1:${api.port}` }],
    paths: { '/pets': { get: { operationId: 'pets', responses: { 200: { description: 'All' } } } } },
    'x-padding': 'x'.repeat(bytes),
  }
}

/** The one document that is read. */
const READ = documentOf(LARGE_MIB * MIB)

beforeAll(async () => {
  const [small, large] = [await makeTemp('weight'), await makeTemp('weight')]
  const hub = await startHub({ folder: small, settings: { mcpServers: {} }, env: LOOPBACK })
  const admin = await hub.setup()
  for (let count = 0; count < SERVERS; count += 1) {
    const openapi = { schema: count === 5 ? READ : documentOf(1) }
    await admin.ok('POST', '/api/servers', { name: `s${count}`, visibility: 'public', enabled: false, openapi })
  }
  await admin.ok('POST', '/api/groups', { name: 'all', members: Array.from({ length: SERVERS }, (_, n) => `s${n}`) })
  await hub.stop({ keep: true })
  await cp(small, large, { recursive: true })
  enlargeDocuments(large)
  const started = async (folder: string): Promise<Side> => {
    const one = await startHub({ folder, env: LOOPBACK })
    return { folder, hub: one, admin: await one.signIn('admin') }
  }
  sides.push(...(await Promise.all([started(small), started(large)])))
}, SETUP_LIMIT_MS)

/** Gives every small document the parts of a large one, as if it had been saved with them: through the API that takes minutes. */
function enlargeDocuments(folder: string): void {
  const [file = ''] = new Bun.Glob('**/patchbay.db').scanSync({ cwd: folder, absolute: true })
  const db = new Database(file, { readwrite: true })
  const part = Buffer.alloc(MIB, 'x')
  const ids = db.query<{ id: string }, []>(`select id from openapi_document where bytes < ${MIB}`).all()
  expect(ids).toHaveLength(SERVERS - 1)
  for (const { id } of ids) {
    db.transaction(() => {
      db.run('delete from openapi_document_part where document_id = ?', [id])
      const insert = db.query('insert into openapi_document_part (document_id, part, content) values (?, ?, ?)')
      for (let at = 0; at < LARGE_MIB; at += 1) insert.run(id, at, part)
      db.run('update openapi_document set bytes = ? where id = ?', [LARGE_MIB * MIB, id])
    })()
  }
  db.run('pragma wal_checkpoint(truncate)')
  db.close()
}

afterAll(async () => {
  await api.stop(true)
  await Promise.all(
    sides.map(async ({ hub, folder }) => {
      await hub.stop()
      await removeTemp(folder)
    }),
  )
}, 120_000)

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Cost of a process so far. */
interface Cost {
  /** Processor time of its main thread. */
  readonly ms: number
  /** Bytes read from files. */
  readonly bytes: number
}

function costOf({ hub }: Side): Cost {
  const read = /^rchar: (\d+)$/m.exec(readFileSync(`/proc/${hub.pid}/io`, 'utf8'))?.[1]
  return { ms: mainThreadMs(hub.pid), bytes: Number(read) }
}

/** The median costs of `work` on both sides, by turns so that a busy machine slows both; `sinceStart`: of the whole process. */
async function medians(times: number, work: Work, sinceStart: boolean): Promise<readonly [Cost, Cost]> {
  const taken: readonly [Cost[], Cost[]] = [[], []]
  for (let at = 0; at < times; at += 1) {
    for (const [index, side] of sides.entries()) {
      const before = sinceStart ? { ms: 0, bytes: 0 } : costOf(side)
      await work(side, at)
      const { ms, bytes } = costOf(side)
      taken[index === 0 ? 0 : 1].push({ ms: ms - before.ms, bytes: bytes - before.bytes })
    }
  }
  const middle = (costs: readonly Cost[]): Cost => ({
    ms: median(costs.map(({ ms }) => ms)),
    bytes: median(costs.map(({ bytes }) => bytes)),
  })
  return [middle(taken[0]), middle(taken[1])]
}

type Work = (side: Side, at: number) => Promise<unknown>

/** A machine that is busy with other work may favour one side by chance, not in every one of these rounds. */
const ROUNDS = 4

async function expectAlike(what: string, times: number, work: Work, start = false): Promise<void> {
  const figures: string[] = []
  const chanceMs = (start ? START_CHANCE_MS : CHANCE_MS) * slowness()
  for (let round = 0; round < ROUNDS; round += 1) {
    const [small, large] = await medians(times, work, start)
    const shown = ({ ms, bytes }: Cost): string => `${ms.toFixed(2)} ms, ${(bytes / 1024).toFixed(0)} KiB read`
    figures.push(`small ${shown(small)}; large ${shown(large)}`)
    console.log(`${what}: ${figures.at(-1)}`)
    expect(large.bytes).toBeLessThan(FACTOR * small.bytes + CHANCE_BYTES)
    if (large.ms < FACTOR * small.ms + chanceMs) return
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
  120_000,
)

test('anonymous requests for the public servers take as long with large documents, and see a change at once', async () => {
  const ask = ({ hub }: Side) => send(hub.url, 'GET', '/api/public/servers')
  // Few, since an address has 20 at once and 10 a second, also when rounds are repeated.
  const three = async (side: Side) => {
    for (let count = 0; count < 3; count += 1) expect((await ask(side)).status).toBe(200)
  }
  await expectAlike('three anonymous lists', 1, three)
  // A change must show at once, before the page expires.
  const [side] = sides
  if (!side) return expect.unreachable()
  const { hub, admin } = side
  const first = await ask(side)
  expect(first.json.total).toBe(SERVERS)
  const etag = first.headers.get('etag') ?? ''
  expect((await send(hub.url, 'GET', '/api/public/servers', undefined, { 'if-none-match': etag })).status).toBe(304)
  await admin.ok('PATCH', '/api/servers/s1', { visibility: 'private' })
  expect((await ask(side)).json.total).toBe(SERVERS - 1)
}, 120_000)

test(
  'the hub starts as quickly with large documents, and reads a document when its server starts',
  async () => {
    const [first, second] = sides
    if (!first || !second) return expect.unreachable()
    const restart = async (side: Side) => {
      await side.hub.stop({ keep: true })
      side.hub = await startHub({ folder: side.folder, env: LOOPBACK })
    }
    await expectAlike('start of the hub', 3, restart, true)
    const admin = await second.hub.signIn('admin')
    const { openapi } = await admin.ok('GET', '/api/servers/s5')
    expect(openapi).toMatchObject({ document: { bytes: JSON.stringify(READ).length } })
    expect((await admin.ok('GET', '/api/servers/s5/document'))['x-padding']).toHaveLength(LARGE_MIB * MIB)
    await admin.ok('PATCH', '/api/servers/s5', { enabled: true })
    const status = await until(
      async () => {
        const answer = (await admin.ok('GET', '/api/servers/s5')).status
        return answer.state === 'online' && answer.counts.tools > 0 ? answer : undefined
      },
      { what: 'the server of the large document to be online', timeoutMs: 60_000 },
    )
    expect(status.counts.tools).toBe(1)
  },
  SETUP_LIMIT_MS,
)
