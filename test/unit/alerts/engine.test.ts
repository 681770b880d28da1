/** The engine on a real store, with states that the test sets and a clock that it moves. */

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import { CHANNELS } from '../../../core/alerts/channels.ts'
import { AlertEngine } from '../../../core/alerts/engine.ts'
import { HubFacts, type HubFactsDeps } from '../../../core/alerts/hub-facts.ts'
import { acknowledge, endIncidents } from '../../../core/alerts/incidents.ts'
import { activeRule, prepareRule, RULES } from '../../../core/alerts/rules.ts'
import { testRule } from '../../../core/alerts/test-rule.ts'
import type { Upstreams } from '../../../core/connections/api.ts'
import type { ErrorCode } from '../../../core/contract/errors.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { CALL_OUTCOMES } from '../../../core/domain/log/call-outcome.ts'
import { EventBus } from '../../../core/events/bus.ts'
import type { ToolCallRecord } from '../../../core/features/call-records.ts'
import type { LogLevel } from '../../../core/features/log-records.ts'
import type { TallyKey } from '../../../core/features/log-store.ts'
import { OwnedSettings } from '../../../core/registry/owned/settings.ts'
import { CallRing } from '../../../core/telemetry/calls/call-ring.ts'
import { MetricsTicks } from '../../../core/telemetry/calls/metrics-ticks.ts'
import { CustomMetrics } from '../../../core/telemetry/custom-metrics.ts'
import { HubMetrics, type HubNow } from '../../../core/telemetry/hub-metrics.ts'
import type { SystemUsage } from '../../../core/telemetry/system-usage.ts'
import { until } from '../../support/wait.ts'
import { openWorld, type World } from '../registry/world.ts'

const S = 1_000
const RULE = { name: 'down', condition: 'server_status == offline', severity: 'critical', duration: '60s' }
/** A hub without servers. */
const NOTHING: HubNow = {
  ...{ version: '1', uptimeSeconds: 0, servers: [], tools: 0, sessions: 0, streams: 0, callsInFlight: 0 },
  ...{ eventLoopLagSeconds: 0, custom: [], alerts: { warning: 0, critical: 0 }, sinks: [], children: [] },
  ...{ spans: { sent: 0, failed: 0, dropped: 0 }, ofPlugins: [], owners: new Map() },
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }

let world: World
let hub: ReturnType<typeof startEngine>
let nowMs = 0
let state: 'online' | 'offline' | 'connecting' = 'online'
let reason: ErrorCode | undefined
let serverId = ''
let usage: Partial<SystemUsage> = {}
let dropped = 0
let custom = new CustomMetrics()
let recorded: Parameters<HubFactsDeps['onRecord']>[0] | undefined

beforeEach(async () => {
  nowMs = 1_000_000
  state = 'online'
  reason = undefined
  usage = {}
  dropped = 0
  custom = new CustomMetrics(() => nowMs)
  world = await openWorld()
  serverId = (await world.registry.servers.create(world.bob, { name: 'fake', url: 'https://a.example/' })).id
  hub = startEngine()
})
afterEach(async () => {
  await hub.engine.dispose()
  await world.end()
})

function startEngine() {
  const bus = new EventBus(error => {
    throw error
  })
  const status = () => ({ state, ...(reason ? { reason: { code: reason, message: '' } } : {}) })
  const upstreams = { status } as unknown as Pick<Upstreams, 'status'>
  const now = (): number => nowMs
  // Evaluations are made by the test alone, so that it knows when they are done.
  const facts = new HubFacts({
    ...{ registry: world.registry, upstreams, bus, now, stateChanged: () => undefined },
    usage: () => ({ ownCpu: 0, cores: 2, loadAverage: [0, 0, 0], eventLoopLagMs: 0, ...usage }),
    droppedRecords: () => dropped,
    custom,
    onRecord(counted) {
      recorded = counted
      return () => {
        recorded = undefined
      }
    },
  })
  const engine = new AlertEngine({ store: world.store, bus, log: silent, facts, now, wake: () => undefined })
  const seen: string[] = []
  bus.on('*', ({ name }) => seen.push(name))
  return { engine, facts, bus, seen }
}

