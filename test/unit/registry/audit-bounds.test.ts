import { afterEach, beforeEach, expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { OpenAttached } from '../../../core/registry/attached.ts'
import { Audit } from '../../../core/registry/audit.ts'
import { ShareMap } from '../../../core/registry/share-map.ts'
import { createSealer } from '../../../core/secrets/seal.ts'
import { bundledTransports } from '../../support/transports.ts'
import { openWorld, type World } from './world.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const PAGE = { limit: 1_000, offset: 0 }

let world: World
let audit: Audit
let nowMs: number

beforeEach(async () => {
  world = await openWorld()
  nowMs = Date.parse('2026-06-01T00:00:00Z')
  const { store } = world
  const sealer = createSealer([new Uint8Array(32)])
  const bus = { emit: () => {} } as never
  audit = new Audit({
    ...{ store, sealer, bus, outboundAllow: [], transports: bundledTransports(), now: () => new Date(nowMs) },
    kinds: { all: () => [] },
    ...{ shares: new ShareMap(), attached: new OpenAttached() },
    stdio: () => ({ policy: 'off', level: 'none' }),
  })
})
afterEach(async () => {
  await audit.close()
  await world.end()
})

const record = (who = world.bob, action = 'server.update') =>
  audit.record(who, { action, target: 'bob~x', ownerId: who.userId })

test('one user writes a limited number of rows in an hour; more are counted in one row, and others are not affected', async () => {
  for (let n = 0; n < LIMITS.auditRowsPerHour + 500; n += 1) record()
  record(world.cleo)
  await audit.flush()
  expect((await audit.list(world.ada, { ...PAGE, user: 'bob' })).total).toBe(LIMITS.auditRowsPerHour)
  expect((await audit.list(world.ada, { ...PAGE, user: 'cleo' })).total).toBe(1)
  nowMs += HOUR_MS
  await audit.trim()
  const { items } = await audit.list(world.ada, { ...PAGE, action: 'audit.skipped' })
  expect(items).toMatchObject([{ user: 'bob', detail: { skipped: 500, since: '2026-06-01T00:00:00.000Z' } }])
  record()
  await audit.flush()
  expect((await audit.list(world.ada, { ...PAGE, user: 'bob' })).total).toBe(LIMITS.auditRowsPerHour + 2)
}, 120_000)

test('a user keeps the newest rows, the hub’s own rows count for their owner, and nobody loses another’s', async () => {
  const row = (n: number, user: string | null, owner: string) => ({
    ...{ at: new Date(nowMs).toISOString(), user_id: user, user_name: 'x', action: `a${n}`, owner_id: owner },
    ...{ target: 't', request_id: null, detail: '{}' },
  })
  const { db } = world.store
  const bob = world.bob.userId
  const all = Array.from({ length: LIMITS.auditRowsKept + 700 }, (_, n) => n)
  for (let at = 0; at < all.length; at += 1_000) {
    const some = all.slice(at, at + 1_000)
    await db
      .insertInto('audit')
      .values(some.map(n => row(n, bob, `owner-${n % 3}`)))
      .execute()
    await db
      .insertInto('audit')
      .values(some.map(n => row(n, null, bob)))
      .execute()
  }
  record(world.cleo)
  expect(await audit.trim()).toBe(1_400)
  const { total } = await audit.list(world.ada, PAGE)
  expect(total).toBe(2 * LIMITS.auditRowsKept + 1)
  expect((await audit.list(world.ada, { ...PAGE, action: 'a699' })).total).toBe(0)
  expect((await audit.list(world.ada, { ...PAGE, action: 'a700' })).total).toBe(2)
}, 120_000)

test('rows that are too old go, and details that are too long give way to their size', async () => {
  record()
  audit.record(world.bob, {
    action: 'long',
    target: 'x'.repeat(5_000),
    ownerId: null,
    detail: { fields: ['y'.repeat(9_000)] },
  })
  await audit.flush()
  const [long] = (await audit.list(world.ada, { ...PAGE, action: 'long' })).items
  expect(JSON.stringify(long).length).toBeLessThan(1_000)
  expect(long?.detail).toMatchObject({ members: ['fields'] })
  nowMs += LIMITS.auditMs - DAY_MS
  expect(await audit.trim()).toBe(0)
  nowMs += 2 * DAY_MS
  expect(await audit.trim()).toBe(2)
})
