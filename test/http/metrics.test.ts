/**
 * The metrics for Prometheus: promtool accepts them, their totals agree with the calls that the client made, and only
 * permitted readers get them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { beyondCore } from '../support/extent.ts'
import { type Client, type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { promtoolSays, startPrometheus } from '../support/prometheus.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const CALLS = 9

let hub: Hub
let admin: Client

beforeAll(async () => {
  hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['echo'])
  const client = await admin.mcp('/mcp/echo')
  for (let call = 0; call < CALLS; call += 1) await client.callTool({ name: 'echo', arguments: { text: 'x' } })
  for (let call = 0; call < 2; call += 1)
    await client.callTool({ name: `no"\\tool${call}`, arguments: {} }).catch(() => 0)
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

async function text(): Promise<string> {
  const response = await fetch(`${hub.url}/metrics`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return response.text()
}

/** The value of a series in the text; NaN where there is none. */
function valueIn(said: string, line: string): number {
  const found = said.split('\n').find(one => one.startsWith(`${line} `))
  return Number(found?.split(' ').at(-1))
}

test('totals are those of the client, and promtool has nothing to say', async () => {
  const said = await text()
  const value = (line: string): number => valueIn(said, line)
  const labels = '{owner="admin",server="echo",tool="echo",status="success",outcome="ok"}'
  expect(value(`patchbay_tool_calls_total${labels}`)).toBe(CALLS)
  // The name of a tool that is not there is the caller’s: it becomes no label.
  expect(
    value('patchbay_tool_calls_total{owner="admin",server="",tool="",status="tool_not_found",outcome="refused"}'),
  ).toBe(2)
  expect(said).not.toContain('no\\"')
  expect(value('patchbay_tool_call_duration_seconds_count{owner="admin",server="echo"}')).toBe(CALLS)
  expect(value('patchbay_tool_call_duration_seconds_bucket{owner="admin",server="echo",le="+Inf"}')).toBe(CALLS)
  expect(value('patchbay_server_up{owner="admin",server="echo"}')).toBe(1)
  expect(value('patchbay_servers{state="online"}')).toBe(1)
  expect(value('patchbay_log_records_total{level="info"}')).toBeGreaterThanOrEqual(CALLS)
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(10_000_000)
  expect(said).toMatch(
    /^patchbay_http_request_duration_seconds_count\{route="\/api\/setup",method="POST",status="201"\} 1$/m,
  )
  expect(await promtoolSays(said)).toBe('')
})

beyondCore(() => {
  test('requests of MCP by method, era and outcome; what programs use, and what the history stores', async () => {
    const client = await admin.mcp('/mcp/echo')
    await client.listTools()
    // The hub refuses some of these as too many: their names become no labels either.
    const unknown = Array.from({ length: 120 }, (_, n) => client.request({ method: `no/such${n}` }, z.any()))
    const refused = await Promise.allSettled(unknown)
    const missing = refused.filter(each => each.status === 'rejected' && each.reason.code === -32_601).length
    const request = (method: string, status: string) =>
      `patchbay_mcp_requests_total{method="${method}",era="legacy",status="${status}"}`
    const lists = await until(async () => {
      const said = await text()
      return valueIn(said, request('tools/list', 'success')) > 0 ? said : undefined
    })
    expect(valueIn(lists, request('tools/call', 'success'))).toBe(CALLS)
    expect(valueIn(lists, request('tools/call', 'tool_not_found'))).toBe(2)
    expect(missing).toBeGreaterThan(0)
    expect(valueIn(lists, request('other', 'method_not_found'))).toBe(missing)
    expect(lists).not.toContain('no/such')
    const child = (what: string) => valueIn(lists, `patchbay_child_${what}{owner="admin",server="echo"}`)
    // A program of Bun that has answered a few calls.
    expect(child('resident_memory_bytes')).toBeGreaterThan(10_000_000)
    // Counted in ticks of the system's clock, between which a quick machine does all that a few calls need.
    const large = { name: 'echo', arguments: { text: 'x'.repeat(300_000) } }
    await until(
      async () => {
        for (let at = 0; at < 20; at += 1) await client.callTool(large)
        return valueIn(await text(), 'patchbay_child_cpu_seconds_total{owner="admin",server="echo"}') > 0
      },
      { timeoutMs: 60_000, what: 'processor time of the program' },
    )
    await until(async () => valueIn(await text(), 'patchbay_history_bytes{kind="records"}') > 10_000)
    expect(valueIn(lists, 'patchbay_history_behind_records')).toBeGreaterThanOrEqual(0)
    expect(valueIn(lists, 'patchbay_worker_restarts_total')).toBe(0)
  }, 120_000)
})