async function addRule(change: JsonObject = {}, owner = world.bob): Promise<void> {
  const rules = new OwnedSettings(world.store, RULES, () => undefined)
  await rules.create(owner, undefined, prepareRule({ ...RULE, ...change }, hub.facts))
}

/** Sets the server's state after this many seconds, and evaluates the rules. */
async function after(seconds: number, next: typeof state, why?: ErrorCode): Promise<void> {
  nowMs += seconds * S
  state = next
  reason = why
  await hub.engine.evaluateAll()
}

async function incidents() {
  const rows = await world.store.db.selectFrom('alert_incident').selectAll().orderBy('starts_at').execute()
  return rows.map(row => `${row.state} ${row.reason ?? '-'}`)
}

test('rules that are written one after the other are read together', async () => {
  await hub.engine.begin()
  await addRule()
  const db = spyOn(hub.facts, 'refresh')
  for (let n = 0; n < 100; n += 1) hub.engine.rulesChanged()
  await hub.engine.evaluateAll()
  // The rules are read once for the 100 changes, and once for the awaited evaluation.
  expect(db).toHaveBeenCalledTimes(2)
})

test('it counts through failed attempts to connect, and 100 flickers are one alert', async () => {
  await addRule()
  await hub.engine.begin()
  await after(1, 'connecting', 'connection_lost')
  for (let round = 0; round < 6; round += 1) await after(10, round % 2 === 0 ? 'offline' : 'connecting')
  expect(await incidents()).toEqual(['firing -'])
  for (let round = 0; round < 100; round += 1) await after(10, round % 2 === 0 ? 'online' : 'offline')
  expect(await incidents()).toEqual(['firing -'])
  await after(10, 'online')
  for (let round = 0; round < 6; round += 1) await after(10, 'online')
  expect(await incidents()).toEqual(['resolved -'])
  expect(hub.seen).toEqual(['alert.pending', 'alert.fired', 'alert.resolved'])
})

test('a stopped or sleeping server is not offline, and neither is one that has only begun to start', async () => {
  await addRule({ duration: '0s' })
  state = 'offline'
  reason = 'stopped'
  await hub.engine.begin()
  await after(100, 'offline', 'idle')
  await after(1, 'connecting')
  await after(20, 'connecting')
  expect(await incidents()).toEqual([])
  await after(11, 'connecting')
  expect(await incidents()).toEqual(['firing -'])
})

test('the next process continues where this one was, and time between them does not count', async () => {
  await addRule()
  await hub.engine.begin()
  await after(1, 'offline')
  for (let round = 0; round < 4; round += 1) await after(10, 'offline')
  await hub.engine.dispose()
  nowMs = 5 * S
  hub = startEngine()
  await hub.engine.begin()
  // The first 30 s may belong to its start, so nothing is known yet.
  await after(25, 'offline')
  expect(hub.seen).toEqual([])
  await after(10, 'offline')
  await after(10, 'offline')
  expect(await incidents()).toEqual([])
  await after(10, 'offline')
  expect(await incidents()).toEqual(['firing -'])
})

test('a late tick counts as a gap, and a changed condition starts again', async () => {
  await addRule()
  await hub.engine.begin()
  await after(1, 'offline')
  await after(3_600, 'offline')
  expect(await incidents()).toEqual([])
  for (let round = 0; round < 6; round += 1) await after(10, 'offline')
  expect(await incidents()).toEqual(['firing -'])
  const rules = new OwnedSettings(world.store, RULES, () => undefined)
  const body = { ...RULE, condition: 'server_status == online' }
  await rules.replace(world.bob, 'down', prepareRule(body, hub.facts))
  hub.engine.rulesChanged()
  await hub.engine.evaluateAll()
  expect(await incidents()).toEqual(['resolved changed'])
})

