import { expect, test } from 'bun:test'
import type { EndedCall } from '../../../core/telemetry/calls/ended-call.ts'
import { DurationHistogram, LabelledValues, MOST_LABEL_SETS } from '../../../core/telemetry/counters.ts'
import { HubMetrics } from '../../../core/telemetry/hub-metrics.ts'
import { atMost } from '../../support/pace.ts'

const call = (server: number, status = 'success', durationMs = 15): EndedCall => ({
  ...{ at: '', requestId: 'r', userId: 'u', userName: 'u', ownerId: 'u', serverId: `s${server}`, server: `n${server}` },
  ...{ group: 'g', groupId: 'g', tool: 't', durationMs, outcome: 'ok', status },
})
const now = (servers: number) => ({
  ...{ version: '1.0.0', uptimeSeconds: 1, tools: 0, sinks: [], owners: new Map([['u', 'a"b\\c\n']]), custom: [] },
  ...{ sessions: 0, streams: 0, callsInFlight: 0, eventLoopLagSeconds: 0, alerts: { warning: 0, critical: 0 } },
  spans: { sent: 0, failed: 0, dropped: 0 },
  ...{ children: [], ofPlugins: [] },
  servers: Array.from({ length: servers }, (_, at) => ({
    ...{ ownerId: 'u', name: `n${at}`, state: 'online' as const },
  })),
})

test('rows beyond the limit are folded, and nothing is lost', () => {
  const values = new LabelledValues(
    () => 0,
    ([, status = '']) => ['other', status],
  )
  for (let at = 0; at < MOST_LABEL_SETS + 500; at += 1) values.row([`x${at}`, at % 2 ? 'a' : 'b']).value += 1
  const rows = [...values.rows()]
  expect(rows).toHaveLength(MOST_LABEL_SETS + 2)
  expect(rows.filter(({ labels }) => labels[0] === 'other').map(({ value }) => value)).toEqual([250, 250])
  values.row(['x1', 'a']).value += 1
  expect(rows.reduce((sum, { value }) => sum + value, 0)).toBe(MOST_LABEL_SETS + 501)
  values.remove(([name]) => name !== 'other')
  expect([...values.rows()]).toHaveLength(2)
})

test('a duration is in each bucket that it is not above', () => {
  const histogram = new DurationHistogram()
  for (const seconds of [0.01, 0.0101, 4, 1_000]) histogram.add(seconds)
  const samples = [...histogram.samples({ a: 'b' })]
  const at = (le: string) => samples.find(sample => sample.le === le)?.value
  expect([at('0.01'), at('0.02'), at('5'), at('300'), at('+Inf')]).toEqual([1, 2, 3, 3, 4])
  expect(samples.at(-1)).toEqual({ suffix: '_count', labels: { a: 'b' }, value: 4 })
})

test('any name is a label, and the calls of many servers stay counted', async () => {
  const metrics = new HubMetrics()
  for (let server = 0; server < MOST_LABEL_SETS + 10; server += 1) metrics.call(call(server))
  const text = await metrics.text(now(3))
  expect(text).toContain('patchbay_server_up{owner="a\\"b\\\\c\\n",server="n1"} 1')
  expect(text).toContain(
    'patchbay_tool_calls_total{owner="",server="other",tool="other",status="success",outcome="ok"} 10',
  )
  expect(text).toContain('patchbay_tool_call_duration_seconds_count{owner="",server="other"} 10')
  expect(text.match(/^patchbay_tool_calls_total\{/gm)).toHaveLength(MOST_LABEL_SETS + 1)
})

test('no row of labels comes twice: owners that are gone stay distinct, and a name that is used again continues its row', async () => {
  const metrics = new HubMetrics()
  for (const ownerId of ['gone1', 'gone2', 'u']) metrics.call({ ...call(1), ownerId })
  metrics.call({ ...call(1), ownerId: 'u', serverId: 'another of this name' })
  const text = await metrics.text(now(2))
  const lines = text.split('\n').map(line => line.split(' ')[0])
  expect(new Set(lines.filter(line => line?.includes('{'))).size).toBe(lines.filter(line => line?.includes('{')).length)
  expect(text).toContain('tool_calls_total{owner="a\\"b\\\\c\\n",server="n1",tool="t",status="success",outcome="ok"} 2')
})

test('the text of 2,000 servers is written within 150 ms', async () => {
  const metrics = new HubMetrics()
  const { servers, ...rest } = now(2_000)
  for (const [at, { ownerId, name }] of servers.entries()) {
    for (const tool of ['a', 'b', 'c']) metrics.call({ ...call(at), server: name, tool, durationMs: at % 300 })
    metrics.started(ownerId, name, 300, true)
    metrics.checked(ownerId, name, true)
  }
  const children = servers.map(({ ownerId, name: server }) => ({ ownerId, server, residentBytes: 1e7, cpuSeconds: 1 }))
  let best = Number.POSITIVE_INFINITY
  let bytes = 0
  for (let round = 0; round < 5; round += 1) {
    const startedMs = performance.now()
    bytes = (await metrics.text({ ...rest, servers, children })).length
    best = Math.min(best, performance.now() - startedMs)
  }
  console.log(`2,000 servers: ${bytes} bytes in ${best.toFixed(1)} ms`)
  expect(bytes).toBeGreaterThan(5_000_000)
  expect(best).toBeLessThanOrEqual(atMost(150))
})
