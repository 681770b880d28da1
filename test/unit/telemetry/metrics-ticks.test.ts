import { expect, test } from 'bun:test'
import { EventBus } from '../../../core/events/bus.ts'
import { CallRing } from '../../../core/telemetry/calls/call-ring.ts'
import { MetricsTicks } from '../../../core/telemetry/calls/metrics-ticks.ts'
import { until } from '../../support/wait.ts'

test('each owner that was called has a tick, one more with zeros, and all together have one', async () => {
  const bus = new EventBus(error => {
    throw error
  })
  let asked = 0
  const wants: EventBus['wants'] = name => {
    asked += 1
    return bus.wants(name)
  }
  let now = 0
  const ring = new CallRing(() => now, 20)
  const ticks = new MetricsTicks({ wants, emit: bus.emit.bind(bus) }, ring)
  const seen: [string | null, number, number, number | null][] = []
  try {
    const names = { serverId: 's', server: 'time', tool: 'now', outcome: 'ok' as const }
    const own = (userId: string) => ({ ...names, ownerId: userId, userId })
    ring.add({ ...own('unheard'), durationMs: 1 })
    now = 20
    await until(() => asked > 0)
    bus.on('metrics.tick', ({ ownerId, data }) => seen.push([ownerId, data.calls, data.errors, data.avgMs]))
    ring.add({ ...own('ann'), durationMs: 10 })
    ring.add({ ...own('ann'), durationMs: 20, outcome: 'tool_error' })
    // A call of a server of ann's, and one without a server.
    ring.add({ ...own('ann'), userId: 'bob', durationMs: 30 })
    ring.add({ ...own('bob'), serverId: '', durationMs: 500, outcome: 'refused' })
    now = 40
    await until(() => seen.some(([ownerId, calls]) => ownerId === null && calls > 0))
    now = 60
    await until(() => seen.some(([ownerId, calls]) => ownerId === 'bob' && calls === 0))
    await until(() => seen.at(-1)?.[0] === null)
  } finally {
    ticks.dispose()
  }
  const of = (ownerId: string | null) => seen.filter(([id]) => id === ownerId).map(([, ...rest]) => rest)
  expect(of('ann')).toEqual([
    [3, 1, 20],
    [0, 0, null],
  ])
  expect(of('bob')).toEqual([
    [2, 1, 30],
    [0, 0, null],
  ])
  expect(of(null).find(([calls]) => calls > 0)).toEqual([4, 2, 20])
})