test('an alert is repeated after the interval of its rule, and not after it was acknowledged', async () => {
  const channels = new OwnedSettings(world.store, CHANNELS, () => undefined)
  const body = { name: 'hook', type: 'webhook', enabled: true, config: {} }
  await channels.create(world.bob, undefined, () => ({ name: 'hook', body, secrets: null }))
  await addRule({ duration: '0s', repeatInterval: '60s', channels: ['hook'] })
  const deliveries = async () => {
    const rows = await world.store.db.selectFrom('alert_delivery').select('kind').execute()
    return rows.map(({ kind }) => kind).toSorted()
  }
  const minute = async () => {
    for (let round = 0; round < 6; round += 1) await after(10, 'offline')
  }
  await hub.engine.begin()
  await after(1, 'offline')
  expect(await deliveries()).toEqual(['fired'])
  // A repeat follows only a message that was sent.
  await world.store.db.updateTable('alert_delivery').set({ state: 'sent', message_id: 'm1' }).execute()
  await minute()
  expect(await deliveries()).toEqual(['fired', 'repeat'])
  const [alert] = await world.store.db.selectFrom('alert_incident').select('id').execute()
  await acknowledge(world.store, world.bob, alert?.id ?? '')
  for (let round = 0; round < 5; round += 1) await minute()
  expect(await deliveries()).toEqual(['fired', 'repeat'])
})

test('a rule that is removed ends what fires by it, and only who was notified of that is notified', async () => {
  const channels = new OwnedSettings(world.store, CHANNELS, () => undefined)
  for (const name of ['told', 'untold']) {
    const body = { name, type: 'webhook', enabled: true, config: {} }
    await channels.create(world.bob, undefined, () => ({ name, body, secrets: null }))
  }
  await addRule({ duration: '0s' })
  await hub.engine.begin()
  await after(1, 'offline')
  const { id: told } = await channels.get(world.bob, 'told')
  const sent = world.store.db.updateTable('alert_delivery').set({ state: 'sent', message_id: 'm1' })
  await sent.where('channel_id', '=', told).execute()
  const rules = new OwnedSettings(world.store, RULES, () => undefined)
  let woken: readonly string[] = []
  await rules.remove(world.bob, 'down', async (trx, { id }) => {
    woken = await endIncidents(trx, id)
  })
  expect(woken).toEqual([told])
  hub.engine.rulesChanged()
  await hub.engine.evaluateAll()
  expect(await incidents()).toEqual(['resolved rule_removed'])
  const rows = await world.store.db.selectFrom('alert_delivery').select(['channel_id', 'kind', 'state']).execute()
  expect(rows.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
    { channel_id: told, kind: 'fired', state: 'sent' },
    { channel_id: told, kind: 'resolved', state: 'waiting' },
  ])
})

test('a rule that is deleted while it is evaluated says nothing, and is no failure', async () => {
  await addRule({ duration: '0s' })
  await hub.engine.begin()
  const rules = new OwnedSettings(world.store, RULES, () => undefined)
  const { id } = await rules.get(world.bob, 'down')
  await rules.remove(world.bob, 'down', (trx, gone) => endIncidents(trx, gone.id))
  await after(1, 'offline')
  expect(hub.engine.health(id)).toEqual({ state: 'ok', failures: 0 })
  expect([await incidents(), hub.seen]).toEqual([[], []])
})

test('a server that is removed resolves, and calls are counted once a rule asks for them', async () => {
  await addRule({ duration: '0s' })
  await addRule({ name: 'errors', condition: 'error_rate[10s] > 50% and request_count[10s] > 1', duration: '0s' })
  await hub.engine.begin()
  await after(1, 'offline')
  expect(await incidents()).toEqual(['firing -'])
  const call = { at: '', requestId: '', userId: '', userName: '', ownerId: world.bob.userId, serverId, server: 'fake' }
  await after(10, 'offline')
  for (const status of ['success', 'error', 'upstream_timeout']) {
    hub.bus.emit('tool.called', world.bob.userId, {
      ...call,
      group: 'g',
      groupId: 'g',
      tool: 't',
      durationMs: 5,
      outcome: status === 'success' ? 'ok' : 'timeout',
      status,
    })
  }
  await after(1, 'offline')
  expect(await incidents()).toEqual(['firing -', 'firing -'])
  await world.registry.servers.remove(world.bob, 'fake')
  hub.bus.emit('server.removed', world.bob.userId, { serverId, name: 'fake' })
  await after(1, 'offline')
  expect(await incidents()).toEqual(['resolved removed', 'resolved removed'])
})

