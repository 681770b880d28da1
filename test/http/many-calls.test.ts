/** Records that represent many calls: every count or list of calls from records adds them up, in the hub and in each sink. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { makeRsyslog, type Rsyslog } from '../support/rsyslog.ts'
import { SearchEngineDouble } from '../support/search-engine.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

/** Number of calls at once; more than 200 in a second are counted together. */
const BURST = 250
/** Most records of a page. */
const MOST = 1_000

interface CallRecord {
  readonly count?: number
  readonly errors?: number
  readonly outcomes?: Readonly<Record<string, number>>
  readonly duration: number
  readonly durationTotal?: number
  readonly outcome?: string
  readonly level?: string
  readonly tool?: string
  readonly status?: string
  readonly requestId?: string
}

interface Pages {
  // biome-ignore lint/suspicious/noExplicitAny: records, which each test checks by expect
  readonly items: any[]
  readonly points: { readonly total: number }[]
  total: number
  calls: number
}

let syslog: Rsyslog
let engine: SearchEngineDouble
let hub: Hub
let admin: Client
let ben: Client
/** Calls that were made, by outcome. */
const made = { ok: 0, refused: 0 }
const all = () => made.ok + made.refused

beforeAll(async () => {
  engine = new SearchEngineDouble()
  syslog = await makeRsyslog()
  await syslog.start()
  hub = await startHub({
    settings: {
      mcpServers: { echo: { ...stdioFixture('echo'), visibility: 'public' } },
      plugins: [
        { use: 'sink-search', config: { url: `http://127.0.0.1:${engine.port}/`, index: 'logs' } },
        { use: 'sink-syslog', config: { host: '127.0.0.1', port: syslog.tcpPort, protocol: 'tcp' } },
      ],
    },
  })
  admin = await hub.setup()
  ben = await hub.user('ben')
  await online(admin, ['echo'])
  const client = await new RawClient(hub, '/mcp/@admin/echo', await ben.mcpKey()).open()
  const call = async (name: string, outcome: keyof typeof made) => {
    const response = await client.send('tools/call', { name, arguments: { text: 'x' } })
    await response.text()
    made[outcome] += 1
  }
  const folded = async (outcome: string) =>
    (await search(ben, `outcome=${outcome}`)).items.some(({ count = 1 }: CallRecord) => count > 1)
  // A busy machine may need more than one second for a burst.
  for (const [outcome, nameOf] of [
    ['ok', () => 'echo'],
    ['refused', (n: number) => `wrong-${n}`],
  ] as const) {
    const burst = async () => {
      await Promise.all(Array.from({ length: BURST }, (_, n) => call(nameOf(n), outcome)))
      return folded(outcome)
    }
    await until(burst, { timeoutMs: 60_000, what: 'records of many calls' })
  }
  // A quick hub may have a record of its own for none of them. Asked less often than once a second, in which calls are folded.
  const alone = async () => {
    await call('wrong-alone', 'refused')
    return (await search(ben, 'outcome=refused')).items.some(({ count = 1 }: CallRecord) => count === 1)
  }
  await until(alone, { timeoutMs: 60_000, intervalMs: 1_500, what: 'a record of one call' })
  await until(async () => sum((await search(ben, 'q=tools/call')).items, countOf) === all())
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await syslog?.[Symbol.asyncDispose]()
  await engine?.[Symbol.asyncDispose]()
}, 120_000)