beyondCore(() => {
  test('counts of a server that is removed and made again under its name continue', async () => {
    const calls = 'patchbay_tool_calls_total{owner="admin",server="second",tool="echo",status="success",outcome="ok"}'
    for (const count of [1, 2]) {
      await admin.ok('POST', '/api/servers', { name: 'second', ...stdioFixture('echo') })
      await online(admin, ['second'])
      await (await admin.mcp('/mcp/second')).callTool({ name: 'echo', arguments: { text: 'x' } })
      // One text answers for a second.
      await until(async () => (await text()).includes(`${calls} ${count}\n`))
      await admin.ok('DELETE', '/api/servers/second')
      await until(async () => !(await text()).includes('server_up{owner="admin",server="second"}'))
    }
    expect(await promtoolSays(await text())).toBe('')
  })
})

test('others get nothing: neither an ordinary user, nor who comes through an unknown proxy, nor a wrong token', async () => {
  const alice = await hub.user('alice')
  expect((await alice.request('GET', '/metrics')).json.code).toBe('admin_only')
  const status = async (headers: Record<string, string>) => (await fetch(`${hub.url}/metrics`, { headers })).status
  expect(await status({ 'x-forwarded-for': '127.0.0.1' })).toBe(401)
  expect(await status({ authorization: 'Bearer wrong' })).toBe(401)
})

beyondCore(() =>
  test('Prometheus reads them', async () => {
    await using prometheus = await startPrometheus(hub.url, admin.token)
    await until(async () => (await prometheus.query('up{job="patchbay"}')) === 1, { timeoutMs: 60_000 })
    expect(await prometheus.query('patchbay_servers{state="online"}')).toBe(1)
    expect(await prometheus.query('process_resident_memory_bytes{job="patchbay"}')).toBeGreaterThan(10_000_000)
  }, 120_000),
)