test('trying one rule leaves what the others count as it is', async () => {
  await addRule({ duration: '0s' })
  await addRule({ name: 'calls', condition: 'request_count[10s] > 0', duration: '0s', keepFiringFor: '0s' })
  await hub.engine.begin()
  await after(10, 'online')
  const who = { at: '', requestId: '', userId: '', userName: '', group: 'g', groupId: 'g', ownerId: world.bob.userId }
  const called = {
    ...who,
    serverId,
    server: 'fake',
    tool: 't',
    durationMs: 5,
    outcome: 'ok',
    status: 'success',
  } as const
  hub.bus.emit('tool.called', world.bob.userId, called)
  const rules = new OwnedSettings(world.store, RULES, () => undefined)
  const [down] = activeRule(await rules.get(world.bob, 'down'))
  if (!down) throw new Error('No rule')
  const deps = {
    ...{ store: world.store, facts: hub.facts, engine: hub.engine },
    ...{ outbox: { send: () => Promise.reject() }, log: { warn: () => undefined } },
  }
  expect(await testRule(deps, down, false)).toMatchObject({ rule: 'down', holds: false })
  await after(1, 'online')
  expect(await firing()).toEqual(['bob~fake'])
})

test('calls that reached no server raise the error rate of their caller, and calls of others’ servers that of all its calls', async () => {
  const rule = { condition: 'error_rate[10s] > 50%', duration: '0s', keepFiringFor: '0s' }
  await addRule({ ...rule, name: 'each', per: 'server' })
  await addRule({ ...rule, name: 'all', per: 'total' })
  await hub.engine.begin()
  await after(10, 'online')
  const call = (more: object): void =>
    hub.bus.emit('tool.called', world.bob.userId, {
      ...{ at: '', requestId: '', userId: world.bob.userId, userName: 'bob', group: 'g', groupId: 'g', durationMs: 5 },
      ...{ ownerId: world.bob.userId, serverId: '', server: '', tool: 'nothing', outcome: 'refused' },
      ...{ status: 'tool_not_found', ...more },
    })
  // These calls belong to somebody else: no rule of bob sees them.
  for (let n = 0; n < 5; n += 1) call({ userId: 'eve', userName: 'eve', ownerId: 'eve' })
  await after(1, 'online')
  expect(await firing()).toEqual([])
  const sent = { ownerId: 'eve', serverId: 'of-eve', server: 'theirs', outcome: 'upstream_error', status: 'error' }
  for (let n = 0; n < 5; n += 1) call(sent)
  await after(1, 'online')
  expect(await firing()).toEqual(['total'])
  for (let n = 0; n < 5; n += 1) call({ tool: `wrong-${n}` })
  await after(1, 'online')
  expect(await firing()).toEqual(['bob: calls that reached no server', 'total'])
})

