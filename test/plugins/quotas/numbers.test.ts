/** Numbers of the meters and of the use: around midnight, after a write that failed, and of calls that were not sent. */
import { afterAll, afterEach, beforeAll, expect, setSystemTime, test } from 'bun:test'
import type { PluginTables } from '../../../core/contract/tables.ts'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import { Meter } from '../../../plugins/quotas/meter.ts'
import { Plans } from '../../../plugins/quotas/plans.ts'
import { first, type QuotaTables } from '../../../plugins/quotas/tables.ts'
import { Usage } from '../../../plugins/quotas/usage.ts'
import { openWorld, type World } from '../../unit/registry/world.ts'

const DAY_MS = 86_400_000
const MIDNIGHT_MS = Date.UTC(2026, 10, 30)
const NEAR = 0.8
const ONE = { calls: 1, failures: 0, tokens: 1 }
/** Nobody has called today. */
const NO_USE = { today: () => ({ calls: 0, tokens: 0 }) }
const BEFORE = { day: '2026-11-29', calls: 0, tokens: 0 }

let world: World
let tables: PluginTables<QuotaTables>

beforeAll(async () => {
  world = await openWorld()
  await migrateOwn('quotas', { '0001-quotas': first }, world.store)
  tables = ownTables<QuotaTables>('quotas', world.store)
})
afterAll(() => world.end())
afterEach(() => void setSystemTime())

/** The tables while the disk takes nothing. */
const failing = (): PluginTables<QuotaTables> => ({
  ...tables,
  write: () => Promise.reject(new Error('the disk is full')),
})
/** Tables whose writes fail until `letWrite` is called. */
function failingAtFirst() {
  let present = failing()
  const both: PluginTables<QuotaTables> = { read: work => tables.read(work), write: work => present.write(work) }
  return {
    both,
    letWrite: () => {
      present = tables
    },
  }
}
const quotaOf = (userId: string) => ({
  ...({ id: `user:${userId}`, kind: 'user', user_id: userId, server_id: null, group_id: null } as const),
})

test('a call of yesterday that was not sent takes nothing from the numbers of today', () => {
  const meter = new Meter(BEFORE)
  meter.begin(MIDNIGHT_MS - 1_000)
  meter.begin(MIDNIGHT_MS + 1_000)
  meter.end(MIDNIGHT_MS - 1_000, MIDNIGHT_MS + 2_000, false)
  expect(meter.used(MIDNIGHT_MS + 2_000)).toMatchObject({ perMinute: 1, perDay: 1, atOnce: 1 })
})

test('a call that was not sent, and began a minute ago, takes nothing from the second that counts in its place', () => {
  const meter = new Meter(BEFORE)
  const beganMs = MIDNIGHT_MS - 200_000
  meter.begin(beganMs)
  meter.begin(beganMs + 60_000)
  meter.end(beganMs, beganMs + 60_000, false)
  expect(meter.used(beganMs + 60_000)).toMatchObject({ perMinute: 1, perDay: 1 })
})

test('a clock that is set back keeps the numbers of the later day, and a new day begins with none', () => {
  const meter = new Meter({ day: '2026-11-30', calls: 5, tokens: 7 })
  expect(meter.used(MIDNIGHT_MS - 1_000)).toMatchObject({ perDay: 5, resultTokensPerDay: 7 })
  meter.noticed.add('perDay')
  expect([meter.used(MIDNIGHT_MS + DAY_MS - 1_000).perDay, meter.noticed.size]).toEqual([5, 1])
  // Its owner is notified again when the quota of this day is nearly used up.
  expect([meter.used(MIDNIGHT_MS + DAY_MS).perDay, meter.noticed.size]).toEqual([0, 0])
})

test('numbers that could not be written are written later', async () => {
  const { userId } = world.bob
  const { both, letWrite } = failingAtFirst()
  const [plans, usage] = [new Plans(both, { users: { perDay: 9 }, near: NEAR }, NO_USE), new Usage(both, 10)]
  plans.ofUser(userId)?.meter.begin(Date.now())
  usage.count({ user_id: userId, key_id: '', server_id: 's', tool: 't' }, { calls: 1, failures: 1, tokens: 3 })
  for (const part of [plans, usage]) expect(await part.write().catch((error: Error) => error.message)).toMatch('disk')
  letWrite()
  await Promise.all([plans.write(), usage.write()])
  const [counter, used] = await tables.read(async db => [
    await db.selectFrom('counter').selectAll().where('id', '=', `user:${userId}`).executeTakeFirst(),
    await db.selectFrom('usage').selectAll().where('user_id', '=', userId).executeTakeFirst(),
  ])
  expect([counter?.calls, used?.calls, used?.failures, used?.result_tokens]).toEqual([1, 1, 1, 3])
})

test('a user who gets a quota in place of the one that all have keeps its calls in flight and of the minute', async () => {
  const { userId } = world.cleo
  const plans = new Plans(tables, { users: { atOnce: 2 }, near: NEAR }, NO_USE)
  plans.ofUser(userId)?.meter.begin(Date.now())
  await plans.set(quotaOf(userId), { atOnce: 1 }, { calls: 1, tokens: 0 })
  expect(plans.get(`user:${userId}`)?.meter.used(Date.now())).toMatchObject({ atOnce: 1, perMinute: 1, perDay: 1 })
  await plans.set(quotaOf(userId), null, { calls: 0, tokens: 0 })
})

test('use of the day before is written under its day, and of more places than a user may have, the rest is summed', async () => {
  const { userId: user_id } = world.ada
  setSystemTime(MIDNIGHT_MS - 10_000)
  const usage = new Usage(tables, 3)
  await usage.load()
  const count = (tool: string) => usage.count({ user_id, key_id: 'k', server_id: 's', tool }, ONE)
  for (const tool of ['a', 'b', 'c', 'd', 'a']) count(tool)
  setSystemTime(MIDNIGHT_MS + 10_000)
  count('a')
  await usage.write()
  const rows = await tables.read(db =>
    db.selectFrom('usage').selectAll().where('user_id', '=', user_id).orderBy('day').orderBy('tool').execute(),
  )
  expect(rows.map(({ day, key_id, tool, calls }) => [day, key_id, tool, calls])).toEqual([
    ['2026-11-29', '', '', 2],
    ['2026-11-29', 'k', 'a', 2],
    ['2026-11-29', 'k', 'b', 1],
    ['2026-11-30', 'k', 'a', 1],
  ])
})

test('the meter of a call that lasts over midnight is kept, so that the call ends in it', async () => {
  const { userId } = world.cleo
  setSystemTime(MIDNIGHT_MS - 10_000)
  const plans = new Plans(tables, { users: { atOnce: 1 }, near: NEAR }, NO_USE)
  const meter = plans.ofUser(userId)?.meter
  meter?.begin(Date.now())
  setSystemTime(MIDNIGHT_MS + 3_600_000)
  await plans.prune()
  expect(plans.ofUser(userId)?.meter).toBe(meter as Meter)
})
