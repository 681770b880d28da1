import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { UserActor } from '../../../core/contract/records.ts'
import { EventHistory } from '../../../core/http/live/event-history.ts'
import { EventIds } from '../../../core/http/live/event-ids.ts'
import { type LiveEvent, liveEvent, visibleTo } from '../../../core/http/live/live-events.ts'
import { until } from '../../support/wait.ts'

const HOUR_MS = 3_600_000

function event(number: number, text: string): LiveEvent {
  const ownerId = number % 3 === 0 ? null : `user-${number % 3}`
  const name = number % 2 === 0 ? 'server.updated' : 'connection.state'
  return { id: `id-${number}`, name, topic: 'servers', number, ownerId, isPublic: number % 5 === 0, text }
}

function reader(userId: string, role: 'admin' | 'user'): UserActor {
  return { kind: 'user', userId, name: userId, role, credential: { kind: 'local' } }
}

const sizeOf = (events: readonly LiveEvent[]): number =>
  events.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)

test('after() has events in their order within the limits, and says whether any that the reader may see is missing', () => {
  const limits = { events: 8, bytes: 1_000, ageMs: HOUR_MS }
  const texts = fc.array(fc.string({ unit: 'binary', maxLength: 250 }), { maxLength: 60 })
  const readers = [undefined, reader('user-1', 'user'), reader('user-2', 'user'), reader('root', 'admin')]
  fc.assert(
    fc.property(texts, fc.nat(60), fc.constantFrom(...readers), (all, since, actor) => {
      const history = new EventHistory(limits, true)
      const added = all.map((text, index) => event(index + 1, text.toWellFormed()))
      for (const each of added) history.add(each)
      const { events: kept } = history.after(0)
      expect(kept).toEqual(added.filter(each => kept.includes(each)))
      expect(kept.length).toBeLessThanOrEqual(limits.events)
      expect(sizeOf(kept)).toBeLessThanOrEqual(limits.bytes)
      expect(added.length === 0 || kept.length > 0).toBe(true)
      const missed = added.filter(each => each.number > since && (!actor || visibleTo(each, actor)))
      const { events, complete } = history.after(since, each => !actor || visibleTo(each, actor))
      expect(events).toEqual(missed.filter(each => kept.includes(each)))
      expect(complete).toBe(events.length === missed.length)
    }),
    { numRuns: 300 },
  )
})

test('a flood of one owner’s events leaves those of others for readers that reconnect', () => {
  const history = new EventHistory({ events: 100, bytes: 100_000, ageMs: HOUR_MS }, true)
  const of = (ownerId: string, number: number) => ({ ...event(number, 'x'), ownerId, isPublic: false })
  for (let number = 1; number <= 2_000; number += 1) history.add(of(number % 100 === 0 ? 'ann' : 'eve', number))
  const seenBy = (name: string) => (each: LiveEvent) => visibleTo(each, reader(name, 'user'))
  const { events, complete } = history.after(0, seenBy('ann'))
  expect([events.length, complete]).toEqual([20, true])
  expect(history.after(0, seenBy('eve')).complete).toBe(false)
})

test('add() does not keep an event that is larger than all room', () => {
  const history = new EventHistory({ events: 8, bytes: 1_000, ageMs: HOUR_MS }, true)
  history.add(event(1, 'small'))
  history.add(event(2, 'x'.repeat(1_001)))
  expect(history.after(1).complete).toBe(false)
  expect(history.after(1).events).toEqual([])
  history.add(event(3, 'small again'))
  expect(history.after(2)).toEqual({ events: [event(3, 'small again')], complete: true })
})

test('after() leaves out what is too old', async () => {
  const history = new EventHistory({ events: 8, bytes: 1_000, ageMs: 0 }, true)
  history.add(event(1, 'old'))
  await until(() => history.after(0).events.length === 0, { what: 'the event to be too old' })
  expect(history.after(0).complete).toBe(false)
  expect(history.after(1).complete).toBe(true)
})

test('a history that is not followed from the start knows what it has only until interrupt()', () => {
  const history = new EventHistory({ events: 8, bytes: 1_000, ageMs: HOUR_MS }, false)
  expect(history.after(0)).toEqual({ events: [], complete: false })
  history.add(event(5, 'first'))
  expect(history.after(4)).toEqual({ events: [event(5, 'first')], complete: true })
  history.interrupt()
  expect(history.after(5)).toEqual({ events: [], complete: false })
})

test('visibleTo() shows an administrator outside the listed addresses no alert about others', () => {
  const names = new Map([['1', 'root']])
  const alertOf = (subject: string) => {
    const data = { rule: 'r', severity: 'critical', subject, incident: 'i' } as const
    const event = { id: 1, name: 'alert.fired', at: '2026-11-22T00:00:00Z', ownerId: '1', audience: 'owner', data }
    return liveEvent(new EventIds(), 'alerts', event as never, names)
  }
  const root = { kind: 'user', userId: '1', name: 'root', role: 'user', credential: { kind: 'local' } } as const
  const seen = (actor: object) =>
    ['root~own', 'ann~hers', 'total', 'rooty~x'].map(subject => visibleTo(alertOf(subject), actor as never))
  expect(seen({ ...root, restricted: true })).toEqual([true, false, false, false])
  expect(seen({ ...root, role: 'admin' })).toEqual([true, true, true, true])
  expect(seen({ ...root, userId: '2', name: 'ann' })).toEqual([false, false, false, false])
})