test('calls of every outcome count the same in rules, in live ticks and in /metrics', async () => {
  await addRule({ name: 'all', condition: 'request_count > 1000', per: 'total', duration: '0s' })
  await hub.engine.begin()
  await after(60, 'online')
  const bob = world.bob.userId
  const metrics = new HubMetrics()
  const sent: object[] = []
  let slot = 0
  const ring = new CallRing(() => slot, 10)
  const ticks = new MetricsTicks({ wants: () => true, emit: (_, of, data) => void sent.push({ of, ...data }) }, ring)
  const places = [
    { ownerId: bob, serverId, server: 'fake', tool: 'own' },
    { ownerId: 'eve', serverId: 'of-eve', server: 'theirs', tool: 'other' },
    { ownerId: bob, serverId: '', server: '', tool: 'nothing' },
  ]
  for (const outcome of CALL_OUTCOMES)
    for (const place of places) {
      const call: ToolCallRecord = {
        ...{ at: '', requestId: '', userId: bob, userName: 'bob', group: 'g', groupId: 'g', durationMs: 5 },
        ...{ ...place, outcome, status: outcome === 'ok' ? 'success' : 'error' },
      }
      hub.bus.emit('tool.called', call.ownerId, call)
      metrics.call(call)
      ring.add(call)
    }
  slot = 10
  await after(1, 'online')
  const value = (metric: string) => {
    const query = { metric, selector: [], windowMs: 60_000 }
    const facts = hub.facts.values(query, 'total', { ownerId: bob })
    if ('everywhere' in facts) throw new Error(`${metric} has subjects`)
    return [...facts.subjects.keys()].map(key => facts.valueOf(key))
  }
  const all = CALL_OUTCOMES.length * places.length
  const failed = all - places.length
  expect([value('request_count'), value('error_count'), value('error_rate')]).toEqual([[all], [failed], [failed / all]])
  const each = [bob, 'eve', null]
  await until(() => sent.length >= each.length)
  ticks.dispose()
  const ofEve = { calls: CALL_OUTCOMES.length, errors: CALL_OUTCOMES.length - 1 }
  for (const of of each)
    expect(sent).toContainEqual(
      expect.objectContaining({ of, calls: all, errors: failed, ...(of === 'eve' ? ofEve : {}) }),
    )
  const text = await metrics.text(NOTHING)
  const counted = [...text.matchAll(/^patchbay_tool_calls_total\{.*outcome="(\w+)"\} (\d+)$/gm)]
  const sum = (rows: typeof counted) => rows.reduce((total, [, , count]) => total + Number(count), 0)
  expect([sum(counted), sum(counted.filter(([, outcome]) => outcome !== 'ok'))]).toEqual([all, failed])
})

test('a percentile is that of the calls of the window, told apart by tool where the rule wants it', async () => {
  await addRule({ name: 'slow', condition: 'p95_response_time > 100ms', per: 'tool', duration: '0s' })
  await hub.engine.begin()
  const call = (tool: string, durationMs: number): void => {
    const who = { at: '', requestId: '', userId: '', userName: '', group: '', groupId: 'g', ownerId: world.bob.userId }
    hub.bus.emit('tool.called', world.bob.userId, {
      ...who,
      serverId,
      server: 'fake',
      tool,
      durationMs,
      outcome: 'ok',
      status: 'success',
    })
  }
  await after(10, 'online')
  await after(70, 'online')
  // 6 % of the calls of one tool are slow, 4 % of those of the other.
  for (let n = 0; n < 100; n += 1) {
    call('six', n < 6 ? 500 : 5)
    call('four', n < 4 ? 500 : 5)
  }
  await after(10, 'online')
  expect(await firing()).toEqual(['bob~fake six'])
  for (let n = 0; n < 2_000; n += 1) call('six', 5)
  for (let round = 0; round < 12; round += 1) await after(10, 'online')
  expect(await incidents()).toEqual(['resolved -'])
})

