import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { reviewHash } from '../../../core/registry/servers/held-rights.ts'
import { actor, openBareWorld, openWorld, refusal, setUp, type World, wrongFields } from './world.ts'

const remote = (name: string, more: object = {}) => ({ name, url: 'https://mcp.example/mcp', ...more })

describe('set-up', () => {
  test('fills in the user that owns the plain entries of the file from the first start', async () => {
    const world = await openBareWorld()
    const { registry, mirror } = world
    const state = {
      users: [],
      groups: [],
      servers: [{ name: 'time', body: { name: 'time', url: 'https://a.example/' } }],
    }
    await mirror.apply(state)
    const hub = { kind: 'system', purpose: 'test' } as const
    const before = await registry.servers.resolve(hub, 'time', 'use')
    expect(before.ownerName).toBe('#1')
    expect((await registry.servers.resolve(hub, '#1~time', 'use')).id).toBe(before.id)
    expect(await registry.users.needsSetup()).toBe(true)

    const ada = await setUp(registry)
    expect(await registry.users.byId(ada.userId)).toMatchObject({ number: 1, role: 'admin', name: 'ada' })
    expect(await registry.servers.resolve(ada, 'time', 'change')).toMatchObject({ id: before.id, ownerId: ada.userId })
    expect(await registry.users.needsSetup()).toBe(false)
    expect((await refusal(registry.users.completeSetup('eve', 'x'))).code).toBe('route_not_found')
    expect((await mirror.apply(state)).applied).toEqual([])
    await world.end()
  })

  test('is done once when two try at the same time', async () => {
    const world = await openBareWorld()
    const tries = ['ada', 'eve'].map(name => world.registry.users.completeSetup(name, 'hash'))
    const outcomes = await Promise.allSettled(tries)
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await world.end()
  })
})

