/** A known mix of calls of all outcomes through a real hub: every place that shows a number of calls shows the same one. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startEveryOutcome } from '../support/every-outcome.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { inFlight, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const SECRET = 'very-secret-value-of-root'
const remote = startEveryOutcome(SECRET)

/** Calls of the administrator, of its own server. */
const ROOT = { ok: 3, tool_error: 2, upstream_error: 2, refused: 4, blocked: 1, cancelled: 1, timeout: 1 }
/** Calls of ada: two and one of her own server, two of the administrator's, and one of a name that is not there. */
const ADA = { ok: 4, tool_error: 1, refused: 1 }
const ALL = { ...ROOT, ok: ROOT.ok + ADA.ok, tool_error: ROOT.tool_error + ADA.tool_error, refused: ROOT.refused + 1 }

const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, count) => all + count, 0)
const errorsOf = (counts: Readonly<Record<string, number>>) => sum(counts) - (counts.ok ?? 0)

let hub: Hub
let admin: Client
let ada: Client

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: {
        many: { url: remote.url, headers: { 'x-key': SECRET }, timeout: 4_000, visibility: 'public' },
        quiet: { url: remote.url, headers: { 'x-key': SECRET }, logging: { callErrors: false } },
        dead: { url: 'http://127.0.0.1:9/mcp' },
      },
      plugins: [{ use: join(import.meta.dir, '../mcp/fixtures/tagging.ts'), isolate: false }],
    },
  })
  admin = await hub.setup()
  ada = await hub.user('ada')
  await ada.ok('POST', '/api/servers', { name: 'own', url: remote.url })
  await online(admin, ['many', 'quiet', 'ada~own'])
  const call = async (client: Awaited<ReturnType<Client['mcp']>>, name: string, count = 1, args = {}) => {
    for (let n = 0; n < count; n += 1) await client.callTool({ name, arguments: args }).catch(() => undefined)
  }
  const root = await admin.mcp('/mcp/many')
  await call(root, 'good', 2)
  await call(root, 'telling')
  await call(root, 'bad', 2)
  await call(root, 'broken', 2)
  await call(root, 'nothing', 4)
  await call(root, 'good', 1, { forbidden: true })
  await call(root, 'slow')
  const abort = new AbortController()
  const cancelled = root.callTool({ name: 'slow' }, undefined, { signal: abort.signal }).catch(() => undefined)
  await inFlight(admin)
  abort.abort()
  await cancelled
  const own = await ada.mcp('/mcp/own')
  await call(own, 'good', 2)
  await call(own, 'bad')
  const guest = await ada.mcp('/mcp/@admin/many')
  await call(guest, 'good', 2)
  await call(guest, 'nothing')
  await until(async () => (await search(admin, 'q=tools/call&limit=1')).total === sum(ALL))
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

const search = (person: Client, query: string) => person.ok('GET', `/api/logs/search?${query}`)

