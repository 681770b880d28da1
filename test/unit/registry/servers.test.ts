import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { openWorld, refusal, type World, wrongFields } from './world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld()
})
afterEach(() => world.end())

const remote = (name: string, more: object = {}) => ({ name, url: 'https://mcp.example/mcp', ...more })
const servers = () => world.registry.servers

describe('resolve', () => {
  test('servers of two owners with one name never mix', async () => {
    const { bob, cleo } = world
    const his = await servers().create(bob, remote('Fake'))
    const hers = await servers().create(cleo, remote('fake'))
    expect((await servers().resolve(bob, 'FAKE', 'change')).id).toBe(his.id)
    expect((await servers().resolve(cleo, 'fake', 'change')).id).toBe(hers.id)
    expect((await servers().list(bob, {})).map(({ id }) => id)).toEqual([his.id])
    expect((await servers().list(bob, { scope: 'visible' })).map(({ id }) => id)).toEqual([his.id])
  })

  test('takes the own one first, then the qualified one, then the one public one', async () => {
    const { ada, bob, cleo } = world
    const open = await servers().create(cleo, remote('time', { visibility: 'public' }))
    expect((await servers().resolve(bob, 'time', 'use')).id).toBe(open.id)
    const own = await servers().create(bob, remote('time'))
    expect((await servers().resolve(bob, 'time', 'use')).id).toBe(own.id)
    expect((await servers().resolve(bob, 'Cleo~time', 'use')).id).toBe(open.id)
    expect((await servers().resolve(ada, 'time', 'use')).id).toBe(open.id)
    expect((await servers().resolve(ada, 'bob~time', 'change')).id).toBe(own.id)
  })

  test('names the candidates when several public ones have the name', async () => {
    const { ada, bob, cleo } = world
    await servers().create(bob, remote('time', { visibility: 'public' }))
    await servers().create(cleo, remote('time', { visibility: 'public' }))
    const error = await refusal(servers().resolve(ada, 'time', 'use'))
    expect(error.code).toBe('server_ambiguous')
    expect(error.message).toContain('bob~time, cleo~time')
  })

  test('finds the only one at all for an administrator alone', async () => {
    const { ada, bob, cleo } = world
    const hidden = await servers().create(bob, remote('hidden'))
    expect((await servers().resolve(ada, 'hidden', 'change')).id).toBe(hidden.id)
    expect((await refusal(servers().resolve(cleo, 'hidden', 'use'))).code).toBe('server_not_found')
  })

  test('refuses a foreign private server exactly as a missing one', async () => {
    const { bob, cleo } = world
    const { id } = await servers().create(bob, remote('secret'))
    const attempts = [
      (ref: string) => servers().resolve(cleo, ref, 'use'),
      (ref: string) => servers().replace(cleo, ref, remote('x')),
      (ref: string) => servers().patch(cleo, ref, { timeout: 5 }),
      (ref: string) => servers().remove(cleo, ref),
      (ref: string) => servers().setEnabled(cleo, ref, false),
    ]
    for (const attempt of attempts) {
      const foreign = await refusal(attempt('bob~secret'))
      const missing = await refusal(attempt('bob~nothng'))
      expect(foreign.code).toBe('server_not_found')
      expect({ ...foreign, message: foreign.message.replace('secret', 'nothng') }).toEqual({
        ...missing,
        message: missing.message,
      })
    }
    expect(await servers().byId(cleo, id)).toBeUndefined()
  })

  test('shows a public server to others, who may not change it', async () => {
    const { bob, cleo } = world
    await servers().create(bob, remote('open', { visibility: 'public' }))
    expect((await servers().resolve(cleo, 'open', 'use')).ownerName).toBe('bob')
    expect((await refusal(servers().patch(cleo, 'open', { timeout: 5 }))).code).toBe('not_owner')
    expect((await refusal(servers().remove(cleo, 'bob~open'))).code).toBe('not_owner')
  })
})

