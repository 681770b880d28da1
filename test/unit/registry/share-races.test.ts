/** Shares that end, and things that get another owner, while somebody still writes with the rights of before. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { UserActor } from '../../../core/contract/records.ts'
import { openWorld, refusal, type World } from './world.ts'

let world: World

beforeEach(async () => {
  world = await openWorld()
  const { registry, bob, cleo } = world
  await registry.servers.create(bob, { name: 'notes', url: 'https://a.example/mcp' })
  await registry.servers.create(cleo, { name: 'own', url: 'https://a.example/mcp' })
  await registry.servers.create(bob, { name: 'open', url: 'https://a.example/mcp', visibility: 'public' })
  await registry.groups.create(bob, { name: 'daily', members: ['notes'] })
  for (const [kind, name] of [
    ['server', 'notes'],
    ['group', 'daily'],
  ] as const)
    await registry.shares.put(bob, kind, name, { subject: 'user:cleo', role: 'change' })
})
afterEach(() => world.end())

/** Changes by a colleague, each of which reads the thing first. */
const EDITS: Readonly<Record<string, readonly ['server' | 'group', (by: UserActor) => Promise<unknown>]>> = {
  'patch of a server': ['server', by => world.registry.servers.patch(by, 'bob~notes', { description: 'late' })],
  'replacement of a server': [
    'server',
    by => world.registry.servers.replace(by, 'bob~notes', { name: 'notes', url: 'https://b.example/mcp' }),
  ],
  'stop of a server': ['server', by => world.registry.servers.setEnabled(by, 'bob~notes', false)],
  'patch of a group': ['group', by => world.registry.groups.patch(by, 'bob~daily', { description: 'late' })],
  'replacement of a group': [
    'group',
    by => world.registry.groups.replace(by, 'bob~daily', { name: 'daily', members: ['bob~open'] }),
  ],
  'member of a group': ['group', by => world.registry.groups.putMember(by, 'bob~daily', 'bob~open', {})],
  'member taken out of a group': ['group', by => world.registry.groups.removeMember(by, 'bob~daily', 'bob~notes')],
}

/** Starts the work, and does the other thing once the work has checked its rights and begins to write. */
async function overtaken<T>(work: () => Promise<T>, other: () => Promise<unknown>): Promise<T> {
  const { db } = world.store
  const { transaction } = db
  const begun = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  const waiting = (builder: ReturnType<typeof transaction>) =>
    Object.assign(Object.create(builder), {
      setIsolationLevel: (level: 'serializable') => waiting(builder.setIsolationLevel(level)),
      async execute(change: Parameters<typeof builder.execute>[0]) {
        begun.resolve()
        await over.promise
        return builder.execute(change)
      },
    })
  db.transaction = () => {
    db.transaction = transaction
    return waiting(transaction.call(db))
  }
  const done = work()
  await Promise.race([begun.promise, done])
  await other()
  over.resolve()
  return done
}

describe('a change that is on its way when the share of its author ends', () => {
  test.each(Object.entries(EDITS))('is not saved: %s', async (_name, [kind, edit]) => {
    const { registry, bob, cleo } = world
    const name = kind === 'server' ? 'notes' : 'daily'
    const stored = () => (kind === 'server' ? registry.servers : registry.groups).resolve(bob, name, 'owner')
    const before = await stored()
    const late = overtaken(
      () => refusal(edit(cleo)),
      () => registry.shares.remove(bob, kind, name, 'user:cleo'),
    )
    expect((await late).code).toBe(`${kind}_not_found`)
    expect(await stored()).toEqual(before)
  })

  test.each(Object.entries(EDITS))('is refused by the smaller role: %s', async (_name, [kind, edit]) => {
    const { registry, bob, cleo } = world
    const name = kind === 'server' ? 'notes' : 'daily'
    const late = overtaken(
      () => refusal(edit(cleo)),
      () => registry.shares.put(bob, kind, name, { subject: 'user:cleo', role: 'see' }),
    )
    expect(await late).toMatchObject({ code: 'not_owner', data: { role: 'see' } })
  })
})