describe('users', () => {
  let world: World
  beforeEach(async () => {
    world = await openWorld()
  })
  afterEach(() => world.end())
  const users = () => world.registry.users

  test('are made and listed by administrators alone', async () => {
    const input = { name: 'dora', passwordHash: 'h', role: 'user' } as const
    expect((await refusal(users().create(world.bob, input))).code).toBe('admin_only')
    expect((await refusal(users().create(world.ada, { ...input, name: 'BOB' }))).code).toBe('username_taken')
    expect(await wrongFields(users().create(world.ada, { ...input, name: 'bob ' }))).toEqual(['name_invalid #/name'])
    expect((await users().list(world.ada, {})).map(({ name }) => name)).toEqual(['ada', 'bob', 'cleo'])
    expect((await refusal(users().list(world.bob, {}))).code).toBe('admin_only')
    expect((await refusal(users().byName(world.bob, 'cleo'))).code).toBe('user_not_found')
    expect((await users().byName(world.bob, 'Bob')).id).toBe(world.bob.userId)
  })

  test('numbers are never given twice', async () => {
    const make = (name: string) => users().create(world.ada, { name, passwordHash: 'h', role: 'user' })
    const numbers = [(await make('d')).number]
    await users().remove(world.ada, 'd', {})
    numbers.push((await make('e')).number)
    await users().remove(world.ada, 'e', {})
    await users().remove(world.ada, 'cleo', {})
    numbers.push((await make('f')).number)
    expect(new Set(numbers).size).toBe(3)
  })

  test('a change that narrows rights or sets the password ends sessions', async () => {
    const epoch = async () => (await users().byId(world.bob.userId))?.tokenEpoch
    const before = (await epoch()) ?? 0
    await users().update(world.ada, 'bob', { role: 'admin' })
    await users().update(world.ada, 'bob', { name: 'bobby' })
    expect(await epoch()).toBe(before)
    await users().update(world.ada, 'bobby', { role: 'user' })
    await users().update(world.ada, 'bobby', { disabled: true })
    await users().update(world.ada, 'bobby', { passwordHash: 'new', mustChangePassword: true })
    await users().setPassword(world.bob.userId, 'newer')
    expect(await epoch()).toBe(before + 4)
    await users().setPassword(world.bob.userId, `$2b$14$${'a'.repeat(53)}`)
    expect(await users().hasImportedHashes()).toBe(true)
    await users().rehash(world.bob.userId, 'argon', { mustChange: true })
    expect(await users().hasImportedHashes()).toBe(false)
    expect((await users().byId(world.bob.userId))?.mustChangePassword).toBe(true)
    expect(await epoch()).toBe(before + 5)
    expect((await users().credentials('BOBBY'))?.passwordHash).toBe('argon')
    expect((await refusal(users().update(world.bob, 'bobby', { role: 'admin' }))).code).toBe('field_forbidden')
  })

  test('the last administrator stays one', async () => {
    const attempts = [
      () => users().update(world.ada, 'ada', { role: 'user' }),
      () => users().update(world.ada, 'ada', { disabled: true }),
      () => users().remove(world.ada, 'ada', { cascade: true }),
    ]
    for (const attempt of attempts) expect((await refusal(attempt())).code).toBe('last_admin')
    await users().update(world.ada, 'bob', { role: 'admin' })
    await users().update(world.ada, 'ada', { role: 'user' })
    const bob = actor(world.bob.userId, 'bob', 'admin')
    expect((await refusal(users().update(bob, 'bob', { role: 'user' }))).code).toBe('last_admin')
  })

  test('an owner of things goes only with an heir or with them', async () => {
    const { servers, groups, keys } = world.registry
    const made = await servers.create(world.bob, remote('s', { headers: { Authorization: 'Bearer 0123456789' } }))
    await groups.create(world.bob, { name: 'g', members: ['s'] })
    await keys.create(world.bob, { label: 'k', scopes: ['mcp'] })
    expect((await refusal(users().remove(world.ada, 'bob', {}))).code).toBe('user_owns_resources')
    expect(await wrongFields(users().remove(world.ada, 'bob', { transferTo: 'bob' }))).toEqual(['enum ?transferTo'])
    await servers.create(world.cleo, remote('S'))
    expect((await refusal(users().remove(world.ada, 'bob', { transferTo: 'cleo' }))).code).toBe('server_name_taken')

    world.events.length = 0
    await users().remove(world.ada, 'bob', { transferTo: 'ada' })
    const moved = await servers.resolve(world.ada, 's', 'change')
    expect(moved).toMatchObject({
      id: made.id,
      ownerName: 'ada',
      enabled: false,
      awaitsReview: true,
      rightsCap: 'none',
    })
    const { settings, ownerRole } = await servers.effective(made.id)
    expect([settings.config.headers, ownerRole]).toEqual([{ Authorization: 'Bearer 0123456789' }, 'user'])
    expect((await groups.resolve(world.ada, 'g', 'change')).members.length).toBe(1)
    expect(world.events.map(({ name }) => name)).toEqual([
      'server.updated',
      'group.updated',
      'key.removed',
      'user.removed',
    ])
    expect(await users().byId(world.bob.userId)).toBeUndefined()
    await servers.patch(world.ada, 's', { reviewed: reviewHash(moved), enabled: true })
    expect((await servers.effective(made.id)).ownerRole).toBe('admin')
  })

  test('cascade takes servers out of the groups of others', async () => {
    const { servers, groups } = world.registry
    await servers.create(world.bob, remote('open', { visibility: 'public' }))
    await groups.create(world.cleo, { name: 'g', members: ['open'] })
    world.events.length = 0
    await users().remove(world.ada, 'bob', { cascade: true })
    expect((await groups.resolve(world.cleo, 'g', 'use')).members).toEqual([])
    expect(world.events.map(({ name }) => name)).toEqual(['server.removed', 'group.updated', 'user.removed'])
  })

  test('the successor of the first user owns the plain entries of the file', async () => {
    const { registry, mirror } = world
    await users().update(world.ada, 'bob', { role: 'admin' })
    await users().remove(actor(world.bob.userId, 'bob', 'admin'), 'ada', { transferTo: 'cleo' })
    await mirror.apply({ users: [], groups: [], servers: [{ name: 'p', body: { url: 'https://a.example/' } }] })
    expect((await registry.servers.resolve(world.cleo, 'p', 'change')).ownerId).toBe(world.cleo.userId)
  })
})
