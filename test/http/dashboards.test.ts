/** Dashboards: what their widgets show of calls that a client counted, to each user its own, and how they are kept. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { BUILT_IN } from '../../core/domain/dashboards/dashboard-body.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const DASHBOARDS = '/api/monitoring/dashboards'
const CALLS = 9
const FAILED = 2
const WIDGET = { type: 'metric', title: 'Calls', query: 'request_count' }

const remote = startGoodAndBad()
let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: { remote: { url: remote.url, visibility: 'public' } },
      dashboard: { name: 'filed', widgets: [WIDGET] },
      dashboards: [{ name: 'other' }, { name: 'second', widgets: [] }],
    },
  })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await online(admin, ['remote'])
  const client = await admin.mcp('/mcp/remote')
  for (let n = 0; n < CALLS; n += 1) await client.callTool({ name: 'good' })
  for (let n = 0; n < FAILED; n += 1) await client.callTool({ name: 'bad' })
  await until(async () => (await ask(admin, 'metric', 'error_count')).value === FAILED)
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

const ask = (user: Client, type: string, query: string, more = {}) =>
  user.ok('POST', '/api/monitoring/query', { type, query, ...more })

describe('a query', () => {
  test('of a number: calls, failures, their part, durations, servers, and what a user reports', async () => {
    const total = CALLS + FAILED
    expect(await ask(admin, 'metric', 'request_count')).toMatchObject({ unit: 'count', value: total })
    expect(await ask(admin, 'metric', 'request_count{server="remote"} over 10m')).toMatchObject({ value: total })
    expect(await ask(admin, 'metric', 'request_count{tool="none"}')).toMatchObject({ value: 0 })
    const { unit, value } = await ask(admin, 'metric', 'error_rate')
    expect([unit, value]).toEqual(['ratio', Number((FAILED / total).toFixed(4))])
    expect((await ask(admin, 'metric', 'p95_response_time')).value).toBeGreaterThan(0)
    expect(await ask(admin, 'metric', 'p95_response_time{tool="none"}')).toMatchObject({ unit: 'ms', value: null })
    expect(await ask(admin, 'metric', 'servers_online')).toMatchObject({ value: 1 })
    expect((await ask(admin, 'metric', 'tools_total')).value).toBeGreaterThan(0)
    expect((await ask(admin, 'metric', 'memory_usage')).value).toBeWithin(0, 1)
    await ada.ok('POST', '/api/monitoring/custom-metrics', { metrics: [{ name: 'queue', kind: 'gauge', value: 7 }] })
    expect(await ask(ada, 'metric', 'custom.queue')).toMatchObject({ value: 7 })
    expect(await ask(admin, 'metric', 'custom.queue', { scope: 'mine' })).toMatchObject({ value: null })
  })

  test('of lines: their points add up to what was counted', async () => {
    for (const [query, lines] of [
      ['request_count', 1],
      ['request_count by server step 10s', 1],
      ['request_count by tool over 30m', 2],
    ] as const) {
      const { series, stepMs, from, to } = await ask(admin, 'chart', query)
      expect([query, series.length, stepMs % 10_000]).toEqual([query, lines, 0])
      const points = series.flatMap((line: { points: [string, number][] }) => line.points) as [string, number][]
      expect(points.reduce((sum, [, value]) => sum + value, 0)).toBe(CALLS + FAILED)
      // From the beginning of the step that the time begins in.
      const [least, spanMs] = [query.includes('30m') ? 1_800_000 : 3_600_000, Date.parse(to) - Date.parse(from)]
      expect([query, spanMs >= least && spanMs <= least + stepMs]).toEqual([query, true])
      for (const [at] of points) {
        expect(Date.parse(at) % stepMs).toBe(0)
        expect(at >= from && at <= to).toBe(true)
      }
    }
    const { series } = await ask(admin, 'chart', 'request_count by tool')
    expect(series.map(({ label }: { label: string }) => label)).toEqual(['remote good', 'remote bad'])
    expect((await ask(admin, 'chart', 'record_count')).series[0].points.length).toBeGreaterThan(0)
  })

  test('of rows: each table has its columns, and the calls their callers', async () => {
    const { columns, rows } = await ask(admin, 'table', 'calls limit 3')
    expect(columns.map(({ name }: { name: string }) => name)).toEqual([
      ...['time', 'user', 'group', 'server', 'tool', 'status', 'duration'],
    ])
    expect(rows).toHaveLength(3)
    expect(rows[0].slice(1, 6)).toEqual(['admin', 'remote', 'remote', 'bad', 'error'])
    expect((await ask(admin, 'table', 'users')).rows).toEqual([['admin', CALLS + FAILED, FAILED]])
    expect((await ask(admin, 'table', 'servers')).rows).toEqual([
      ['admin~remote', 'online', expect.any(String), CALLS + FAILED, FAILED, expect.any(Number), '', ''],
    ])
    const { columns: heads } = await ask(admin, 'table', 'servers')
    expect(heads.slice(-2)).toEqual([{ name: 'code' }, { name: 'reason' }])
    expect((await ask(admin, 'table', 'error_count by tool')).rows).toEqual([
      ['remote', 'bad', FAILED],
      ['remote', 'good', 0],
    ])
    expect((await ask(admin, 'table', 'tools')).rows[0].slice(0, 4)).toEqual(['remote', 'good', CALLS, 0])
    const ofOne = await ask(admin, 'table', 'tools{server="admin~remote"} over 24h limit 100')
    expect(ofOne.rows.map((row: string[]) => row[1])).toEqual(['good', 'bad'])
    for (const name of ['errors', 'alerts']) expect((await ask(admin, 'table', name)).columns.length).toBeGreaterThan(1)
  })

  test('sees what its asker may see: another user finds nothing, nor does its server', async () => {
    for (const query of ['request_count', 'servers_total', 'tools_total', 'sessions']) {
      expect(await ask(ada, 'metric', query)).toMatchObject({ value: 0 })
    }
    expect((await ask(ada, 'chart', 'request_count by server')).series).toEqual([])
    for (const query of ['calls', 'servers', 'tools', 'users', 'alerts', 'errors']) {
      expect([query, (await ask(ada, 'table', query)).rows]).toEqual([query, []])
    }
    for (const [type, source] of [
      ['metric', 'request_count'],
      ['table', 'tools'],
    ]) {
      const foreign = { type, query: `${source}{server="admin~remote"}` }
      const { status, json } = await ada.request('POST', '/api/monitoring/query', foreign)
      expect([status, json.code]).not.toEqual([200, undefined])
      expect(status).toBeOneOf([403, 404])
    }
  })

  for (const [type, query, says] of [
    ['metric', '', 'Column 1: a source is missing'],
    ['metric', 'requests', 'Column 1: there is no source "requests"'],
    ['metric', 'request_count{user="x"}', 'Column 15: a field is missing; there are server, tool'],
    ['metric', 'request_count{server=x}', 'Column 22: the value of "server" stands in quotes'],
    ['metric', 'request_count{server="a",server="b"}', '"server" is named twice'],
    ['metric', 'request_count over 5', 'Column 20: a duration of 10s to 400d is missing'],
    ['metric', 'request_count over 401d', 'Column 20'],
    ['chart', 'request_count step 15s', 'Column 20: a step is a multiple of 10s'],
    ['metric', 'request_count limit 0', 'Column 21: a whole number from 1 to 100 is missing'],
    ['metric', 'request_count limit 5 over 1h', 'Column 23: by, over, step or limit is expected here'],
    ['metric', 'servers_online over 1h', 'Column 16: this source is what is now'],
    ['metric', 'request_count by server', 'A metric shows one number'],
    ['metric', 'servers', 'A metric shows one number'],
    ['chart', 'servers_online', '"servers_online" has no past to draw'],
    ['table', 'request_count', 'A table of a number wants "by server"'],
    ['table', 'api_request_count by server', 'a field is missing; this source has none'],
  ]) {
    test(`${type} ${query || '(empty)'} is refused with its place`, async () => {
      const { status, json } = await admin.request('POST', '/api/monitoring/query', { type, query })
      expect([status, json.code]).toEqual([400, 'validation_failed'])
      expect(json.errors).toMatchObject([{ pointer: '#/query', code: 'condition_invalid' }])
      expect(json.errors[0].detail).toContain(says)
    })
  }
})

test('a query by the name of a tool is about all servers that have it', async () => {
  await admin.ok('POST', '/api/servers', { name: 'more', url: remote.url })
  await online(admin, ['more'])
  await (await admin.mcp('/mcp/more')).callTool({ name: 'good' })
  const query = 'request_count{tool="good"}'
  await until(async () => (await ask(admin, 'metric', query)).value === CALLS + 1)
  expect((await ask(admin, 'chart', query)).series).toHaveLength(1)
  expect((await ask(admin, 'table', `${query} by server`)).rows).toEqual([
    ['remote', CALLS],
    ['more', 1],
  ])
})

describe('a dashboard', () => {
  test('of the hub: everybody has the five, each shows something in every widget', async () => {
    const { items } = await ada.ok('GET', DASHBOARDS)
    expect(items.map(({ name }: { name: string }) => name)).toEqual(BUILT_IN.map(({ name }) => name))
    for (const { name, widgets } of BUILT_IN) {
      for (const user of [admin, ada]) {
        const data = await user.ok('GET', `${DASHBOARDS}/${name}/data?range=24h`)
        expect(data.widgets).toHaveLength(widgets.length)
        for (const { title, error } of data.widgets) expect([title, error]).toEqual([title, undefined])
      }
      for (const method of ['PUT', 'DELETE']) {
        const { status, json } = await admin.request(method, `${DASHBOARDS}/${name}`, { name: 'x', widgets: [] })
        expect([status, json.code]).toEqual([409, 'setting_locked'])
      }
      const { json } = await ada.request('POST', DASHBOARDS, { name, widgets: [] })
      expect(json.errors).toMatchObject([{ pointer: '#/name', code: 'name_reserved' }])
    }
  })

  test('is read one at a time by each user, and its lines have 120 points at most, however fine their step', async () => {
    const path = `${DASHBOARDS}/system-overview/data?range=6h`
    const several = await Promise.all([ada, ada, ada, ada, admin].map(user => user.request('GET', path)))
    expect(several.at(-1)?.status).toBe(200)
    expect(new Set(several.map(({ json }) => json.code))).toEqual(new Set([undefined, 'rate_limited']))
    expect((await ada.request('GET', `${DASHBOARDS}/system-overview/data`)).status).toBe(200)
    expect((await ask(admin, 'chart', 'request_count over 6h step 10s')).stepMs).toBe(300_000)
  })

  test('of one’s own: made, read, replaced, shown, removed, and nobody else’s', async () => {
    const made = await ada.request('POST', DASHBOARDS, { name: 'mine', widgets: [WIDGET] })
    expect([made.status, made.headers.get('location')]).toEqual([201, `${hub.url}${DASHBOARDS}/ada~mine`])
    const whole = { ...WIDGET, visualization: 'single-stat' }
    expect(made.json).toMatchObject({ name: 'mine', owner: 'ada', builtIn: false, revision: 1, widgets: [whole] })
    expect((await ada.request('POST', DASHBOARDS, { name: 'MINE', widgets: [] })).json.code).toBe('name_taken')
    const path = `${DASHBOARDS}/mine`
    const table = { type: 'table', title: 'T', query: 'servers', visualization: 'table' }
    const body = { ...(await ada.ok('GET', path)), widgets: [whole, table] }
    expect((await ada.request('PUT', path, body, { 'if-match': '"7"' })).json.code).toBe('version_conflict')
    expect(await ada.ok('PUT', path, body)).toMatchObject({ revision: 2, widgets: [whole, table] })
    expect(await ada.ok('PATCH', path, { widgets: [table, whole] })).toMatchObject({
      revision: 3,
      widgets: [table, whole],
    })
    expect((await ada.request('PATCH', path, { name: null })).json.errors).toMatchObject([{ pointer: '#/name' }])
    expect((await ada.request('PATCH', path, {}, { 'if-match': '"2"' })).json.code).toBe('version_conflict')
    await ada.ok('PATCH', path, { widgets: [whole, table] })
    const data = await ada.ok('GET', `${path}/data`)
    expect(data).toMatchObject({
      dashboard: 'mine',
      range: '1h',
      widgets: [{ ...whole, unit: 'count', value: 0 }, table],
    })
    expect((await admin.request('GET', path)).json.code).toBe('dashboard_not_found')
    const [shown] = (await admin.ok('GET', `${DASHBOARDS}?owner=ada`)).items.slice(-1)
    expect(shown.ref).toBe('ada~mine')
    expect((await ada.request('GET', `${DASHBOARDS}/admin~filed`)).json.code).toBe('dashboard_not_found')
    await ada.ok('DELETE', path)
    expect((await ada.request('GET', `${path}/data`)).json.code).toBe('dashboard_not_found')
  })

  test('of the settings file is shown, and changed there alone; one with a mistake is logged', async () => {
    const { items } = await admin.ok('GET', DASHBOARDS)
    expect(items.slice(BUILT_IN.length)).toMatchObject([
      { name: 'filed', origin: 'file', widgets: [{ ...WIDGET, visualization: 'single-stat' }] },
      { name: 'second', origin: 'file' },
    ])
    await until(() => hub.log().includes('cannot be used at /dashboards/0/widgets: \\"widgets\\" is missing'))
    const { status, json } = await admin.request('DELETE', `${DASHBOARDS}/filed`)
    expect([status, json.code]).toEqual([409, 'setting_locked'])
    expect(json.hint).toContain('section "dashboards"')
  })

  test('with mistakes is refused, with the place of each', async () => {
    const widgets = [
      { type: 'metric', query: 'request_count', visualization: 'table' },
      { type: 'pie', query: 'request_count' },
      { type: 'chart', query: 'request_count by', title: 'x'.repeat(129) },
      'no widget',
      { query: 'x', more: 1 },
    ]
    const { status, json } = await ada.request('POST', DASHBOARDS, { name: 'a b', widgets, extra: 1 })
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    expect(json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`).sort()).toEqual([
      '#/extra unknown_field',
      '#/widgets/0/visualization enum',
      '#/widgets/1/type enum',
      '#/widgets/2/query condition_invalid',
      '#/widgets/2/title length',
      '#/widgets/3 type',
      '#/widgets/4/more unknown_field',
      '#/widgets/4/type required',
    ])
    const many = Array.from({ length: 41 }, () => WIDGET)
    expect((await ada.request('POST', DASHBOARDS, { name: 'x', widgets: many })).json.errors).toMatchObject([
      { pointer: '#/widgets', code: 'length' },
    ])
    for (let made = 0; made < LIMITS.dashboardsPerUser; ) {
      const { status: done, headers } = await ada.request('POST', DASHBOARDS, { name: `n${made}`, widgets: [] })
      if (done === 429) await Bun.sleep(Number(headers.get('retry-after')) * 1_000)
      else made += 1
    }
    await until(
      async () =>
        (await ada.request('POST', DASHBOARDS, { name: 'last', widgets: [] })).json.code === 'quota_dashboards',
    )
    const { items } = await ada.ok('GET', '/api/limits')
    expect(items.find(({ name }: { name: string }) => name === 'dashboardsPerUser').used).toBe(LIMITS.dashboardsPerUser)
  }, 120_000)
})