/** All numbers of calls and errors that the hub shows to this person. */
async function numbersOf(person: Client): Promise<Record<string, readonly [calls: number, errors: number]>> {
  const { requests } = (await person.ok('GET', '/api/monitoring/metrics')).metrics
  const { series } = await person.ok('GET', '/api/monitoring/metrics?step=10s')
  const { calls, topUsers } = await person.ok('GET', '/api/monitoring/overview')
  const exported = await person.ok('GET', '/api/monitoring/export?range=1h')
  const rows = exported.items.filter((row: { kind: string }) => row.kind === 'tool_execution')
  const byServer = await person.ok('GET', '/api/logs/aggregations/requests-by-server')
  const failures = await person.ok('GET', '/api/logs/aggregations/errors?by=outcome')
  const timeline = await person.ok('GET', '/api/logs/aggregations/timeline?by=outcome')
  const links = await person.ok('GET', '/api/monitoring/connections?range=10m')
  const found = await search(person, 'q=tools/call%20component:mcp&limit=1')
  const failed = await search(person, 'q=tools/call%20component:mcp%20-outcome:ok&limit=1')
  const widget = async (type: string, query: string) =>
    person.ok('POST', '/api/monitoring/query', { type, query: `${query} over 1h` })
  const total = (items: readonly Record<string, number>[], name: string) =>
    items.reduce((all, item) => all + (item[name] ?? 0), 0)
  const users = (await widget('table', 'users')).rows as [string, number, number][]
  const ofServers = async (source: string) =>
    ((await widget('table', `${source} by server`)).rows as [string, number][]).reduce((all, row) => all + row[1], 0)
  const ended = timeline.points.map((point: { counts: Record<string, number> }) => point.counts)
  const activity = async (query: string) =>
    (await person.ok('GET', `/api/monitoring/activity?limit=1${query}`)).calls as number
  const alert = async (metric: string) => {
    const body = { condition: `${metric}[1h] >= 0`, per: 'total', duration: '0s' }
    return (await person.ok('POST', '/api/monitoring/rule-preview', body)).now[0]?.value as number
  }
  const csv = (await person.request('GET', '/api/monitoring/export?range=1h&format=csv')).text
  const lines = csv.split('\n').map(line => line.split(','))
  const column = (name: string) =>
    lines
      .filter(([, kind]) => kind === 'tool_execution')
      .reduce((all, line) => all + Number(line[lines[0]?.indexOf(name) ?? -1]), 0)
  const open = (await person.request('GET', '/api/monitoring/export?range=1h&format=prometheus')).text
  const opened = (name: string) =>
    [...open.matchAll(new RegExp(`^patchbay_export_${name}\\{kind="tool_execution".*\\} (\\d+) `, 'gm'))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    )
  return {
    activity: [await activity(''), await activity('&status=failed')],
    alerts: [await alert('request_count'), await alert('error_count')],
    alertRate: [await alert('request_count'), Math.round((await alert('error_rate')) * requests.total)],
    exportCsv: [column('count'), column('errors')],
    exportOpenMetrics: [opened('events'), opened('errors')],
    metrics: [requests.total, requests.errors],
    series: [total(series, 'requests'), total(series, 'errors')],
    overview: [calls.total, calls.errors],
    rates: [calls.total, Math.round(calls.errorRate * calls.total)],
    topUsers: [total(topUsers, 'requests'), total(topUsers, 'errors')],
    export: [total(rows, 'count'), total(rows, 'errors')],
    byServer: [byServer.total, total(byServer.items, 'errors')],
    outcomes: [sum(byServer.outcomes), errorsOf(byServer.outcomes)],
    errorsByOutcome: [
      requests.total,
      total(
        failures.items.filter((item: { outcome?: string }) => item.outcome !== undefined),
        'count',
      ),
    ],
    timeline: [
      ended.reduce((all: number, counts: object) => all + sum({ ...counts }), 0),
      ended.reduce((all: number, counts: object) => all + errorsOf({ ...counts }), 0),
    ],
    connections: [total(links.links, 'calls'), total(links.links, 'failures')],
    records: [found.total, failed.total],
    widget: [(await widget('metric', 'request_count')).value, (await widget('metric', 'error_count')).value],
    widgetRate: [
      (await widget('metric', 'request_count')).value,
      Math.round((await widget('metric', 'error_rate')).value * requests.total),
    ],
    widgetByServer: [await ofServers('request_count'), await ofServers('error_count')],
    users: [users.reduce((all, row) => all + row[1], 0), users.reduce((all, row) => all + row[2], 0)],
  }
}