test('rules about the machine wait for their window, and hold for the whole hub', async () => {
  usage = { cpu: 0.2, memory: { used: 50, total: 100 }, eventLoopLagMs: 3 }
  await addRule({ name: 'busy', condition: 'cpu_usage[1m] > 80%', duration: '0s' })
  await addRule({ name: 'full', condition: 'memory_usage > 90%', duration: '0s' })
  await addRule({ name: 'stuck', condition: 'event_loop_lag[1m] > 200ms', duration: '0s' })
  const lost = { condition: 'dropped_records[1m] > 5', duration: '0s' }
  await addRule({ name: 'lost', ...lost }, world.ada)
  // This one is about all users' records: the rule of an ordinary user never has data.
  await addRule({ name: 'lost of others', ...lost })
  await expect(addRule({ name: 'disk', condition: 'disk_usage > 90%' })).rejects.toThrow('disk_usage')
  await hub.engine.begin()
  usage = { ...usage, cpu: 1 }
  for (let round = 0; round < 5; round += 1) await after(10, 'online')
  expect(await firing()).toEqual([])
  for (let round = 0; round < 5; round += 1) await after(10, 'online')
  expect(await firing()).toEqual(['total'])
  usage = { cpu: 0.1, memory: { used: 95, total: 100 }, eventLoopLagMs: 300 }
  dropped = 6
  for (let round = 0; round < 12; round += 1) await after(10, 'online')
  const rows = await world.store.db.selectFrom('alert_incident').select(['rule', 'state', 'value']).execute()
  expect(rows.map(({ rule, state: now, value }) => `${rule} ${now} ${value}`).sort()).toEqual([
    expect.stringMatching(/^busy resolved /),
    'full firing 0.95',
    expect.stringMatching(/^lost (firing|resolved) /),
    'stuck firing 300',
  ])
})

test('a rule about numbers of the users’ own sees those of its owner alone', async () => {
  await addRule({ name: 'orders', condition: 'custom.orders[5m] > 10', duration: '0s' })
  await addRule({ name: 'depth', condition: 'custom.depth > 3', duration: '0s' })
  await hub.engine.begin()
  const report = (owner: string, name: string, kind: 'counter' | 'gauge', value: number): void =>
    custom.add(owner, [{ name, kind, value, labels: {} }])
  report('somebody', 'orders', 'counter', 100)
  report(world.bob.userId, 'orders', 'counter', 6)
  report(world.bob.userId, 'depth', 'gauge', 9)
  report(world.bob.userId, 'depth', 'gauge', 2)
  await after(10, 'online')
  expect(await firing()).toEqual([])
  report(world.bob.userId, 'orders', 'counter', 5)
  report(world.bob.userId, 'depth', 'gauge', 4)
  await after(10, 'online')
  expect(await firing()).toEqual(['total', 'total'])
})

test('records are counted by server, level and code once a rule asks for them, and not beyond its window', async () => {
  const record = (id: string, level: LogLevel, code = ''): void => recorded?.({ serverId: id, level, code } as TallyKey)
  expect(recorded).toBeUndefined()
  await addRule({ name: 'errors', condition: 'log_count{level="error"}[1m] >= 2', duration: '0s' })
  await addRule({ name: 'lost', condition: 'log_count{code="connection_lost", server="fake"} > 0', duration: '0s' })
  await addRule({ name: 'hub', condition: 'log_count{level!="INFO"} > 0', duration: '0s', per: 'total' })
  await hub.engine.begin()
  for (const level of ['ERROR', 'ERROR', 'INFO'] as const) record(serverId, level)
  await after(30, 'online')
  // Until the window is full there is no data.
  expect(await firing()).toEqual([])
  await after(60, 'online')
  expect(await firing()).toEqual([])
  for (const level of ['ERROR', 'INFO', 'WARN'] as const) record(serverId, level)
  // Records of the hub itself are for administrators, and bob is not one.
  record('', 'ERROR')
  record('another', 'ERROR', 'connection_lost')
  await after(10, 'online')
  expect(await firing()).toEqual(['total'])
  record(serverId, 'ERROR', 'connection_lost')
  await after(10, 'online')
  expect(await firing()).toEqual(['bob~fake', 'bob~fake', 'total'])
  await world.store.db.deleteFrom('owned_setting').execute()
  hub.engine.rulesChanged()
  await after(10, 'online')
  expect(recorded).toBeUndefined()
})

async function firing(): Promise<string[]> {
  const rows = await world.store.db.selectFrom('alert_incident').selectAll().where('state', '=', 'firing').execute()
  return rows.map(({ subject }) => subject).sort()
}