describe('create', () => {
  test('refuses a name that the owner has, in any letter case', async () => {
    await servers().create(world.bob, remote('Straße'))
    expect((await refusal(servers().create(world.bob, remote('STRASSE')))).code).toBe('server_name_taken')
    await servers().create(world.cleo, remote('Straße'))
  })

  test('gives it to another owner by an administrator alone', async () => {
    const { ada, bob } = world
    expect((await servers().create(ada, remote('a', { owner: 'bob' }))).ownerId).toBe(bob.userId)
    expect((await refusal(servers().create(bob, remote('b', { owner: 'ada' })))).code).toBe('field_forbidden')
    expect(await wrongFields(servers().create(ada, remote('b', { owner: 'nobody' })))).toEqual(['enum #/owner'])
  })

  test('refuses a process of an ordinary user without a sandbox, and takes an administrator’s', async () => {
    const { ada, bob } = world
    expect((await refusal(servers().create(bob, { name: 'x', command: 'cat' }))).code).toBe('stdio_not_permitted')
    expect((await refusal(servers().draft(bob, { name: 'x', command: 'cat' }))).code).toBe('stdio_not_permitted')
    expect((await servers().create(ada, { name: 'x', command: 'cat' })).transport).toBe('stdio')
  })

  test.each([
    [{ env: { ld_preload: 'x' } }, 'env_key_forbidden'],
    [{ env: { GIT_SSH_COMMAND: 'x' } }, 'env_key_forbidden'],
    [{ cwd: '/' }, 'cwd_forbidden'],
    [{ cwd: 'a/../../b' }, 'cwd_forbidden'],
    [{ sandbox: 'off' }, 'field_forbidden'],
    [{ network: 'host' }, 'network_not_permitted'],
  ])('refuses %j for a process of an ordinary user', async (more, code) => {
    const error = await refusal(servers().create(world.bob, { name: 'x', command: 'cat', ...more } as never))
    expect(error.code).toBe(code as never)
    await servers().create(world.ada, { name: 'x', command: 'cat', ...more } as never)
  })

  test.each(['http://127.1/', 'http://2130706433/', 'http://[::1]:80/', 'http://localhost/', 'http://10.0.0.1/'])(
    'refuses the address %s for an ordinary user only',
    async url => {
      expect((await refusal(servers().create(world.bob, { name: 'x', url }))).code).toBe('url_address_blocked')
      await servers().create(world.ada, { name: 'x', url })
    },
  )

  test('refuses an address that variables make, and metadata for everybody', async () => {
    const { ada, bob } = world
    const body = { name: 'x', url: `http://${'$'}{HOST}/`, variables: { HOST: '127.0.0.1' } }
    expect((await refusal(servers().create(bob, body))).code).toBe('url_address_blocked')
    const metadata = servers().create(ada, { name: 'x', url: 'http://169.254.169.254/' })
    expect((await refusal(metadata)).code).toBe('url_address_blocked')
  })

  test('stops at the quota of the owner', async () => {
    const { bob, store } = world
    const { id, ...row } = await store.db
      .selectFrom('server')
      .selectAll()
      .where('id', '=', (await servers().create(bob, remote('s'))).id)
      .executeTakeFirstOrThrow()
    const more = Array.from({ length: 199 }, (_, at) => ({
      ...row,
      id: `${id}${at}`,
      name: `n${at}`,
      name_key: `n${at}`,
    }))
    await store.db.insertInto('server').values(more).execute()
    expect((await refusal(servers().create(bob, remote('one more')))).code).toBe('quota_servers')
  })
})

describe('the quota of commands', () => {
  const command = (name: string, more: object = {}) => ({ name, command: 'cat', ...more })
  beforeEach(async () => {
    await world.end()
    world = await openWorld({ stdio: () => ({ policy: 'sandboxed', level: 'full' }) })
    const { bob } = world
    for (let at = 0; at < 32; at += 1) await servers().create(bob, command(`c${at}`))
  })

  test('counts those of an ordinary user that are switched on', async () => {
    const { bob } = world
    expect((await refusal(servers().create(bob, command('more')))).code).toBe('quota_servers')
    await servers().create(bob, command('off', { enabled: false }))
    expect((await refusal(servers().setEnabled(bob, 'off', true))).code).toBe('quota_servers')
    expect((await servers().patch(bob, 'c0', { description: 'still on' })).enabled).toBe(true)
    await servers().setEnabled(bob, 'c0', false)
    expect((await servers().setEnabled(bob, 'off', true)).enabled).toBe(true)
    expect((await servers().create(bob, remote('elsewhere'))).enabled).toBe(true)
  })

  test('does not hold for administrators, and holds for a server that is given away', async () => {
    const { ada } = world
    for (let at = 0; at < 33; at += 1) await servers().create(ada, command(`a${at}`))
    expect((await refusal(servers().patch(ada, 'a0', { owner: 'bob' }))).code).toBe('quota_servers')
  })
})

describe('a server that gets another owner', () => {
  const told = () => world.events.map(({ name, ownerId, audience }) => `${name} ${ownerId} ${audience}`)

  test('is removed for the former owner and updated for the new one', async () => {
    const { ada, bob, cleo, events } = world
    await servers().create(bob, remote('s'))
    events.length = 0
    await servers().patch(ada, 'bob~s', { owner: 'cleo' })
    expect(told()).toEqual([`server.removed ${bob.userId} owner`, `server.updated ${cleo.userId} owner`])
  })

  test('is not removed for anybody while it is public', async () => {
    const { ada, bob, cleo, events } = world
    await servers().create(bob, remote('s', { visibility: 'public' }))
    events.length = 0
    await servers().patch(ada, 'bob~s', { owner: 'cleo' })
    expect(told()).toEqual([`server.updated ${cleo.userId} public`])
  })
})