describe('a thing that gets another owner', () => {
  const things = (kind: 'server' | 'group') => (kind === 'server' ? world.registry.servers : world.registry.groups)

  test.each([
    ['server', 'notes'],
    ['group', 'daily'],
  ] as const)('is not shared by the former one: %s', async (kind, name) => {
    const { registry, ada, bob, cleo } = world
    await registry.users.create(ada, { name: 'dan', passwordHash: 'hash', role: 'user' })
    const late = overtaken(
      () => refusal(registry.shares.put(bob, kind, name, { subject: 'user:dan', role: 'use' })),
      () => things(kind).patch(ada, `bob~${name}`, { owner: 'cleo' }),
    )
    expect((await late).code).toBe(`${kind}_not_found`)
    expect(await registry.shares.list(cleo, kind, name)).toEqual([])
  })

  test.each([
    ['server', 'notes'],
    ['group', 'daily'],
  ] as const)('is not removed by the former one: %s', async (kind, name) => {
    const { ada, bob, cleo } = world
    const late = overtaken(
      () => refusal(things(kind).remove(bob, name)),
      () => things(kind).patch(ada, `bob~${name}`, { owner: 'cleo' }),
    )
    expect((await late).code).toBe(`${kind}_not_found`)
    expect((await things(kind).resolve(cleo, name, 'owner')).name).toBe(name)
  })

  test('given to a new owner, a shared group does not show that owner’s private servers to its users', async () => {
    const { registry, ada, bob, cleo } = world
    const dan = await registry.users.create(ada, { name: 'dan', passwordHash: 'hash', role: 'user' })
    const actor: UserActor = { kind: 'user', userId: dan.id, name: 'dan', role: 'user', credential: { kind: 'local' } }
    await registry.shares.put(cleo, 'server', 'own', { subject: 'user:bob', role: 'use' })
    await registry.groups.patch(bob, 'daily', { members: ['notes', 'cleo~own'] })
    await registry.shares.put(bob, 'group', 'daily', { subject: 'user:dan', role: 'use' })
    const lists = async () => {
      const group = await registry.groups.resolve(actor, 'daily', 'use')
      return (await registry.groups.usableMembers(actor, group)).map(({ server }) => server.name)
    }
    expect(await lists()).toEqual(['notes'])
    await registry.groups.patch(ada, 'bob~daily', { owner: 'cleo' })
    expect(await lists()).toEqual([])
  })

  test('keeps what the former one could use, and of the new one what nobody else gets by it', async () => {
    const { registry, ada, bob, cleo } = world
    await registry.servers.create(cleo, { name: 'shown', url: 'https://a.example/mcp', visibility: 'public' })
    for (const name of ['own', 'lost']) {
      if (name === 'lost') await registry.servers.create(cleo, { name, url: 'https://a.example/mcp' })
      await registry.shares.put(cleo, 'server', name, { subject: 'user:bob', role: 'use' })
    }
    const members = ['cleo~own', 'cleo~lost', 'cleo~shown']
    for (const name of ['daily', 'alone']) {
      if (name === 'alone') await registry.groups.create(bob, { name, members })
      else await registry.groups.patch(bob, name, { members })
    }
    await registry.shares.remove(cleo, 'server', 'lost', 'user:bob')
    const kept = async (name: string) => {
      await registry.groups.patch(ada, `bob~${name}`, { owner: 'cleo' })
      const group = await registry.groups.resolve(cleo, name, 'owner')
      return (await registry.groups.usableMembers(cleo, group)).map(({ server }) => server.name)
    }
    await registry.users.create(ada, { name: 'dan', passwordHash: 'hash', role: 'user' })
    await registry.shares.put(bob, 'group', 'daily', { subject: 'user:dan', role: 'use' })
    expect([await kept('daily'), await kept('alone')]).toEqual([['shown'], ['own', 'shown']])
  })
})
