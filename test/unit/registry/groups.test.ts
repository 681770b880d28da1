import { afterEach, beforeEach, expect, test } from 'bun:test'
import { openWorld, refusal, type World, wrongFields } from './world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld()
  const { servers } = world.registry
  await servers.create(world.bob, remote('own'))
  await servers.create(world.bob, remote('time'))
  await servers.create(world.cleo, remote('time'))
  await servers.create(world.cleo, remote('open', { visibility: 'public' }))
  await servers.create(world.cleo, remote('hidden'))
  world.events.length = 0
})
afterEach(() => world.end())

const remote = (name: string, more: object = {}) => ({ name, url: 'https://mcp.example/mcp', ...more })
const groups = () => world.registry.groups

test('members are the owner’s servers first, then public ones, kept in order', async () => {
  const group = await groups().create(world.bob, {
    name: 'g',
    members: ['time', { server: 'open', alias: 'o', tools: ['a', { name: 'b', as: 'c' }] }, 'bob~own'],
  })
  expect(group.members.map(({ serverRef }) => serverRef)).toEqual(['bob~time', 'cleo~open', 'bob~own'])
  expect(group.members[1]).toMatchObject({ alias: 'o', tools: [{ name: 'a' }, { name: 'b', as: 'c' }], prompts: 'all' })
  expect(world.events.map(({ name }) => name)).toEqual(['group.created'])
  expect(await groups().replace(world.bob, 'g', groups().publicBody(group))).toEqual(group)
})

test('every member that is missing, invisible or there twice is reported with its pointer', async () => {
  const made = groups().create(world.bob, { name: 'g', members: ['nope', 'own', 'cleo~hidden', { server: 'OWN' }] })
  expect(await wrongFields(made)).toEqual([
    'member_not_found #/members/0',
    'member_not_found #/members/2',
    'duplicate #/members/3/server',
  ])
  // Nor can an administrator put in what the group's owner may not use.
  const forced = groups().create(world.ada, { name: 'g', owner: 'bob', members: ['cleo~hidden'] })
  expect(await wrongFields(forced)).toEqual(['member_not_found #/members/0'])
})

test('form, aliases and number of members are checked', async () => {
  const make = (body: object) => groups().create(world.bob, { name: 'g', ...body } as never)
  expect(await wrongFields(make({ members: 'x' }))).toEqual(['type #/members'])
  expect(await wrongFields(make({ name: 'a/b', naming: 'x' }))).toEqual(['name_invalid #/name', 'enum #/naming'])
  const twice = make({
    members: [
      { server: 'own', alias: 'Same' },
      { server: 'time', alias: 'same' },
    ],
  })
  expect((await refusal(twice)).code).toBe('name_taken')
  const many = make({ members: Array.from({ length: 501 }, (_, at) => `s${at}`) })
  expect((await refusal(many)).code).toBe('quota_members')
})

test('groups of two owners with one name never mix, and a name is taken once per owner', async () => {
  const his = await groups().create(world.bob, { name: 'g', members: ['time'] })
  const hers = await groups().create(world.cleo, { name: 'G', members: ['time'] })
  expect((await groups().find(world.bob, undefined, 'g'))?.id).toBe(his.id)
  expect((await groups().find(world.cleo, undefined, 'g'))?.id).toBe(hers.id)
  expect(await groups().find(world.bob, 'cleo', 'g')).toBeUndefined()
  expect((await groups().find(world.bob, 'BOB', 'G'))?.id).toBe(his.id)
  expect(his.members[0]?.serverId).not.toBe(hers.members[0]?.serverId)
  expect((await refusal(groups().create(world.bob, { name: 'G' }))).code).toBe('group_name_taken')
  const foreign = await refusal(groups().resolve(world.bob, 'cleo~g', 'see'))
  const missing = await refusal(groups().resolve(world.bob, 'cleo~h', 'see'))
  expect(foreign.message.replace('~g', '~h')).toBe(missing.message)
})

test('a public group shows and gives others its public members alone', async () => {
  const group = await groups().create(world.cleo, { name: 'g', visibility: 'public', members: ['hidden', 'open'] })
  const seen = await groups().resolve(world.bob, 'g', 'use')
  expect(seen.members.map(({ serverName }) => serverName)).toEqual(['open'])
  const usable = async (who: 'bob' | 'cleo' | 'ada') =>
    (await groups().usableMembers(world[who], group)).map(({ server }) => server.name)
  expect(await usable('bob')).toEqual(['open'])
  expect(await usable('ada')).toEqual(['open'])
  expect(await usable('cleo')).toEqual(['hidden', 'open'])
  expect((await refusal(groups().patch(world.bob, 'g', { description: 'x' }))).code).toBe('not_owner')
})