describe('update', () => {
  test('of two with one revision the second is refused', async () => {
    const { bob } = world
    const made = await servers().create(bob, remote('s'))
    const options = { ifRevision: made.revision }
    const outcomes = await Promise.allSettled([
      servers().patch(bob, 's', { timeout: 1000 }, options),
      servers().patch(bob, 's', { timeout: 2000 }, options),
    ])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await refusal(servers().replace(bob, 's', remote('s'), options))).code).toBe('version_conflict')
    expect((await refusal(servers().remove(bob, 's', options))).code).toBe('version_conflict')
  })

  test('of two without a revision both are taken', async () => {
    const { bob } = world
    await servers().create(bob, remote('s'))
    await Promise.all([
      servers().patch(bob, 's', { timeout: 1000 }),
      servers().patch(bob, 's', { description: 'both' }),
    ])
    expect(await servers().resolve(bob, 's', 'use')).toMatchObject({
      timeoutMs: 1000,
      description: 'both',
      revision: 3,
    })
  })

  test('that changes nothing keeps the revision and tells nobody', async () => {
    const { bob, events } = world
    const made = await servers().create(bob, remote('s', { headers: { Authorization: 'Bearer abcdefghijkl' } }))
    events.length = 0
    const body = servers().publicBody(made)
    expect(await servers().replace(bob, 's', body)).toEqual(made)
    expect(events).toEqual([])
  })

  test('replaces the whole, patches by RFC 7396, and tells which fields changed', async () => {
    const { bob, events } = world
    await servers().create(bob, remote('s', { description: 'old', timeout: 5 }))
    events.length = 0
    expect(await servers().patch(bob, 's', { description: null, headers: { a: 'b' } })).toMatchObject({ timeoutMs: 5 })
    expect(events[0]).toMatchObject({ name: 'server.updated', audience: 'owner', ownerId: bob.userId })
    expect(events[0]?.data).toMatchObject({ changed: ['description', 'headers'] })
    expect((await servers().replace(bob, 's', remote('s'))).timeoutMs).toBe(60_000)
  })

  test('moves from a command to a URL in one patch', async () => {
    const { ada } = world
    await servers().create(ada, { name: 's', command: 'cat', args: ['-u'] })
    expect(await wrongFields(servers().patch(ada, 's', { url: 'https://a.example/', command: null }))).toEqual([
      'field_not_for_transport #/args',
    ])
    const moved = await servers().patch(ada, 's', { url: 'https://a.example/', command: null, args: null })
    expect(moved).toMatchObject({ transport: 'streamable-http', transportInferred: true })
    expect((await servers().patch(ada, 's', { timeout: 9 })).transportInferred).toBe(true)
    expect((await servers().replace(ada, 's', servers().publicBody(moved))).transportInferred).toBe(true)
  })

  test('switches off what may not run any more', async () => {
    const { ada, bob } = world
    await servers().create(ada, { name: 's', command: 'cat' })
    await world.store.db.updateTable('server').set({ owner_id: bob.userId }).execute()
    expect((await refusal(servers().patch(bob, 's', { args: ['x'] }))).code).toBe('stdio_not_permitted')
    expect((await servers().setEnabled(bob, 's', false)).enabled).toBe(false)
    expect((await refusal(servers().setEnabled(bob, 's', true))).code).toBe('stdio_not_permitted')
  })

  test('checks a bad body before it tells whether the server exists', async () => {
    const { bob, cleo } = world
    await servers().create(bob, remote('s'))
    for (const ref of ['bob~s', 'bob~t']) {
      expect(await wrongFields(servers().replace(cleo, ref, { name: 's', comand: 'x' }))).toEqual([
        'unknown_field #/comand',
        'transport_missing #/transport',
      ])
    }
  })
})

test('remove takes the server out of groups and tells of both', async () => {
  const { bob, events } = world
  await servers().create(bob, remote('a'))
  await servers().create(bob, remote('b'))
  await world.registry.groups.create(bob, { name: 'g', members: ['a', 'b'] })
  events.length = 0
  await servers().remove(bob, 'a')
  expect(events.map(({ name }) => name)).toEqual(['server.removed', 'group.updated'])
  const group = await world.registry.groups.resolve(bob, 'g', 'use')
  expect(group.members.map(member => member.serverName)).toEqual(['b'])
  expect(group.revision).toBe(2)
  expect((await refusal(servers().remove(bob, 'a'))).code).toBe('server_not_found')
})

test('list filters by text taken literally, by owner, and sorts', async () => {
  const { ada, bob, cleo } = world
  await servers().create(bob, remote('alpha', { description: '100% sure' }))
  await servers().create(bob, remote('beta'))
  await servers().create(cleo, remote('gamma', { visibility: 'public' }))
  const names = async (query: object) => (await servers().list(bob, query)).map(({ name }) => name)
  expect(await names({ q: '0%' })).toEqual(['alpha'])
  expect(await names({ q: '_' })).toEqual([])
  expect(await names({ sort: '-name' })).toEqual(['beta', 'alpha'])
  expect(await names({ scope: 'visible', owner: 'Cleo' })).toEqual(['gamma'])
  expect((await servers().list(ada, { scope: 'all' })).length).toBe(3)
  expect((await refusal(servers().list(bob, { scope: 'all' }))).code).toBe('admin_only')
  expect(await wrongFields(servers().list(bob, { sort: 'size' }))).toEqual(['sort_field ?sort'])
})
