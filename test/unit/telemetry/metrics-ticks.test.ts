import { expect, test } from 'bun:test'
import { EventBus } from '../../../core/events/bus.ts'
import { MetricsTicks } from '../../../core/telemetry/metrics-ticks.ts'
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
  const ticks = new MetricsTicks({ wants, emit: bus.emit.bind(bus) }, 20)
  const seen: [string | null, number, number, number | null][] = []
  try {
    ticks.call({ ownerId: 'unheard', durationMs: 1, status: 'success' })
    await until(() => asked > 0)
    bus.on('metrics.tick', ({ ownerId, data }) => seen.push([ownerId, data.calls, data.errors, data.avgMs]))
    ticks.call({ ownerId: 'ann', durationMs: 10, status: 'success' })
    ticks.call({ ownerId: 'ann', durationMs: 20, status: 'error' })
    ticks.call({ ownerId: 'bob', durationMs: 5.5, status: 'quota_calls' })
    await until(() => seen.some(([ownerId, calls]) => ownerId === 'bob' && calls === 0))
    await until(() => seen.at(-1)?.[0] === null)
  } finally {
    ticks.dispose()
  }
  const of = (ownerId: string | null) => seen.filter(([id]) => id === ownerId).map(([, ...rest]) => rest)
  expect(of('ann')).toEqual([
    [2, 1, 15],
    [0, 0, null],
  ])
  expect(of('bob')).toEqual([
    [1, 1, 5.5],
    [0, 0, null],
  ])
  expect(of(null).find(([calls]) => calls > 0)).toEqual([3, 2, 11.83])
})
