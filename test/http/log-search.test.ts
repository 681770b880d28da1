import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'

let hub: Hub
let admin: Client
let alice: Client
let bob: Client

const CALLS = 7

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo') } } })
  admin = await hub.setup()
  alice = await hub.user('alice')
  bob = await hub.user('bob')
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  await online(admin, ['echo'])
  const own = await admin.mcp('/mcp/echo')
  for (let call = 0; call < CALLS; call += 1) await own.callTool({ name: 'echo', arguments: { text: 'x' } })
  const guest = await alice.mcp('/mcp/@admin/echo')
  await guest.callTool({ name: 'echo', arguments: { text: 'a secret argument' } })
  await guest.callTool({ name: 'missing_tool', arguments: {} }).catch(() => undefined)
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const found = (person: Client, query: string) => person.ok('GET', `/api/logs/search?${query}`)
const CALL = 'q=tools/call&tool=echo'

test('totals are those that the client counted, newest first, in the shape of the specification', async () => {
  const { items, total, totalIsExact, source, behind } = await found(admin, CALL)
  expect([total, items.length, totalIsExact, source, behind]).toEqual([CALLS + 1, CALLS + 1, true, 'database', 0])
  expect(items[0]).toMatchObject({
    level: 'INFO',
    message: 'tools/call',
    server: 'echo',
    tool: 'echo',
    status: 'success',
  })
  expect(items[0].duration).toBeNumber()
  const times = items.map((item: { timestamp: string }) => item.timestamp)
  expect(times).toEqual(times.toSorted().reverse())
  expect((await found(admin, `${CALL}&order=asc`)).items).toEqual(items.toReversed())
})

test('the matches are also counted over time by level, with the same rights and the same total', async () => {
  const { total, histogram } = await found(admin, `${CALL}&histogram=1h&limit=1`)
  expect(histogram.interval).toBe('1h')
  const counts = histogram.points.map((point: { counts: Record<string, number> }) => point.counts.INFO ?? 0)
  expect([counts.reduce((sum: number, count: number) => sum + count, 0), total]).toEqual([CALLS + 1, CALLS + 1])
  expect(histogram.points.every(({ timestamp }: { timestamp: string }) => timestamp.endsWith(':00:00.000Z'))).toBe(true)
  const body = { query: { tool: 'missing_tool' }, histogram: '1s' }
  const posted = await alice.ok('POST', '/api/logs/search', body)
  expect(posted.histogram.points).toEqual([expect.objectContaining({ total: 1 })])
  expect((await bob.ok('POST', '/api/logs/search', body)).histogram.points).toEqual([])
  expect((await found(admin, CALL)).histogram).toBeUndefined()
  for (const step of ['0s', '5', 'often']) {
    const refused = await admin.request('GET', `/api/logs/search?histogram=${step}`)
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '?histogram'])
  }
})

test('a user finds own calls on a public server and no others; a third finds none; an administrator may look as a user', async () => {
  const { id } = (await alice.ok('GET', '/api/auth/me')).user ?? (await alice.ok('GET', '/api/auth/me'))
  const own = await found(alice, 'q=tools/call')
  expect(own.items.map((item: { tool: string; status: string }) => [item.tool, item.status])).toEqual([
    ['missing_tool', 'tool_not_found'],
    ['echo', 'success'],
  ])
  expect(own.items.every((item: { userId: string }) => item.userId === id)).toBe(true)
  expect((await found(alice, '')).items.some((item: { component: string }) => item.component === 'hub')).toBe(false)
  expect(await found(bob, 'q=tools/call')).toMatchObject({ items: [], total: 0 })
  expect((await found(admin, 'q=missing_tool')).total).toBe(1)
  expect((await found(admin, 'q=missing_tool&scope=mine')).total).toBe(0)
  expect(JSON.stringify((await found(admin, '')).items)).not.toContain('a secret argument')
})

test('servers and users are named; foreign and unknown ones give an empty answer', async () => {
  expect((await found(admin, 'server=echo&tool=echo')).total).toBe(CALLS + 1)
  expect((await found(admin, 'server=admin~echo&user=alice&tool=echo')).total).toBe(1)
  expect((await found(alice, 'server=admin~echo&tool=echo')).total).toBe(1)
  for (const query of ['server=none', 'user=none', 'server=bob~none']) expect((await found(admin, query)).total).toBe(0)
  expect((await found(bob, 'user=alice')).total).toBe(0)
})