/** All pages of a search as one, since each ends after its time. A full one counts what comes behind it too, and is counted here. */
async function whole(person: Client, path: string): Promise<Pages> {
  const all: Pages = { items: [], points: [], total: 0, calls: 0 }
  let cursor = ''
  do {
    const page = await person.ok('GET', `${path}&limit=${MOST}${cursor}`)
    all.items.push(...page.items)
    const isFull = page.items.length === MOST
    const inPage = sum<CallRecord>(page.items, countOf)
    all.points.push(...(isFull ? [{ total: inPage }] : (page.histogram?.points ?? [])))
    all.total += isFull ? MOST : page.total
    all.calls += isFull ? inPage : (page.calls ?? 0)
    cursor = page.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`
  } while (cursor !== '')
  return all
}
const search = (person: Client, query: string) => whole(person, `/api/logs/search?${query}`)
const activity = (person: Client, query: string) => whole(person, `/api/monitoring/activity?${query}`)
const sum = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((total, item) => total + of(item), 0)
const countOf = ({ count = 1 }: CallRecord) => count
const errorsOf = ({ errors, outcome }: CallRecord) => errors ?? Number(outcome !== 'ok')

test('a search by outcome, level or tool finds all calls, and the histogram counts them', async () => {
  for (const [query, count] of [
    ['outcome=ok', made.ok],
    ['outcome=refused', made.refused],
    ['level=error&q=tools/call', made.refused],
    ['tool=echo&q=component:mcp', made.ok],
    ['q=tools/call', all()],
  ] as const) {
    const { items, points, total } = await search(ben, `${query}&histogram=1m`)
    expect([query, sum(items, countOf), total]).toEqual([query, count, items.length])
    expect([query, sum(points, ({ total: each }) => each)]).toEqual([query, count])
  }
  const [many] = (await search(ben, 'outcome=ok')).items.filter((item: CallRecord) => countOf(item) > 1)
  expect(many).toMatchObject({ level: 'INFO', tool: 'echo', server: 'echo', errors: 0, outcomes: { ok: many.count } })
  expect(many.durationTotal).toBeGreaterThanOrEqual(many.duration)
  expect([many.requestId, many.fields?.count]).toEqual([undefined, undefined])
})

test('the activity lists them with their number, and counts the calls of all its items', async () => {
  for (const [query, count] of [
    ['', all()],
    ['status=failed', made.refused],
    ['outcome=ok&tool=echo', made.ok],
  ] as const) {
    const { items, calls, total } = await activity(ben, query)
    expect([query, sum(items, countOf), calls, total]).toEqual([query, count, count, items.length])
  }
  expect((await activity(admin, 'user=ben')).calls).toBe(all())
  const failed = (await activity(ben, 'outcome=refused')).items
  const many = failed.find((item: CallRecord) => countOf(item) > 1)
  expect(many).toMatchObject({ tool: '', status: 'tool_not_found', group: 'echo', user: { name: 'ben' } })
  expect([many.errors, many.outcomes]).toEqual([many.count, { refused: many.count }])
})

test('the numbers of the hub are the same', async () => {
  const counts = await ben.ok('GET', '/api/logs/aggregations/requests-by-server?range=1h')
  expect([counts.total, counts.outcomes]).toEqual([all(), made])
  const { points } = await ben.ok('GET', '/api/logs/aggregations/timeline?by=outcome&range=1h')
  expect(sum(points, ({ total }: { total: number }) => total)).toBe(all())
})

test('the view of the SQLite file adds up calls, errors and durations', () => {
  const folder = join(hub.dataDir, 'history')
  const [file = ''] = readdirSync(folder).filter(name => /^log-.*\.db$/.test(name))
  const db = new Database(join(folder, file), { readonly: true })
  const rows = db
    .prepare(
      `select outcome, sum(count) calls, sum(errors) errors, sum(durationTotal) >= sum(duration) isLonger, count(*) < sum(count) isFewer
       from log_record where message = 'tools/call' group by outcome order by outcome`,
    )
    .all()
  const other = db.prepare(`select sum(count) = count(*) same from log_record where message <> 'tools/call'`).all()
  db.close()
  expect(rows).toEqual([
    { outcome: 'ok', calls: made.ok, errors: 0, isLonger: 1, isFewer: 1 },
    { outcome: 'refused', calls: made.refused, errors: made.refused, isLonger: 1, isFewer: 1 },
  ])
  expect(other).toEqual([{ same: 1 }])
})

test('rsyslog gets them as structured data', async () => {
  const parameter = (data: string, name: string) =>
    new RegExp(` ${name}="((?:[^"\\\\\\]]|\\\\.)*)"`).exec(data)?.[1]?.replaceAll(/\\(.)/g, '$1')
  const received = async () => (await syslog.received()).filter(({ msg }) => msg.trim() === 'tools/call')
  const countIn = (data: string) => Number(parameter(data, 'count') ?? 1)
  await until(async () => sum(await received(), ({ data }) => countIn(data)) === all())
  const datas = (await received()).map(({ data }) => data)
  expect(sum(datas, data => Number(parameter(data, 'errors') ?? parameter(data, 'outcome') !== 'ok'))).toBe(
    made.refused,
  )
  const many = datas.find(data => countIn(data) > 1 && parameter(data, 'outcome') === 'refused') ?? ''
  expect(JSON.parse(parameter(many, 'outcomes') ?? '')).toEqual({ refused: countIn(many) })
  expect(many).toStartWith(`[patchbay@32473 count="${countIn(many)}" errors="`)
  const one = datas.find(data => countIn(data) === 1 && parameter(data, 'outcome') === 'refused') ?? ''
  expect(parameter(one, 'error')).toContain('There is no tool "wrong-')
  expect([parameter(one, 'clientName'), parameter(one, 'clientVersion')]).toEqual(['raw', '1'])
  expect(parameter(one, 'keyLabel')).toBeString()
})

test('a search engine gets numbers that it can add up', async () => {
  const docs = () => engine.stored.map(({ doc }) => doc as unknown as CallRecord & { message: string })
  const ofCalls = () => docs().filter(({ message }) => message === 'tools/call')
  await until(() => sum(ofCalls(), countOf) === all())
  expect(sum(ofCalls(), errorsOf)).toBe(made.refused)
  const many = ofCalls().find(doc => countOf(doc) > 1)
  expect(many).toMatchObject({ fields: { outcomes: { [many?.outcome ?? '']: many?.count } } } as never)
  expect(many?.durationTotal).toBeNumber()
  const { template } = engine.templates.logs as { template: { mappings: { properties: Record<string, unknown> } } }
  for (const name of ['count', 'errors', 'durationTotal'])
    expect(template.mappings.properties[name]).toEqual({ type: 'long' })
})
