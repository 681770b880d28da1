/** Limits of one user's alerts, so that the alerts of others are unaffected. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { CallWindows } from '../../../core/alerts/call-windows.ts'
import { pruneIncidents } from '../../../core/alerts/incident-retention.ts'
import { SubjectShares } from '../../../core/alerts/subject-shares.ts'
import { LIMITS } from '../../../core/config/limits.ts'
import { openWorld, type World } from '../registry/world.ts'

let world: World

beforeEach(async () => {
  world = await openWorld()
})
afterEach(async () => {
  await world.end()
})

async function addIncidents(ownerId: string, count: number, startsAt: string): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const rows = Array.from({ length: Math.min(500, count - from) }, () => ({
      ...{
        id: crypto.randomUUID(),
        owner_id: ownerId,
        rule_id: 'r',
        rule: 'r',
        severity: 'warning' as const,
        condition: 'c',
      },
      ...{ threshold: null, subject: 's', server: null, tool: null, state: 'resolved' as const, value: 'null' },
      ...{ flapping: 0, starts_at: startsAt, ends_at: startsAt, reason: null, acked_by: null, acked_at: null },
    }))
    await world.store.db.insertInto('alert_incident').values(rows).execute()
  }
}

test('too many alerts of one user make no room among those of another, and old ones go', async () => {
  const [bob, cleo] = [world.bob.userId, world.cleo.userId]
  await addIncidents(cleo, 3, '2026-01-02T00:00:00.000Z')
  await addIncidents(cleo, 2, '2020-01-02T00:00:00.000Z')
  await addIncidents(bob, LIMITS.alertsKept + 250, '2026-01-03T00:00:00.000Z')
  await pruneIncidents(world.store, new Date('2026-01-04T00:00:00.000Z'))
  const rows = await world.store.db
    .selectFrom('alert_incident')
    .select(['owner_id', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy('owner_id')
    .execute()
  expect(new Map(rows.map(({ owner_id, count }) => [owner_id, Number(count)]))).toEqual(
    new Map([
      [cleo, 3],
      [bob, LIMITS.alertsKept],
    ]),
  )
}, 60_000)

test('all rules of a user evaluate a number of subjects together, and one that ends leaves its part to the others', () => {
  const shares = new SubjectShares()
  const rule = (id: string, role: 'user' | 'admin' = 'user') => ({ id, owner: { id: role, name: role, role } }) as never
  const most = LIMITS.alertInstancesPerRule
  const whole = LIMITS.alertInstancesPerUser / most
  for (let index = 0; index < whole; index += 1) {
    expect(shares.most(rule(`r${index}`))).toBe(most)
    shares.note(rule(`r${index}`), most)
  }
  expect(shares.most(rule('r0'))).toBe(most)
  expect(shares.most(rule('late'))).toBe(0)
  expect(shares.most(rule('other', 'admin'))).toBe(most)
  shares.note(rule('r0'), 100)
  expect(shares.most(rule('late'))).toBe(most - 100)
  shares.forget(rule('r0'))
  expect(shares.most(rule('late'))).toBe(most)
})

test('calls of one tool are those within the window, whatever others have', () => {
  const calls = new CallWindows()
  for (let second = 0; second < 120; second += 10) {
    for (const tool of ['a', 'b'])
      calls.add({ id: 's', ownerId: 'o' }, tool, { failed: tool === 'b', durationMs: second }, second * 1_000)
  }
  const nowMs = 115_000
  expect(calls.counts('s', 'a', 30_000, nowMs)).toMatchObject({ calls: 3, errors: 0, totalMs: 90 + 100 + 110 })
  expect(calls.counts('s', name => name === 'b', 30_000, nowMs)).toMatchObject({ calls: 3, errors: 3 })
  expect(calls.counts('s', () => true, 60_000, nowMs)).toMatchObject({ calls: 12, errors: 6 })
  expect(calls.counts('s', 'missing', 60_000, nowMs)).toMatchObject({ calls: 0 })
  expect(calls.counts('missing', 'a', 60_000, nowMs)).toMatchObject({ calls: 0 })
})

test('tools of one owner without end take no place of another’s, and are let go when they are over', () => {
  const calls = new CallWindows(1_000)
  const call = { failed: false, durationMs: 1 }
  const loud = { id: 'loud', ownerId: 'ann' }
  const quiet = { id: 'quiet', ownerId: 'ben' }
  for (let index = 0; index < 2_000; index += 1) calls.add(loud, `t${index}`, call, 0)
  expect(calls.tools('loud')).toHaveLength(1_001)
  expect(calls.counts('loud', 'other', 60_000, 0).calls).toBe(1_000)
  for (let index = 0; index < 600; index += 1) calls.add(quiet, `t${index}`, call, 0)
  // A half is its share.
  expect(calls.counts('quiet', 't499', 60_000, 0).calls).toBe(1)
  expect(calls.counts('quiet', 't500', 60_000, 0).calls).toBe(0)
  expect(calls.counts('quiet', 'other', 60_000, 0).calls).toBe(100)
  const later = 2 * 60 * 60_000
  calls.prune(later, () => true)
  for (let index = 0; index < 900; index += 1) calls.add(quiet, `t${index}`, call, later)
  expect(calls.counts('quiet', 't899', 60_000, later).calls).toBe(1)
  // A server that passes on takes its slots along.
  calls.add({ ...quiet, ownerId: 'ann' }, 't0', call, later)
  for (let index = 0; index < 200; index += 1) calls.add({ id: 'new', ownerId: 'ann' }, `t${index}`, call, later)
  expect(calls.counts('new', 'other', 60_000, later).calls).toBe(100)
})
