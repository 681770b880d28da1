/** A save that is checked while its owner is an ordinary user, and written when the owner has become an administrator. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ServerRecord } from '../../../core/contract/records.ts'
import { openWorld, type World } from './world.ts'

let world: World
/** Called when the rights of a process are checked: after the owner is read, before the transaction. */
let whenChecked: () => void = () => {}

beforeAll(async () => {
  world = await openWorld({
    stdio() {
      whenChecked()
      return { policy: 'sandboxed', level: 'full' }
    },
  })
})

afterAll(() => world.end())

/** Does the work, and makes this user an administrator in the middle of it. */
async function promoting(name: string, work: () => Promise<ServerRecord>): Promise<ServerRecord> {
  let promoted: Promise<unknown> | undefined
  whenChecked = () => {
    promoted ??= world.registry.users.update(world.ada, name, { role: 'admin' })
  }
  const record = await work()
  whenChecked = () => {}
  await promoted
  expect((await world.registry.users.byName(world.ada, name)).role).toBe('admin')
  return record
}

async function demote(name: string): Promise<void> {
  await world.registry.users.update(world.ada, name, { role: 'user' })
}

test.each(['create', 'patch', 'replace', 'transfer'] as const)('%s', async way => {
  const { servers } = world.registry
  const body = { name: way, command: 'true' }
  const owner = way === 'transfer' ? world.cleo : world.bob
  if (way !== 'create') await servers.create(owner, body)
  const { id } = await promoting('bob', () => {
    if (way === 'create') return servers.create(world.bob, body)
    if (way === 'patch') return servers.patch(world.bob, way, { args: ['--changed'] })
    if (way === 'replace') return servers.replace(world.bob, way, { ...body, args: ['--changed'] })
    return servers.patch(world.ada, `cleo~${way}`, { owner: 'bob' })
  })
  const { ownerRole, rightsCap, ownerId } = await servers.effective(id)
  expect([ownerId, ownerRole]).toEqual([world.bob.userId, 'user'])
  expect((await servers.byId(world.ada, id))?.rightsCap).toBe('none')
  expect(rightsCap ?? 'none').toBe('none')
  await demote('bob')
})