describe('every place that counts calls shows the same number', () => {
  test('to an administrator: those of all, also of calls that reached no server', async () => {
    const numbers = await numbersOf(admin)
    const same = Object.fromEntries(Object.keys(numbers).map(name => [name, [sum(ALL), errorsOf(ALL)]]))
    expect(numbers).toEqual(same as never)
  })

  test('to a user: calls of the own server, and those that the user made', async () => {
    const numbers = await numbersOf(ada)
    const same = Object.fromEntries(Object.keys(numbers).map(name => [name, [sum(ADA), errorsOf(ADA)]]))
    expect(numbers).toEqual(same as never)
  })

  test('of one server: calls that reached it', async () => {
    const expected = [ROOT.ok + 2, ROOT.tool_error + ROOT.upstream_error + ROOT.cancelled + ROOT.timeout] as const
    const calls = expected[0] + expected[1]
    const { serverId } = (await admin.ok('GET', '/api/monitoring/overview')).topServers.find(
      (one: { server: string }) => one.server === 'many',
    )
    const of = (rows: readonly Record<string, number | string>[], count: string, errors: string) => {
      const own = rows.filter(row => row.serverId === serverId || row.server === 'many')
      const total = (name: string) => own.reduce((all, row) => all + Number(row[name]), 0)
      return [total(count), total(errors)]
    }
    const table = async (query: string) => {
      const answer = await admin.ok('POST', '/api/monitoring/query', { type: 'table', query: `${query} over 1h` })
      const names = answer.columns.map(({ name }: { name: string }) => name)
      return answer.rows.map((row: (string | number)[]) =>
        Object.fromEntries(row.map((cell, at) => [names[at], String(cell).replace('admin~', '')])),
      )
    }
    const metric = async (query: string) =>
      (await admin.ok('POST', '/api/monitoring/query', { type: 'metric', query: `${query}{server="many"} over 1h` }))
        .value
    const { requests } = (await admin.ok('GET', '/api/monitoring/metrics?server=many')).metrics
    const overview = await admin.ok('GET', '/api/monitoring/overview')
    const text = (await admin.request('GET', '/metrics')).text
    const sumOf = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((all, [, value]) => all + Number(value), 0)
    const alert = async (name: string) => {
      const body = { condition: `${name}{server="many"}[1h] >= 0`, per: 'server', duration: '0s' }
      return (await admin.ok('POST', '/api/monitoring/rule-preview', body)).now[0]?.value
    }
    const links = (await admin.ok('GET', '/api/monitoring/connections?range=10m')).links.map(
      ({ server, ...rest }: Record<string, string>) => ({ ...rest, serverId: server }),
    )
    const found = {
      metrics: [requests.total, requests.errors],
      topServers: of(overview.topServers, 'requests', 'errors'),
      byServer: of((await admin.ok('GET', '/api/logs/aggregations/requests-by-server')).items, 'count', 'errors'),
      export: of(
        (await admin.ok('GET', '/api/monitoring/export?range=1h')).items.filter(
          (row: { kind: string }) => row.kind === 'tool_execution',
        ),
        'count',
        'errors',
      ),
      serverTable: of(await table('servers'), 'calls', 'errors'),
      toolTable: of(await table('tools'), 'calls', 'errors'),
      split: [
        of(await table('request_count by server'), 'request_count', 'request_count')[0],
        of(await table('error_count by server'), 'error_count', 'error_count')[0],
      ],
      widget: [await metric('request_count'), await metric('error_count')],
      connections: of(links, 'calls', 'failures'),
      prometheus: [
        sumOf(/^patchbay_tool_calls_total\{owner="admin",server="many",.*\} (\d+)$/gm),
        sumOf(/^patchbay_tool_calls_total\{owner="admin",server="many",.*outcome="(?!ok")\w+"\} (\d+)$/gm),
      ],
      durations: [
        sumOf(/^patchbay_tool_call_duration_seconds_count\{owner="admin",server="many"\} (\d+)$/gm),
        expected[1],
      ],
      alerts: [await alert('request_count'), await alert('error_count')],
    }
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map(name => [name, [calls, expected[1]]])) as never)
  })

  test('errors in the log are records of level ERROR and failed calls, in every place', async () => {
    const { total } = await admin.ok('GET', '/api/logs/aggregations/errors')
    const metric = await admin.ok('POST', '/api/monitoring/query', { type: 'metric', query: 'error_record_count' })
    const table = await admin.ok('POST', '/api/monitoring/query', { type: 'table', query: 'errors limit 100' })
    expect(table.columns).toEqual([{ name: 'code' }, { name: 'error_record_count', unit: 'count' }])
    const rows = table.rows.reduce((all: number, row: [string, number]) => all + row[1], 0)
    expect([metric.value, rows]).toEqual([total, total])
    expect(total).toBeGreaterThan(errorsOf(ALL))
  })

  test('by outcome, in /metrics, in aggregations and in a search', async () => {
    const text = (await admin.request('GET', '/metrics')).text
    const counted: Record<string, number> = {}
    for (const [, outcome = '', count] of text.matchAll(/^patchbay_tool_calls_total\{.*outcome="(\w+)"\} (\d+)$/gm))
      counted[outcome] = (counted[outcome] ?? 0) + Number(count)
    expect(counted).toEqual(ALL)
    expect((await admin.ok('GET', '/api/logs/aggregations/requests-by-server')).outcomes).toEqual(ALL)
    for (const [outcome, count] of Object.entries(ALL)) {
      expect([outcome, (await search(admin, `outcome=${outcome}&limit=1`)).total]).toEqual([outcome, count])
      const posted = await admin.ok('POST', '/api/logs/search', { query: { outcome: { in: [outcome] } } })
      expect(posted.total).toBe(count)
    }
    expect((await admin.request('GET', '/api/logs/search?outcome=odd')).json.errors[0].pointer).toBe('?outcome')
  })

  test('response times are those of calls that reached a server', async () => {
    const { count } = (await admin.ok('POST', '/api/monitoring/query', {
      type: 'table',
      query: 'request_count by server over 1h',
    })) as { count?: number }
    expect(count).toBeUndefined()
    const exported = await admin.ok('GET', '/api/monitoring/export?range=1h')
    const unsent = exported.items.filter((row: { kind: string; server: string | null }) => {
      return row.kind === 'tool_execution' && row.server === null
    })
    expect(unsent.length).toBeGreaterThan(0)
    for (const row of unsent) expect([row.avg, row.p99]).toEqual([null, null])
  })
})

