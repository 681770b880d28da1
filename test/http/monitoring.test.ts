/** The monitoring routes agree with the calls that the client counted, and show each user its own. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { openStream } from '../support/live-stream.ts'
import { atLeast } from '../support/pace.ts'
import { blocksFrom } from '../support/prometheus.ts'
import { online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const CALLS = { admin: 12, ada: 5 }
const FAILED = 2

const remote = startGoodAndBad()

let hub: Hub
let admin: Client
let ada: Client

async function call(user: Client, path: string, count: number, name: string, args = {}): Promise<number[]> {
  const client = await user.mcp(path)
  const times: number[] = []
  for (let n = 0; n < count; n += 1) {
    const startedAtMs = performance.now()
    await client.callTool({ name, arguments: args }).catch(() => undefined)
    times.push(performance.now() - startedAtMs)
  }
  return times
}

let slowestMs = 0
let ticks: Awaited<ReturnType<typeof openStream>>[]

beforeAll(async () => {
  const ms = atLeast(1_000)
  const checked = { healthCheck: { enabled: true, interval: ms, timeout: ms, retries: 100 } }
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { echo: { ...stdioFixture('echo'), ...checked } } } })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', { name: 'own', url: remote.url, healthCheck: { enabled: false } })
  await online(admin, ['echo', 'ada~own'])
  ticks = await Promise.all([openStream(ada, '?topics=metrics'), openStream(admin, '?topics=metrics')])
  slowestMs = Math.max(...(await call(admin, '/mcp/echo', CALLS.admin, 'echo', { text: 'x' })))
  await call(ada, '/mcp/own', CALLS.ada, 'good')
  await call(ada, '/mcp/own', FAILED, 'bad')
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

const metrics = (user: Client, query = '') => user.ok('GET', `/api/monitoring/metrics${query}`)

describe('GET /api/monitoring/metrics', () => {
  test('counts what the clients counted, for each user its own servers', async () => {
    const all = await metrics(admin)
    expect(all.metrics.requests).toMatchObject({ total: CALLS.admin + CALLS.ada + FAILED, errors: FAILED })
    expect(all.metrics.requests.success).toBe(CALLS.admin + CALLS.ada)
    expect(all.metrics.servers).toEqual({ online: 2, connecting: 0, offline: 0, total: 2 })
    const own = await metrics(ada)
    expect(own.metrics.requests).toMatchObject({ total: CALLS.ada + FAILED, errors: FAILED })
    expect(own.metrics.servers).toEqual({ online: 1, connecting: 0, offline: 0, total: 1 })
    expect((await metrics(admin, '?scope=mine')).metrics.requests.total).toBe(CALLS.admin)
    const { avgResponseTime: avg, p95ResponseTime: p95, p99ResponseTime: p99 } = all.metrics.performance
    expect(avg).toBeGreaterThan(0)
    expect(p95).toBeLessThanOrEqual(p99)
    const { performance } = (await metrics(admin, '?server=echo')).metrics
    expect(performance.p99ResponseTime).toBeLessThanOrEqual(slowestMs)
    expect(all.responseTimeMetrics.tool_execution).toEqual({ avg, p95, p99 })
    expect(all.responseTimeMetrics.server_startup.avg).toBeGreaterThan(1)
    expect(all.responseTimeMetrics.api_requests.avg).toBeGreaterThan(0)
    expect(all.metrics.system).toEqual({
      memoryUsage: expect.stringMatching(/^\d+\.\d MB$/),
      cpuUsage: expect.stringMatching(/^\d+\.\d%$/),
      uptime: expect.stringMatching(/^(\d+m)?(\d+s)?$/),
    })
  })

  test('of one server, by its name; steps add up; what is not one’s own is not there', async () => {
    const one = await metrics(admin, '?server=echo&range=10m&step=10s')
    expect(one.server).toBe('admin~echo')
    expect(one.metrics.requests.total).toBe(CALLS.admin)
    const sum = one.series.reduce((total: number, point: { requests: number }) => total + point.requests, 0)
    expect(sum).toBe(CALLS.admin)
    expect((await metrics(admin, '?server=ada~own')).metrics.requests.errors).toBe(FAILED)
    const refused = await ada.request('GET', '/api/monitoring/metrics?server=admin~echo')
    expect([refused.status, refused.json.code]).toEqual([404, 'server_not_found'])
    for (const [query, pointer, code] of [
      ['range=1s', '?range', 'duration'],
      ['range=401d', '?range', 'duration'],
      ['step=15s', '?step', 'duration'],
      ['range=400d&step=10s', '?step', 'range'],
    ]) {
      const wrong = await ada.request('GET', `/api/monitoring/metrics?${query}`)
      expect([wrong.status, wrong.json.errors]).toEqual([400, [expect.objectContaining({ pointer, code })]])
    }
  })
})

test('the overview names the most used, what fires and what needs attention', async () => {
  await ada.ok('POST', '/api/servers', { name: 'broken', command: '/does/not/exist' })
  const seen = await until(async () => {
    const overview = await ada.ok('GET', '/api/monitoring/overview')
    return overview.attention.length > 0 ? overview : undefined
  })
  expect(seen.servers.total).toBe(2)
  expect(seen.attention).toEqual([
    expect.objectContaining({
      kind: 'server_offline',
      subject: 'ada~broken',
      message: expect.stringContaining('exist'),
    }),
  ])
  expect(seen.topServers).toEqual([
    expect.objectContaining({ server: 'own', requests: CALLS.ada + FAILED, errors: FAILED }),
  ])
  expect(seen.topTools.map(({ tool }: { tool: string }) => tool).sort()).toEqual(['bad', 'good'])
  expect(seen.topUsers).toEqual([expect.objectContaining({ user: 'ada', requests: CALLS.ada + FAILED })])
  expect(seen.alerts).toEqual({ firing: 0, items: [] })
  expect(seen.calls.errorRate).toBeCloseTo(FAILED / (CALLS.ada + FAILED), 3)
  const whole = await admin.ok('GET', '/api/monitoring/overview?range=10m')
  expect(whole.topUsers.map(({ user }: { user: string }) => user)).toEqual(['admin', 'ada'])
  expect(whole.tools).toBeGreaterThan(seen.tools)
  expect(whole.sessions).toBeGreaterThan(0)
  await ada.ok('DELETE', '/api/servers/broken')
})

test('health has the checks of each server, and how long it was online', async () => {
  const seen = await until(
    async () => {
      const { items } = await admin.ok('GET', '/api/monitoring/health')
      return items.find(
        (one: { server: string; checks: unknown[] }) => one.server === 'admin~echo' && one.checks.length >= 2,
      )
    },
    { timeoutMs: 60_000 },
  )
  expect(seen).toMatchObject({ state: 'online', health: 'healthy', consecutiveFailures: 0, owner: 'admin' })
  expect(seen.checks.every(({ ok }: { ok: boolean }) => ok)).toBe(true)
  const { avg, min, max } = seen.responseTime
  expect(min).toBeLessThanOrEqual(avg)
  expect(avg).toBeLessThanOrEqual(max)
  expect(seen.uptimeRatio24h).toBeGreaterThan(0.3)
  const { items } = await ada.ok('GET', '/api/monitoring/health')
  expect(items.map(({ server }: { server: string }) => server)).toEqual(['ada~own'])
  expect(items[0]).toMatchObject({ health: 'off', lastCheck: null, checks: [], responseTime: { avg: null } })
})

test('health of one server by its name has its changes, and as many checks as asked for', async () => {
  const one = async (query: string) => (await admin.ok('GET', `/api/monitoring/health?${query}`)).items
  await until(async () => (await one('server=echo'))[0].checks.length >= 3, { timeoutMs: 60_000 })
  const [two, ...others] = await one('server=echo&checks=2')
  expect([two.server, two.checks.length, others]).toEqual(['admin~echo', 2, []])
  expect(two.changes).toContainEqual(expect.objectContaining({ state: 'online' }))
  const [none] = await one('server=echo&checks=0')
  expect([none.checks, none.lastCheck.ok, none.responseTime.avg]).toEqual([[], true, expect.any(Number)])
  const all = await one('checks=0')
  expect(all.map(({ checks, changes }: Record<string, unknown>) => [checks, changes])).toEqual([
    [[], undefined],
    [[], undefined],
  ])
  for (const [query, code] of [
    ['server=admin~echo', 'server_not_found'],
    ['checks=-1', 'validation_failed'],
    ['checks=100000', 'validation_failed'],
  ]) {
    expect([query, (await ada.request('GET', `/api/monitoring/health?${query}`)).json.code]).toEqual([query, code])
  }
})

test('resources are those of this machine', async () => {
  const { cpu, memory, disk, network, reasons } = await ada.ok('GET', '/api/monitoring/resources')
  expect(reasons).toEqual({})
  expect(cpu.cores).toBe(navigator.hardwareConcurrency)
  expect(cpu.loadAverage).toHaveLength(3)
  for (const { used, total, usage } of [memory, disk]) {
    const [part, whole] = [bytesOf(used), bytesOf(total)]
    expect(part).toBeLessThanOrEqual(whole)
    expect(Number.parseFloat(usage)).toBeCloseTo((100 * part) / whole, 0)
  }
  expect(network.bytesIn).toBeGreaterThanOrEqual(0)
  // The request itself.
  expect(network.connectionsActive).toBeGreaterThanOrEqual(1)
})

function bytesOf(text: string): number {
  const [value = '', unit = ''] = text.split(' ')
  return Number(value) * ({ kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }[unit] ?? Number.NaN)
}

describe('GET /api/monitoring/export', () => {
  test('JSON and CSV have the same rows, whose counts add up', async () => {
    const { items, stepMs, truncated } = await ada.ok('GET', '/api/monitoring/export?range=1h')
    expect([stepMs, truncated]).toEqual([60_000, false])
    const calls = items.filter(({ kind }: { kind: string }) => kind === 'tool_execution')
    const sum = (field: string) =>
      calls.reduce((all: number, row: Record<string, number>) => all + (row[field] ?? 0), 0)
    expect([sum('count'), sum('errors')]).toEqual([CALLS.ada + FAILED, FAILED])
    const csv = await ada.request('GET', '/api/monitoring/export?range=1h&format=csv')
    const [head = '', ...rows] = csv.text.trimEnd().split('\n')
    expect(head).toBe('timestamp,kind,server,serverId,tool,count,errors,avg,min,max,p50,p95,p99')
    expect(rows.filter(row => row.includes(',tool_execution,')).length).toBe(calls.length)
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="metrics.csv"')
  })

  test('a cell that a spreadsheet would take for a formula is a text', async () => {
    await call(ada, '/mcp/own', 1, '-sum')
    const { text } = await ada.request('GET', '/api/monitoring/export?range=1h&format=csv')
    expect(text).toContain(",'-sum,1,")
  })

  beyondCore(() => {
    test('promtool makes blocks of the OpenMetrics file', async () => {
      const { text } = await admin.request('GET', '/api/monitoring/export?range=1h&format=prometheus')
      expect(text).toEndWith('# EOF\n')
      const folder = await makeTemp('blocks')
      await Bun.write(join(folder, 'metrics.txt'), text)
      expect(await blocksFrom(join(folder, 'metrics.txt'), join(folder, 'data'))).toMatch(/BLOCK ULID/)
      await removeTemp(folder)
    })
  })
})

describe('GET /api/monitoring/activity', () => {
  const activity = (user: Client, query = '') => user.ok('GET', `/api/monitoring/activity${query}`)

  test('says who called what, from where and with which key, page by page', async () => {
    await until(async () => (await activity(admin)).total >= CALLS.admin + CALLS.ada + FAILED)
    const { items, total } = await activity(admin, '?server=echo')
    expect(total).toBe(CALLS.admin)
    expect(items[0]).toEqual({
      timestamp: expect.any(String),
      user: { id: expect.any(String), name: 'admin' },
      key: { id: expect.any(String), label: 'test' },
      ...{ client: '127.0.0.1', group: 'echo', server: 'echo', tool: 'echo', status: 'success' },
      ...{ outcome: 'ok', clientName: 'patchbay-test', clientVersion: '1.0.0' },
      serverId: (await admin.ok('GET', '/api/servers/echo')).id,
      duration: expect.any(Number),
      requestId: expect.any(String),
    })
    const first = await activity(admin, '?server=echo&limit=5')
    const second = await activity(admin, `?server=echo&limit=100&cursor=${first.nextCursor}`)
    expect([...first.items, ...second.items]).toEqual(items)
    expect((await activity(admin, `?key=${items[0].key.id}`)).total).toBe(CALLS.admin)
  })

  test('is that of the own calls and servers, by user and outcome', async () => {
    const own = await activity(ada, '?group=own')
    expect(own.items.every(({ user }: { user: { name: string } }) => user.name === 'ada')).toBe(true)
    expect((await activity(ada, '?user=admin')).total).toBe(0)
    expect((await activity(ada, '?status=failed')).total).toBe(FAILED)
    expect((await activity(ada, '?status=success&tool=good')).total).toBe(CALLS.ada)
    expect((await activity(admin, '?scope=mine&user=ada')).total).toBe(0)
    // Its caller sees the label of no key but its own.
    expect((await activity(admin, '?user=ada')).items[0].key).toEqual({ id: expect.any(String) })
    const { json } = await ada.request('GET', '/api/monitoring/activity?from=2026-02-02&to=2026-02-01')
    expect(json.errors).toMatchObject([{ pointer: '?to', code: 'range_order' }])
  })

  test('of a call to one’s server by somebody else, address and key are neither shown nor found', async () => {
    await ada.ok('PATCH', '/api/servers/own', { visibility: 'public' })
    const stream = await openStream(ada, '?topics=logs,calls')
    await call(admin, '/mcp/@ada/own', 1, 'good')
    const ofAdmin = async (user: Client) =>
      (await activity(user, '?server=ada~own')).items.find(
        (item: { user: { name: string } }) => item.user.name === 'admin',
      )
    const mine = await until(() => ofAdmin(admin))
    expect(mine).toMatchObject({ client: '127.0.0.1', key: { label: 'test' } })
    const seen = await until(() => ofAdmin(ada))
    expect(seen).toMatchObject({ user: { name: 'admin' }, tool: 'good' })
    expect([seen.client, seen.key]).toEqual([undefined, undefined])
    expect((await activity(ada, `?key=${mine.key.id}`)).total).toBe(0)
    for (const [user, total] of [
      [ada, 0],
      [admin, 1],
    ] as const) {
      const found = await user.ok('GET', `/api/logs/search?q=127.0.0.1+requestId:${mine.requestId}`)
      expect(found.total).toBe(total)
    }
    for (const name of ['tool.called', 'log.record']) {
      const { data } = await stream.next(({ event, data }) => event === name && JSON.stringify(data).includes('"good"'))
      expect([name, JSON.stringify(data).includes('127.0.0.1')]).toEqual([name, false])
    }
    expect(stream.text()).not.toContain(mine.key.id)
    await stream.close()
  })

  test('a call over REST has its caller’s address too', async () => {
    await ada.ok('POST', '/api/servers/own/tools/good/call', { arguments: {} })
    await until(async () => (await activity(ada)).items[0].key === undefined)
    expect((await activity(ada)).items[0]).toMatchObject({ client: '127.0.0.1', tool: 'good', server: 'own' })
  })

  test('of calls by the API too, with those that were refused, and without a group', async () => {
    await admin.ok('POST', '/api/servers/ada~own/tools/good/call', {})
    const unknown = await admin.request('POST', '/api/servers/ada~own/tools/none/call', {})
    expect(unknown.json.code).toBe('tool_not_found')
    const of = async (query: string) => (await activity(admin, query)).items[0]
    const [made, refused] = await until(async () => {
      const both = [await of('?tool=good&user=admin'), await of('?tool=none')]
      return both.every(Boolean) && both
    })
    expect(made).toMatchObject({ tool: 'good', server: 'own', status: 'success' })
    const { requestId } = unknown.json
    expect(refused).toMatchObject({ server: 'own', status: 'tool_not_found', requestId })
    for (const { group } of [made, refused]) expect(group).toBeUndefined()
    expect((await activity(ada, '?tool=none')).total).toBe(0)
  })
})

test('the live stream has the calls of each 10 s: of the own servers, for administrators of all', async () => {
  const [own, all] = ticks
  if (!own || !all) throw new Error('No streams')
  const wait = { timeoutMs: 60_000 }
  const tick = await until(() => own.events.find(({ event }) => event === 'metrics.tick')?.data, wait)
  expect(tick).toMatchObject({ owner: 'ada', data: { seconds: 10, errors: expect.any(Number) } })
  expect(tick.data.calls).toBeGreaterThan(0)
  expect(tick.data.avgMs).toBeLessThanOrEqual(tick.data.maxMs)
  // The calls of all begin with a tick of their own, which may be an earlier one.
  const ofAll = ({ data }: { data: { owner: string | null; data: { calls: number } } }): boolean =>
    data.owner === null && data.data.calls >= tick.data.calls
  await until(() => all.events.some(ofAll), wait)
  expect(own.events.every(({ data }) => data.owner === 'ada')).toBe(true)
  for (const stream of ticks) await stream.close()
}, 120_000)

test('the dashboard for Grafana asks for metrics that there are', async () => {
  const dashboard = await ada.ok('GET', '/api/monitoring/grafana/dashboard')
  const text = await (await fetch(`${hub.url}/metrics`)).text()
  const names = new Set(
    dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.flatMap(({ expr }) => expr.match(/\b(patchbay|process)_[a-z_]+/g) ?? []),
    ),
  )
  expect(names.size).toBeGreaterThan(8)
  const unnamed = dashboard.panels.filter(({ description = '' }: { description?: string }) => description.length < 20)
  expect(unnamed).toEqual([])
  for (const name of names) expect(text).toContain(`# TYPE ${String(name).replace(/_bucket$/, '')} `)
})

beyondCore(() => {
  test('counts are there after a restart', async () => {
    const before = (await metrics(admin)).metrics.requests.total
    const changes = async () => (await admin.ok('GET', '/api/monitoring/health?server=echo')).items[0].changes
    const seen = await changes()
    expect(seen.length).toBeGreaterThan(0)
    await hub.stop({ keep: true })
    hub = await startHub({ folder: hub.folder })
    admin = await hub.signIn('admin')
    expect((await metrics(admin)).metrics.requests.total).toBe(before)
    expect((await changes()).slice(0, seen.length)).toEqual(seen)
  }, 120_000)
})