test('each name is looked up in the store: a query has 100 at most', async () => {
  const named = (count: number) => {
    const lists = Array.from({ length: count / 50 }, (_, list) => ({
      server: { in: Array.from({ length: 50 }, (_, each) => `none-${list}-${each}`) },
    }))
    return bob.request('POST', '/api/logs/search', { query: { or: [{ not: lists[0] }, ...lists.slice(1)] } })
  }
  expect((await named(100)).status).toBe(200)
  const refused = await named(150)
  expect([refused.status, refused.json.errors[0].code]).toEqual([400, 'query_too_complex'])
})

test('pages continue by the cursor, which is valid for the same person and search only', async () => {
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 10; page += 1) {
    const next = await found(admin, `${CALL}&limit=3${cursor}`)
    seen.push(...next.items.map((item: { requestId: string }) => item.requestId))
    if (next.nextCursor === undefined) break
    cursor = `&cursor=${next.nextCursor}`
  }
  expect([seen.length, new Set(seen).size]).toEqual([CALLS + 1, CALLS + 1])
  for (const [person, query] of [
    [alice, `${CALL}&limit=3${cursor}`],
    [admin, `q=other&limit=3${cursor}`],
    [admin, 'cursor=abc'],
  ] as const) {
    const { status, json } = await person.request('GET', `/api/logs/search?${query}`)
    expect([status, json.errors?.[0]?.code]).toEqual([400, 'cursor_invalid'])
  }
})

test('conditions combine in a body', async () => {
  const post = async (query: object, more = {}) =>
    (await admin.ok('POST', '/api/logs/search', { query, ...more })).total
  expect(await post({ and: [{ level: 'INFO' }, { server: { in: ['echo'] } }, { tool: 'echo' }] })).toBe(CALLS + 1)
  expect(await post({ and: [{ message: { prefix: 'tools/' } }, { not: { status: 'success' } }] })).toBe(1)
  expect(await post({ or: [{ tool: 'missing_tool' }, { tool: 'none' }], timestamp: { gte: '2020-01-01' } })).toBe(1)
  expect(await post({ timestamp: { lt: '2020-01-01' } })).toBe(0)
  const days = [0, 1].map(ago => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10))
  expect(await post({ and: [{ timestamp: { in: days } }, { tool: 'echo' }, { level: 'INFO' }] })).toBe(CALLS + 1)
  expect(await post({ text: 'missing_tool' })).toBe((await found(admin, 'q=missing_tool')).total)
  expect(await post({ and: [{ text: 'TOOLS/call' }, { not: { text: 'missing_tool' } }, { tool: 'echo' }] })).toBe(
    CALLS + 1,
  )
  expect(await post({ tool: 'echo', duration: { gte: 3_600_000 } }, { sort: [{ timestamp: 'asc' }], limit: 1 })).toBe(0)
})

describe('errors are refused with their place', () => {
  const deep = (depth: number): object => (depth === 0 ? { level: 'INFO' } : { not: deep(depth - 1) })
  const many = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`)
  test.each([
    ['level=LOUD', '?level', 'enum'],
    ['from=yesterday', '?from', 'timestamp'],
    ['from=2026-11-23&to=2026-11-22', '?to', 'range_order'],
    ['limit=0', '?limit', 'range'],
    ['limit=1000000000', '?limit', 'range'],
    ['limit=abc', '?limit', 'type'],
    ['order=up', '?order', 'enum'],
    ['q=%22open', '?q', 'condition_invalid'],
    ['q=colour:red', '?q', 'condition_unknown'],
    [`q=${'y'.repeat(300)}`, '?q', 'query_too_complex'],
    [`q=user:(${many(101).join('%20or%20')})`, '?q', 'query_too_complex'],
    ['q=user:%3Eada', '?q', 'condition_unknown'],
    ['cursor=abc', '?cursor', 'cursor_invalid'],
  ])('GET %s', async (query, pointer, code) => {
    const { status, json } = await bob.request('GET', `/api/logs/search?${query}`)
    expect([status, json.errors?.[0]?.pointer, json.errors?.[0]?.code]).toEqual([400, pointer, code])
  })

  test.each([
    [{}, '#/query', 'required'],
    [{ query: { $where: 'x' } }, '#/query/$where', 'condition_unknown'],
    [{ query: { tool: { in: [] } } }, '#/query/tool/in', 'length'],
    [{ query: { tool: { in: many(101) } } }, '#/query/tool/in', 'length'],
    [{ query: { duration: { gte: {} } } }, '#/query/duration/gte', 'type'],
    [{ query: { tool: { like: 'x' } } }, '#/query/tool/like', 'condition_unknown'],
    [{ query: { and: {} } }, '#/query/and', 'type'],
    [{ query: { text: '' } }, '#/query/text', 'type'],
    [{ query: { not: { text: ['x'] } } }, '#/query/not/text', 'type'],
    [{ query: { text: 'y'.repeat(300) } }, '#/query/text', 'query_too_complex'],
    [{ query: deep(8) }, `#/query${'/not'.repeat(8)}`, 'query_too_complex'],
    [{ query: { and: many(101).map(tool => ({ tool })) } }, '#/query/and/99', 'query_too_complex'],
    [{ query: {}, sort: [{ timestamp: 'up' }] }, '#/sort/0/timestamp', 'enum'],
    [{ query: {}, cursor: 'abc' }, '#/cursor', 'cursor_invalid'],
    [{ query: { and: [{ user: { in: many(60) } }, { server: { in: many(60) } }] } }, '#/query', 'query_too_complex'],
    [{ query: { user: { contains: 'ad' } } }, '#/query/user/contains', 'condition_unknown'],
    [{ query: { level: { prefix: 'ERROR' } } }, '#/query/level/prefix', 'condition_unknown'],
    [{ query: { timestamp: { contains: '2026-11-22' } } }, '#/query/timestamp/contains', 'condition_unknown'],
    [{ query: { duration: { contains: 1 } } }, '#/query/duration/contains', 'condition_unknown'],
  ])('POST %j', async (body, pointer, code) => {
    const { status, json } = await bob.request('POST', '/api/logs/search', body)
    expect([status, json.errors?.[0]?.pointer, json.errors?.[0]?.code]).toEqual([400, pointer, code])
  })
})