test('docs/monitoring.md has every metric with its kind, and no other', async () => {
  const page = await Bun.file(new URL('../../docs/monitoring.md', import.meta.url)).text()
  const rows = page.split('\n').filter(line => /^\| `(?:patchbay|process)_/.test(line))
  const documented = rows.flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name))
  const said = [...(await text()).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name)
  expect(said.toSorted()).toEqual(documented.toSorted())
})

test('numbers of users’ own stand there with their owner, and a user may have 200 of them', async () => {
  const path = '/api/monitoring/custom-metrics'
  const eve = await hub.user('eve')
  const report = (value: number, labels = {}) => ({ metrics: [{ name: 'orders', kind: 'counter', value, labels }] })
  for (const value of [2, 3]) expect(await eve.ok('POST', path, report(value, { shop: 'a"b' }))).toEqual({ taken: 1 })
  await eve.ok('POST', path, { metrics: [{ name: 'queue', kind: 'gauge', value: -7.5 }] })
  await until(async () => (await text()).includes('patchbay_custom_total{owner="eve",name="orders",shop="a\\"b"} 5\n'))
  expect(await text()).toContain('patchbay_custom_value{owner="eve",name="queue"} -7.5\n')
  expect(await promtoolSays(await text())).toBe('')
  expect((await eve.ok('GET', path)).items.map(({ name, value }: Record<string, unknown>) => [name, value])).toEqual([
    ['orders', 5],
    ['queue', -7.5],
  ])
  expect((await (await hub.user('fay')).ok('GET', path)).items).toEqual([])
  for (const [metric, pointer] of [
    [{ name: 'A-b', kind: 'gauge', value: 1 }, '#/metrics/0/name'],
    [{ name: 'a', kind: 'gauge', value: null }, '#/metrics/0/value'],
    [{ name: 'a', kind: 'counter', value: -1 }, '#/metrics/0/value'],
    [{ name: 'a', kind: 'gauge', value: 1, labels: { owner: 'x' } }, '#/metrics/0/labels/owner'],
    [{ name: 'orders', kind: 'gauge', value: 1 }, '#/metrics/0/kind'],
    [
      { name: 'a', kind: 'gauge', value: 1, labels: Object.fromEntries('abcdef'.split('').map(one => [one, ''])) },
      '#/metrics/0/labels',
    ],
  ] as const) {
    const { status, json } = await eve.request('POST', path, { metrics: [metric] })
    expect([status, json.errors?.[0]?.pointer]).toEqual([400, pointer])
  }
  const detail = async (metric: string) => {
    const body = `{"metrics":[{"name":"a","kind":"gauge","value":1},${metric}]}`
    const headers = { authorization: `Bearer ${eve.token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${hub.url}${path}`, { method: 'POST', headers, body })
    return ((await answer.json()) as { errors: { detail: string }[] }).errors[0]?.detail
  }
  expect(await detail('{"name":"A-b","kind":"gauge","value":1}')).toContain('must begin with one of a-z')
  expect(await detail('{"name":"b","kind":"gauge","value":1e999}')).toBe('"value": must be a number within ±1.8e308')
  expect(await detail('{"name":"b","kind":"gauge","value":1,"labels":{"name":"x"}}')).toContain('the hub’s own')
  expect(await detail('{"name":"a","kind":"counter","value":1}')).toContain('"a" is a gauge of yours already')
  const many = (from: number, count: number) => ({
    metrics: Array.from({ length: count }, (_, n) => ({ name: `m${from + n}`, kind: 'gauge', value: n })),
  })
  await eve.ok('POST', path, many(0, 100))
  const { status, json } = await eve.request('POST', path, many(100, 99))
  expect([status, json.code]).toEqual([409, 'quota_custom_metrics'])
  expect((await eve.ok('GET', path)).total).toBe(102)
  await eve.ok('POST', path, many(100, 98))
})

test('free-form numbers are flattened, limited, and shown with the rest', async () => {
  const path = '/api/monitoring/custom-metrics'
  const gus = await hub.user('gus')
  const free = {
    toolUsage: { 'web-search': 12, files: { read: 3 } },
    activeUsers: 5.5,
    'business counters': { 订单: 1, A: 2 },
  }
  const odd = await gus.request('POST', path, free)
  expect([odd.status, odd.json.errors]).toEqual([200, undefined])
  expect(await gus.ok('POST', path, { metrics: { toolUsage: { 'web-search': 13 } } })).toEqual({ taken: 1 })
  const { custom } = await gus.ok('GET', '/api/monitoring/metrics')
  expect(custom).toMatchObject({ tool_usage_web_search: 13, tool_usage_files_read: 3, active_users: 5.5 })
  expect((await (await hub.user('hal')).ok('GET', '/api/monitoring/metrics')).custom).toEqual({})
  const line = 'patchbay_custom_value{owner="gus",name="tool_usage_web_search"} 13\n'
  await until(async () => (await text()).includes(line))
  expect(await promtoolSays(await text())).toBe('')
  const nested = (depth: number): object => (depth === 0 ? { n: 1 } : { a: nested(depth - 1) })
  const wrong: readonly (readonly [object, string])[] = [
    [{}, 'required #'],
    [{ metrics: {} }, 'required #/metrics'],
    [{ a: { b: 'x' } }, 'type #/a/b'],
    [{ a: [1] }, 'type #/a'],
    [{ a: null }, 'type #/a'],
    [{ '1st': 1 }, 'format #/1st'],
    [{ ['x'.repeat(65)]: 1 }, `format #/${'x'.repeat(64)}`],
    [{ aB: 1, a_b: 2 }, 'duplicate #/a_b'],
    [nested(8), `length #${'/a'.repeat(8)}`],
    [Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`n${n}`, n])), 'length #'],
  ]
  for (const [body, expected] of wrong) {
    const { status, json } = await gus.request('POST', path, body)
    const [error] = json.errors
    expect([status, `${error.code} ${error.pointer.slice(0, 66)}`]).toEqual([400, expected])
  }
  await gus.ok('POST', path, { metrics: [{ name: 'sold', kind: 'counter', value: 1 }] })
  const { json } = await gus.request('POST', path, { sold: 2 })
  expect(json.errors[0]).toMatchObject({ code: 'ambiguous', pointer: '#/sold' })
})