test('a group tells which members went with their servers, whichever way those went', async () => {
  const { registry, mirror, ada, bob } = world
  const filed = { name: 'filed', body: { ...remote('filed', { visibility: 'public' }) } }
  await mirror.apply({ users: [], groups: [], servers: [filed] })
  const { id } = await groups().create(bob, { name: 'g', members: ['own', 'open', 'ada~filed', 'time'] })
  expect(await groups().lostMembers(id)).toEqual([])
  await registry.servers.remove(bob, 'own')
  expect(await groups().lostMembers(id)).toEqual(['own'])
  await registry.users.remove(ada, 'cleo', { cascade: true })
  expect(await groups().lostMembers(id)).toEqual(['cleo~open', 'own'])
  await mirror.apply({ users: [], groups: [], servers: [] })
  expect(await groups().lostMembers(id)).toEqual(['ada~filed', 'cleo~open', 'own'])
  await groups().patch(bob, 'g', { members: ['time'] })
  expect(await groups().lostMembers(id)).toEqual([])
})

test('a patch without members keeps those whose servers became invisible', async () => {
  await groups().create(world.bob, { name: 'g', members: ['open', 'own'] })
  await world.registry.servers.patch(world.cleo, 'open', { visibility: 'private' })
  const seen = await groups().patch(world.bob, 'g', { description: 'x' })
  expect(seen.members.map(({ serverName }) => serverName)).toEqual(['own'])
  await world.registry.servers.patch(world.cleo, 'open', { visibility: 'public' })
  expect((await groups().resolve(world.bob, 'g', 'use')).members.length).toBe(2)
})

test('single members are put, changed and removed', async () => {
  await groups().create(world.bob, { name: 'g', members: ['own'] })
  await groups().putMember(world.bob, 'g', 'open', { alias: 'o' })
  const changed = await groups().putMember(world.bob, 'g', 'own', { tools: ['x'] })
  expect(changed.members.map(({ serverName, alias }) => [serverName, alias])).toEqual([
    ['own', undefined],
    ['open', 'o'],
  ])
  expect((await refusal(groups().putMember(world.bob, 'g', 'own', { alias: 'O' }))).code).toBe('name_taken')
  expect((await refusal(groups().putMember(world.bob, 'g', 'cleo~hidden', {}))).code).toBe('server_not_found')
  expect((await groups().removeMember(world.bob, 'g', 'cleo~open')).members.length).toBe(1)
  expect((await refusal(groups().removeMember(world.bob, 'g', 'time'))).code).toBe('server_not_found')
})

test('an old revision is refused, and a change that changes nothing is none', async () => {
  const made = await groups().create(world.bob, { name: 'g' })
  const options = { ifRevision: made.revision }
  expect((await groups().patch(world.bob, 'g', { naming: 'auto' }, options)).revision).toBe(1)
  await groups().patch(world.bob, 'g', { naming: 'prefixed' }, options)
  expect((await refusal(groups().patch(world.bob, 'g', { naming: 'auto' }, options))).code).toBe('version_conflict')
  expect((await refusal(groups().remove(world.bob, 'g', options))).code).toBe('version_conflict')
  await groups().remove(world.bob, 'g')
  expect((await refusal(groups().remove(world.bob, 'g'))).code).toBe('group_not_found')
})

test('a group that gets another owner is removed for the former one and updated for the new one', async () => {
  const { ada, bob, cleo, events } = world
  await groups().create(bob, { name: 'given', members: [] })
  events.length = 0
  await groups().patch(ada, 'bob~given', { owner: 'cleo' })
  expect(events.map(({ name, ownerId, audience }) => `${name} ${ownerId} ${audience}`)).toEqual([
    `group.removed ${bob.userId} owner`,
    `group.updated ${cleo.userId} owner`,
  ])
})

test('the default of a selector is one of its members', async () => {
  const made = (preset: string) =>
    groups().create(world.bob, {
      ...{ name: preset, members: ['own'] },
      selector: { argument: 'at', members: { a: 'own' }, default: preset },
    })
  expect(await wrongFields(made('b'))).toEqual(['enum #/selector/default'])
  expect((await made('a')).selector?.default).toBe('a')
})