test('an agent that calls wrong names alone raises the error rate of its owner’s rules', async () => {
  const ben = await hub.user('ben')
  const client = await ben.mcp('/mcp/@admin/many')
  for (let n = 0; n < 3; n += 1) await client.callTool({ name: `wrong-${n}`, arguments: {} }).catch(() => undefined)
  const preview = (condition: string, per: string) =>
    ben.ok('POST', '/api/monitoring/rule-preview', { condition, per, duration: '0s' })
  const now = await until(async () => {
    const found = (await preview('error_rate[10m] > 50%', 'total')).now
    return found[0]?.holds && found
  })
  expect(now).toEqual([{ subject: 'total', value: 1, holds: true }])
  expect((await preview('error_count[10m] > 2', 'server')).now).toEqual([
    { subject: 'ben: calls that reached no server', value: 3, holds: true },
  ])
})

describe('the record of a call', () => {
  const one = async (person: Client, query: string) => (await search(person, `${query}&limit=1`)).items[0]

  test('has outcome, client, key and the text of the error, without secrets and at most 500 characters', async () => {
    const bad = await one(admin, 'outcome=tool_error&server=many')
    expect(bad).toMatchObject({ level: 'WARN', status: 'error', outcome: 'tool_error', clientName: 'patchbay-test' })
    expect([bad.clientVersion, typeof bad.keyLabel]).toEqual(['1.0.0', 'string'])
    expect(bad.error).toStartWith('The disk is full of ')
    expect(bad.error).not.toContain(SECRET)
    expect(bad.error.length).toBeLessThanOrEqual(501)
    expect(await one(admin, 'outcome=upstream_error')).toMatchObject({
      ...{ level: 'ERROR', server: 'many', tool: 'broken', error: 'The table [redacted] is locked' },
    })
    expect(await one(admin, 'outcome=timeout')).toMatchObject({ level: 'ERROR', status: 'upstream_timeout' })
    const refused = await one(admin, 'outcome=refused&tool=nothing')
    expect(refused).toMatchObject({ level: 'ERROR', code: 'tool_not_found' })
    expect(refused.error).toContain('There is no tool "nothing" here')
    expect(await one(admin, 'outcome=blocked')).toMatchObject({
      error: 'The tagging plugin refuses this call',
      tool: 'good',
    })
    expect((await one(admin, 'outcome=ok')).error).toBeUndefined()
  })

  test('has no text of an error where the server says so', async () => {
    const client = await admin.mcp('/mcp/quiet')
    await client.callTool({ name: 'bad', arguments: {} })
    await until(async () => (await search(admin, 'server=quiet&outcome=tool_error')).total === 1)
    expect((await one(admin, 'server=quiet&outcome=tool_error')).error).toBeUndefined()
    expect((await admin.ok('GET', '/api/servers/quiet')).logging).toEqual({ callErrors: false })
    await admin.ok('PATCH', '/api/servers/quiet', { logging: { callErrors: true } })
    expect((await admin.ok('GET', '/api/servers/quiet')).logging).toBeUndefined()
    const wrong = await admin.request('PATCH', '/api/servers/quiet', { logging: { callErrors: 'no' } })
    expect(wrong.json.errors[0].pointer).toBe('#/logging/callErrors')
  })

  test('shows the owner of a server neither program nor key of another caller', async () => {
    await ada.ok('PATCH', '/api/servers/own', { visibility: 'public' })
    const client = await admin.mcp('/mcp/@ada/own')
    await client.callTool({ name: 'broken', arguments: {} }).catch(() => undefined)
    await until(async () => (await search(ada, 'server=own&outcome=upstream_error')).total === 1)
    const seen = await one(ada, 'server=own&outcome=upstream_error')
    expect(seen.error).toContain('is locked')
    for (const name of ['client', 'clientName', 'clientVersion', 'keyId', 'keyLabel'])
      expect(seen[name]).toBeUndefined()
    expect((await search(ada, 'server=own&outcome=upstream_error&q=clientName:patchbay-test')).total).toBe(0)
    expect(await one(admin, 'server=ada~own&outcome=upstream_error')).toMatchObject({ clientName: 'patchbay-test' })
  })
})

test('a log message within a call is a record of the server', async () => {
  await until(async () => (await search(admin, 'q=%22nearly%20full%22')).total === 1)
  expect((await search(admin, 'q=%22nearly%20full%22')).items[0]).toMatchObject({
    ...{ level: 'WARN', server: 'many', component: 'server', logger: 'disk', message: 'The disk is nearly full' },
  })
})

test('states are records: level=error finds dead servers, and a stop by a person is INFO', async () => {
  const dead = (await search(admin, 'level=error&server=dead')).items[0]
  expect(dead).toMatchObject({ level: 'ERROR', server: 'dead', component: 'server' })
  expect(dead.message).toStartWith('The server is offline: ')
  expect(dead.fields.state).toBe('offline')
  await admin.ok('POST', '/api/servers/quiet/stop')
  const stopped = 'server=quiet&q=stopped%20code:stopped'
  await until(async () => (await search(admin, stopped)).total === 1)
  expect((await search(admin, stopped)).items[0]).toMatchObject({ level: 'INFO', code: 'stopped' })
  expect((await search(admin, 'level=info&server=quiet&q=online')).items.length).toBeGreaterThan(0)
  expect((await search(ada, 'level=error&server=dead')).total).toBe(0)
})
