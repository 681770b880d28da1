import { afterEach, beforeEach, expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { ShareMap } from '../../../core/registry/share-map.ts'
import { openWorld, refusal, type World } from './world.ts'

let world: World

beforeEach(async () => {
  world = await openWorld()
  const { registry, bob } = world
  await registry.servers.create(bob, { name: 'notes', url: 'https://a.example/mcp' })
  await registry.groups.create(bob, { name: 'daily', members: ['notes'] })
})
afterEach(() => world.end())

const rows = async (table: 'share' | 'team' | 'team_member'): Promise<number> =>
  (await world.store.db.selectFrom(table).selectAll().execute()).length

test('load() reads what was shared before a start', async () => {
  const { registry, ada, bob, cleo } = world
  await registry.teams.create(ada, 'crew', { members: ['cleo'] })
  const { target } = await registry.shares.put(bob, 'server', 'notes', { subject: 'team:crew', role: 'see' })
  const group = await registry.shares.put(bob, 'group', 'daily', { subject: 'user:cleo', role: 'use' })
  const later = new ShareMap()
  await later.load(world.store)
  for (const shares of [later, { sharedRole: (user: string, id: string) => roleIn(user, id) }]) {
    expect(shares.sharedRole(cleo.userId, target.id)).toBe('see')
    expect(shares.sharedRole(cleo.userId, group.target.id)).toBe('use')
    expect(shares.sharedRole(ada.userId, target.id)).toBeUndefined()
  }
  function roleIn(userId: string, id: string) {
    const role = registry.shares.roleUnderMcp(userId, { id, ownerId: bob.userId, visibility: 'private' })
    return role === 'owner' ? undefined : role
  }
})

test('shares and members go with the thing, the user and the team that they belong to', async () => {
  const { registry, ada, bob } = world
  await registry.teams.create(ada, 'crew', { members: ['cleo', 'bob'] })
  const shares = ['user:cleo', 'team:crew'].map(subject => ({ subject, role: 'use' as const }))
  for (const kind of ['server', 'group'] as const)
    await registry.shares.replace(bob, kind, kind === 'server' ? 'notes' : 'daily', shares)
  expect([await rows('share'), await rows('team_member')]).toEqual([4, 2])
  await registry.users.remove(ada, 'cleo', {})
  expect([await rows('share'), await rows('team_member')]).toEqual([2, 1])
  await registry.groups.remove(bob, 'daily')
  expect(await rows('share')).toBe(1)
  await registry.teams.remove(ada, 'crew')
  expect([await rows('share'), await rows('team'), await rows('team_member')]).toEqual([0, 0, 0])
})

test('a change is announced to both sides, and one that changes nothing to nobody', async () => {
  const { registry, bob, cleo, ada } = world
  const share = { subject: 'user:cleo', role: 'use' } as const
  await registry.shares.put(bob, 'server', 'notes', share)
  const told = () =>
    world.events.filter(({ name }) => name === 'share.changed').map(({ ownerId, data }) => [ownerId, data])
  const data = (role: string | null) => expect.objectContaining({ ref: 'bob~notes', subject: 'user:cleo', role })
  expect(told()).toEqual([
    [bob.userId, data('use')],
    [cleo.userId, data('use')],
  ])
  world.events.length = 0
  await registry.shares.put(bob, 'server', 'notes', share)
  expect(told()).toEqual([])
  await registry.teams.create(ada, 'crew', { members: [] })
  await registry.shares.put(bob, 'server', 'notes', { subject: 'team:crew', role: 'change' })
  world.events.length = 0
  await registry.teams.update(ada, 'crew', { members: ['cleo'] })
  expect(told().map(([id]) => id)).toEqual([bob.userId, cleo.userId])
  expect((await registry.servers.resolve(cleo, 'notes', 'change')).name).toBe('notes')
})

test('lists have what is shared, by name and by team, and the reach of a server its group’s users', async () => {
  const { registry, ada, bob, cleo } = world
  await registry.teams.create(ada, 'crew', { members: ['cleo'] })
  expect(await registry.servers.list(cleo, { scope: 'shared' })).toEqual([])
  await registry.shares.put(bob, 'group', 'daily', { subject: 'team:crew', role: 'use' })
  expect((await registry.groups.list(cleo, { scope: 'shared' })).map(({ name }) => name)).toEqual(['daily'])
  expect((await registry.groups.list(cleo, { scope: 'visible' })).map(({ name }) => name)).toEqual(['daily'])
  expect(await registry.groups.list(cleo, { scope: 'mine' })).toEqual([])
  const server = await registry.servers.resolve(bob, 'notes', 'owner')
  const reach = await registry.shares.reachOf(server)
  expect([bob, cleo, ada].map(({ userId }) => reach(userId))).toEqual([true, true, false])
  expect((await refusal(registry.servers.resolve(cleo, 'bob~notes', 'use'))).code).toBe('server_not_found')
  await registry.users.update(ada, 'bob', { disabled: true })
  const later = await registry.shares.reachOf(await registry.servers.resolve(ada, 'bob~notes', 'owner'))
  expect([bob, cleo, ada].map(({ userId }) => later(userId))).toEqual([true, false, false])
})

test('a server is in reach by groups of its owner alone, and others miss it in a group unless it is public', async () => {
  const { registry, ada, bob, cleo } = world
  await registry.shares.put(bob, 'server', 'notes', { subject: 'user:cleo', role: 'use' })
  await registry.groups.create(cleo, { name: 'mine', members: ['bob~notes'] })
  await registry.shares.put(cleo, 'group', 'mine', { subject: 'user:ada', role: 'use' })
  const server = await registry.servers.resolve(bob, 'notes', 'owner')
  const reach = await registry.shares.reachOf(server)
  expect([bob, cleo, ada].map(({ userId }) => reach(userId))).toEqual([true, true, false])
  const group = await registry.groups.resolve(cleo, 'mine', 'owner')
  const isMissed = () => registry.shares.isMissedBySome(group, server)
  expect([isMissed(), registry.shares.isMissedBySome(group, { ...server, visibility: 'public' })]).toEqual([
    true,
    false,
  ])
  await registry.shares.put(bob, 'server', 'notes', { subject: 'user:ada', role: 'use' })
  expect(isMissed()).toBe(false)
})

test('an administrator’s name without an owner is the one open thing, before things that nobody sees', async () => {
  const { registry, ada, bob, cleo } = world
  await registry.servers.create(cleo, { name: 'notes', url: 'https://c.example/mcp' })
  expect((await refusal(registry.servers.resolve(ada, 'notes', 'use'))).code).toBe('server_ambiguous')
  await registry.shares.put(bob, 'server', 'notes', { subject: 'user:ada', role: 'use' })
  expect((await registry.servers.resolve(ada, 'notes', 'use')).ownerId).toBe(bob.userId)
})

test('given shares leave a share that is there as it is', async () => {
  const { registry, ada, bob } = world
  await registry.teams.create(ada, 'crew', { members: ['cleo'] })
  await registry.shares.put(bob, 'server', 'notes', { subject: 'user:cleo', role: 'change' })
  const given = ['user:cleo', 'team:crew'].map(subject => ({ subject, role: 'use' as const }))
  const { shares, changed } = await registry.shares.give(bob, 'server', 'notes', given)
  expect(shares.map(({ subject, role }) => `${subject} ${role}`)).toEqual(['team:crew use', 'user:cleo change'])
  expect(changed).toEqual([{ subject: 'team:crew', role: 'use' }])
})

test('the limit of shares of a thing also holds when they are added one at a time', async () => {
  const { registry, bob, store } = world
  const most = LIMITS.sharesPerThing
  const template = await store.db.selectFrom('user').selectAll().executeTakeFirstOrThrow()
  await store.db.transaction().execute(async trx => {
    for (let at = 0; at <= most; at += 1)
      await trx
        .insertInto('user')
        .values({ ...template, id: `u${at}`, number: 1_000 + at, name: `u${at}`, name_key: `u${at}` })
        .execute()
  })
  const share = (at: number) => ({ subject: `user:u${at}`, role: 'use' as const })
  await registry.shares.replace(
    bob,
    'server',
    'notes',
    Array.from({ length: most }, (_, at) => share(at)),
  )
  expect((await refusal(registry.shares.put(bob, 'server', 'notes', share(most)))).code).toBe('quota_shares')
  expect(await rows('share')).toBe(most)
})

test('a source sets the teams of its provider alone, of groups that are exactly equal', async () => {
  const { registry, ada, bob, cleo } = world
  const { teams } = registry
  const source = (provider: string, group: string) => ({ source: { provider, group } })
  await teams.create(ada, 'by-hand', { members: ['cleo'] })
  await teams.create(ada, 'crew', source('company', 'Crew'))
  await teams.create(ada, 'other', source('elsewhere', 'Crew'))
  const { target } = await registry.shares.put(bob, 'server', 'notes', { subject: 'team:crew', role: 'see' })
  const role = () => registry.shares.roleUnderMcp(cleo.userId, { ...target, visibility: 'private' })
  const mine = async () => (await teams.list(cleo)).filter(team => team.members).map(({ name }) => name)
  for (const near of ['crew', 'CREW', 'Ｃrew', 'Crew ', 'Cre\u200bw', 'by-hand', '*', ''])
    expect(await teams.setOf(cleo.userId, 'company', [near])).toEqual({ joined: [], left: [], full: [] })
  expect(await teams.setOf(cleo.userId, 'company', ['Crew', 'by-hand'])).toEqual({
    joined: ['crew'],
    left: [],
    full: [],
  })
  expect([await mine(), role()]).toEqual([['by-hand', 'crew'], 'see'])
  const later = new ShareMap()
  await later.load(world.store)
  expect(later.hasTeamsOf(cleo.userId, 'company', new Set(['Crew']))).toBe(true)
  expect(later.hasTeamsOf(cleo.userId, 'elsewhere', new Set(['Crew']))).toBe(false)

  expect((await teams.setOf(cleo.userId, 'company', [])).left).toEqual(['crew'])
  expect([await mine(), role()]).toEqual([['by-hand'], undefined])
  expect(world.events.at(-1)?.data).toMatchObject({ subject: 'team:crew', role: null })
  await teams.setOf(cleo.userId, 'company', ['Crew'])
  await registry.users.update(ada, 'cleo', { disabled: true })
  expect((await teams.setOf(cleo.userId, 'company', ['Crew'])).joined).toEqual([])
  expect(await rows('team_member')).toBe(1)
})

test('members of a team are set by administrators or by a source, and end with the source', async () => {
  const { registry, ada, bob, cleo } = world
  const { teams } = registry
  const source = { provider: 'company', group: 'g' }
  expect((await refusal(teams.create(ada, 'crew', { members: ['cleo'], source }))).code).toBe('validation_failed')
  expect((await refusal(teams.create(bob, 'crew', { source }))).code).toBe('admin_only')
  await teams.create(ada, 'crew', { members: ['bob'] })
  for (const write of [teams.update(bob, 'crew', { members: ['bob', 'cleo'] }), teams.remove(bob, 'crew')])
    expect((await refusal(write)).code).toBe('admin_only')
  expect((await teams.update(ada, 'crew', { source })).members).toEqual([])
  expect((await refusal(teams.update(ada, 'crew', { members: ['bob'] }))).code).toBe('validation_failed')
  await teams.setOf(cleo.userId, 'company', ['g'])
  expect(await teams.update(ada, 'crew', { name: 'crew-2', source })).toMatchObject({ members: ['cleo'], source })
  expect((await teams.get(bob, 'crew-2')).source).toBeUndefined()
  expect(await teams.endSources(provider => provider !== 'company')).toEqual([])
  expect(await teams.endSources(provider => provider === 'company')).toEqual(['crew-2'])
  expect(await teams.endSources(() => true)).toEqual([])
  await teams.setOf(cleo.userId, 'company', ['g'])
  const kept = await teams.update(ada, 'crew-2', { source: null })
  expect([kept.members, kept.source]).toEqual([['cleo'], undefined])
  await teams.setOf(cleo.userId, 'company', [])
  expect(await rows('team_member')).toBe(1)
})

test('a full team takes no more', async () => {
  const { registry, ada, cleo, store } = world
  const { id } = await registry.teams.create(ada, 'crew', { source: { provider: 'p', group: 'g' } })
  const template = await store.db.selectFrom('user').selectAll().executeTakeFirstOrThrow()
  const users = Array.from({ length: LIMITS.teamMembers }, (_, at) => {
    return { ...template, id: `u${at}`, number: 1_000 + at, name: `u${at}`, name_key: `u${at}` }
  })
  await store.db.transaction().execute(async trx => {
    for (const user of users) {
      await trx.insertInto('user').values(user).execute()
      await trx.insertInto('team_member').values({ team_id: id, user_id: user.id }).execute()
    }
  })
  expect(await registry.teams.setOf(cleo.userId, 'p', ['g'])).toEqual({ joined: [], left: [], full: ['crew'] })
  expect(await rows('team_member')).toBe(LIMITS.teamMembers)
})
