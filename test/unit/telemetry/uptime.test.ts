import { expect, test } from 'bun:test'
import { EventBus } from '../../../core/events/bus.ts'
import { Uptime } from '../../../core/telemetry/uptime.ts'

const HOUR = 3_600_000

function watched() {
  const bus = new EventBus(error => {
    throw error
  })
  let nowMs = Date.UTC(2026, 10, 22, 9, 30)
  const uptime = new Uptime(bus, () => nowMs)
  const state = (to: 'online' | 'connecting' | 'offline', code?: 'stopped' | 'crash_loop'): void => {
    const reason = code ? { reason: { code, message: '' } } : {}
    bus.emit('connection.state', 'u1', { serverId: 's1', name: 'time', state: to, attempts: 0, ...reason })
  }
  return {
    ...{ bus, uptime, state },
    wait(ms: number) {
      nowMs += ms
    },
  }
}

test('the time offline by fault and the time of attempts count, a stop does not', () => {
  const { uptime, state, wait } = watched()
  expect(uptime.ratio('s1')).toBeUndefined()
  state('online')
  wait(3 * HOUR)
  expect(uptime.ratio('s1')).toBe(1)
  state('offline', 'crash_loop')
  wait(HOUR / 2)
  state('connecting')
  wait(HOUR / 2)
  expect(uptime.ratio('s1')).toBe(0.75)
  state('offline', 'stopped')
  wait(5 * HOUR)
  expect(uptime.ratio('s1')).toBe(0.75)
})

test('only the last day counts, also when nothing happens for days or the clock goes back', () => {
  const { uptime, state, wait, bus } = watched()
  state('offline', 'crash_loop')
  wait(20 * HOUR)
  state('online')
  wait(12 * HOUR)
  // The ratio covers the last 24 hours of the clock.
  expect(uptime.ratio('s1')).toBeCloseTo(0.5, 1)
  wait(100 * HOUR)
  expect(uptime.ratio('s1')).toBe(1)
  wait(-2 * HOUR)
  state('offline', 'crash_loop')
  expect(uptime.ratio('s1')).toBeGreaterThan(0.9)
  bus.emit('server.removed', 'u1', { serverId: 's1', name: 'time' })
  expect(uptime.ratio('s1')).toBeUndefined()
})