const numbers = (person: Client, query: string) => person.ok('GET', `/api/logs/aggregations/${query}`)

test('numbers of calls are those that the client counted, to each person those that it may read', async () => {
  const all = await numbers(admin, 'requests-by-server')
  // The refused call reached no server.
  expect(all).toMatchObject({ total: CALLS + 2 })
  expect(all.items).toEqual([
    { server: 'echo', serverId: expect.any(String), count: CALLS + 1, errors: 0 },
    { count: 1, errors: 1 },
  ])
  expect(
    (await numbers(alice, 'requests-by-server?range=1h')).items.map((row: { count: number }) => row.count),
  ).toEqual([1, 1])
  expect(await numbers(bob, 'requests-by-server')).toMatchObject({ total: 0, items: [] })
  expect(await numbers(admin, 'requests-by-server?scope=mine')).toMatchObject({ total: CALLS + 1 })
})

test('numbers of errors by code, and a point of the timeline for each interval', async () => {
  const errors = await numbers(alice, 'errors?by=code')
  expect(errors).toMatchObject({ by: 'code', total: 1, items: [{ code: 'tool_not_found', count: 1 }] })
  const { interval, points, from, to } = await numbers(admin, 'timeline?interval=10s&range=10m')
  expect(interval).toBe('10s')
  expect(Date.parse(to) - Date.parse(from)).toBeWithin(600_000, 610_001)
  expect([60, 61]).toContain(points.length - 1)
  const info = points.reduce((sum: number, point: { counts: { INFO?: number } }) => sum + (point.counts.INFO ?? 0), 0)
  expect(info).toBeGreaterThanOrEqual(CALLS + 2)
  const [hour] = (await numbers(alice, 'timeline?interval=1h&range=1h&by=server')).points.slice(-1)
  expect(hour.total).toBeGreaterThan(0)
})

test('wrong intervals and ranges are refused, and the answer starts where counts are kept', async () => {
  for (const query of [
    'timeline?interval=15s',
    'timeline?interval=1x',
    'errors?range=401d',
    'timeline?range=3d&interval=10s',
  ]) {
    expect((await admin.request('GET', `/api/logs/aggregations/${query}`)).json).toMatchObject({
      status: 400,
      errors: [{ pointer: expect.stringMatching(/^\?(?:interval|range)$/) }],
    })
  }
  const { from, to } = await numbers(admin, 'timeline?interval=10s&range=1d')
  expect(Date.parse(to) - Date.parse(from)).toBeWithin(5.9 * 3_600_000, 6 * 3_600_000 + 1)
})

beyondCore(() => {
  test('records outlive a restart', async () => {
    await hub.stop({ keep: true })
    hub = await startHub({ folder: hub.folder })
    admin = await hub.signIn('admin')
    const { items } = await found(admin, 'q=stopping')
    expect(items[0]).toMatchObject({ component: 'hub', message: 'The hub is stopping: calls in flight may finish' })
    expect((await found(admin, CALL)).total).toBe(CALLS + 1)
    expect(await numbers(admin, 'requests-by-server')).toMatchObject({ total: CALLS + 2 })
  }, 120_000)
})
