import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../../core/contract/json.ts'
import type { FileState } from '../../../core/registry/api.ts'
import type { FileWriter } from '../../../core/registry/context.ts'
import { openBareWorld, openWorld, refusal, type World, wrongFields } from './world.ts'

const at = (url: string, more: object = {}): JsonObject => ({ url, ...more })
const plain = (name: string, body: JsonObject) => ({ name, body: { name, ...body } })
const state = (changes: Partial<FileState>): FileState => ({ users: [], servers: [], groups: [], ...changes })

describe('servers and groups of the file', () => {
  let world: World
  const written: unknown[] = []
  const fileWriter: FileWriter = {
    async writeServer(...edit) {
      written.push(edit)
    },
    async writeGroup(...edit) {
      written.push(edit)
    },
    async renameMember(...edit) {
      written.push(edit)
    },
  }
  beforeEach(async () => {
    written.length = 0
    world = await openWorld({ fileWriter })
  })
  afterEach(() => world.end())

  test('keep their ids by owner and name, and go when the file does not name them', async () => {
    const { registry, mirror, events, ada, bob } = world
    const first = state({
      servers: [
        plain('time', at('https://a.example/')),
        { owner: 'bob', ...plain('time', at('https://b.example/')) },
        plain('old', at('https://c.example/')),
      ],
      groups: [{ body: { name: 'g', members: ['time', 'old'] } }],
    })
    expect((await mirror.apply(first)).applied).toEqual([
      'servers/ada~time',
      'servers/bob~time',
      'servers/ada~old',
      'groups/ada~g',
    ])
    const before = await registry.servers.resolve(ada, 'time', 'use')
    const his = await registry.servers.resolve(bob, 'time', 'use')
    const group = await registry.groups.resolve(ada, 'g', 'use')
    expect([before.origin, his.ownerName, group.members.length]).toEqual(['file', 'bob', 2])

    events.length = 0
    expect(await mirror.apply(first)).toEqual({ applied: [], problems: [] })
    expect(events).toEqual([])

    const second = state({
      servers: [
        plain('TIME', at('https://a.example/', { timeout: 7 })),
        { owner: 'bob', ...plain('time', at('https://b.example/')) },
      ],
      groups: [{ body: { name: 'g', servers: [{ name: 'time', tools: ['x'] }] } }],
    })
    await mirror.apply(second)
    expect(events.map(({ name }) => name)).toEqual([
      'server.updated',
      'server.removed',
      'group.updated',
      'group.updated',
    ])
    expect(await registry.servers.resolve(ada, 'time', 'use')).toMatchObject({
      id: before.id,
      name: 'TIME',
      timeoutMs: 7,
    })
    expect((await registry.groups.resolve(ada, 'g', 'use')).members).toMatchObject([{ tools: [{ name: 'x' }] }])
    await mirror.apply(state({}))
    expect(await registry.servers.list(ada, { scope: 'all' })).toEqual([])
    expect(await registry.groups.list(ada, { scope: 'all' })).toEqual([])
  })

  test('leave what was made in the hub alone', async () => {
    await world.registry.servers.create(world.bob, { name: 'mine', url: 'https://a.example/' })
    await world.mirror.apply(state({}))
    expect((await world.registry.servers.list(world.bob, {})).length).toBe(1)
  })

  test('that cannot be read are listed with the reason while the others work', async () => {
    const { problems } = await world.mirror.apply(
      state({
        servers: [
          plain('good', at('https://a.example/')),
          plain('bad', { command: 5 }),
          plain('lost', at(`https://${'$'}{HOST}/`)),
          plain('a/b', at('https://a.example/')),
          plain('loop', at('http://127.0.0.1:1/', { unheard: true })),
          { owner: 'nobody', ...plain('x', at('https://a.example/')) },
          { owner: 'bob', ...plain('run', { command: 'cat' }) },
        ],
      }),
    )
    expect(problems.map(({ entry, errors }) => `${entry} ${errors[0]?.code} ${errors[0]?.pointer}`)).toEqual([
      'mcpServers["bad"] type #/command',
      'mcpServers["lost"] variable_unknown #/url',
      'mcpServers["a/b"] name_invalid #/name',
      'mcpServers["loop"] unknown_field #/unheard',
      'mcpServers["nobody::x"] enum #/owner',
    ])
    const listed = await world.registry.servers.list(world.ada, { scope: 'all' })
    expect(listed.map(({ name, problem }) => [name, problem?.code, problem?.pointer])).toEqual([
      ['a-b', 'config_invalid', '#/name'],
      ['bad', 'config_invalid', '#/command'],
      ['good', undefined, undefined],
      ['loop', undefined, undefined],
      ['lost', 'variable_unknown', '#/url'],
      ['run', 'stdio_not_permitted', undefined],
    ])
    const bad = listed.find(({ name }) => name === 'bad')
    expect((await refusal(world.registry.servers.effective(bad?.id ?? ''))).code).toBe('config_invalid')
    await world.mirror.apply(state({ servers: [plain('bad', { command: 'cat' })] }))
    expect(await world.registry.servers.resolve(world.ada, 'bad', 'use')).toMatchObject({ id: bad?.id as string })
    expect((await world.registry.servers.resolve(world.ada, 'bad', 'use')).problem).toBeUndefined()
  })

  test('groups are made of the members that are there', async () => {
    const { problems } = await world.mirror.apply(
      state({
        servers: [{ owner: 'bob', ...plain('s', at('https://a.example/', { visibility: 'public' })) }],
        groups: [{ body: { name: 'g', servers: ['bob::s', 'gone'] } }, { body: { name: 'h', naming: 'no' } }],
      }),
    )
    expect(problems.map(({ entry, errors }) => `${entry} ${errors[0]?.code} ${errors[0]?.pointer}`)).toEqual([
      'groups["g"] member_not_found #/servers/1',
      'groups["h"] enum #/naming',
    ])
    const group = await world.registry.groups.resolve(world.ada, 'g', 'use')
    expect(group.members.map(({ serverRef }) => serverRef)).toEqual(['bob~s'])
  })

  test('an edit is written to the file first: kept secrets as masks, new ones sealed', async () => {
    const { registry, mirror, ada } = world
    const entry = at('https://a.example/', { headers: { Authorization: 'Bearer 0123456789' } })
    await mirror.apply(state({ servers: [plain('s', entry), { owner: 'Bob', ...plain('t', entry) }] }))
    await registry.servers.patch(ada, 's', { timeout: 9, headers: { 'X-Api-Key': 'canary-0123456789' } })
    const [owner, name, body] = written[0] as [unknown, unknown, { timeout: number; headers: Record<string, string> }]
    expect([owner, name, body.timeout, body.headers.Authorization]).toEqual([undefined, 's', 9, '••••6789'])
    const sealed = body.headers['X-Api-Key'] ?? ''
    expect(sealed).toStartWith('enc:v1:')

    // A value that the hub sealed into the file opens when the file is read again.
    const headers = { Authorization: 'Bearer 0123456789', 'X-Api-Key': sealed }
    const again = await mirror.apply(
      state({ servers: [plain('s', at('https://a.example/', { timeout: 9, headers }))] }),
    )
    expect(again.problems).toEqual([])
    const { id } = await registry.servers.resolve(ada, 's', 'use')
    expect((await registry.servers.effective(id)).settings.config.headers).toMatchObject({
      'X-Api-Key': 'canary-0123456789',
    })
    const moved = await mirror.apply(state({ servers: [plain('u', at('https://a.example/', { headers }))] }))
    expect(moved.problems[0]?.errors[0]).toMatchObject({ code: 'secret_required', pointer: '#/headers/X-Api-Key' })
  })

  test('a new name of a server is written into the groups of the file that have it, for any maker of the server', async () => {
    const { registry, mirror, ada, bob } = world
    await registry.servers.create(bob, { name: 'made', url: 'https://a.example/', visibility: 'public' })
    await registry.servers.create(bob, { name: 'taken', url: 'https://a.example/' })
    await mirror.apply(state({ groups: [{ body: { name: 'g', members: ['bob::made'] } }] }))
    expect((await refusal(registry.servers.patch(bob, 'made', { name: 'taken' }))).code).toBe('server_name_taken')
    expect(written).toEqual([])
    await registry.servers.patch(bob, 'made', { name: 'renamed' })
    expect(written).toEqual([[{ owner: undefined, name: 'g' }, { owner: 'bob', name: 'made' }, 'renamed']])
    expect((await registry.groups.resolve(ada, 'g', 'use')).members.map(({ serverRef }) => serverRef)).toEqual([
      'bob~renamed',
    ])
  })

  test('removing and regrouping go through the file, under the owner’s name there', async () => {
    const { registry, mirror, ada } = world
    await mirror.apply(
      state({
        servers: [{ owner: 'Bob', ...plain('t', at('https://a.example/')) }, plain('s', at('https://a.example/'))],
        groups: [{ body: { name: 'g', members: ['s'] } }],
      }),
    )
    await registry.groups.patch(ada, 'g', { naming: 'prefixed' })
    await registry.groups.patch(ada, 'g', { members: [] })
    await registry.groups.remove(ada, 'g')
    await registry.servers.remove(ada, 'bob~t')
    expect(written).toMatchObject([
      [undefined, 'g', { naming: 'prefixed' }],
      [undefined, 'g', { members: [] }],
      [undefined, 'g', null],
      ['Bob', 't', null],
    ])
    expect(written[0]).not.toHaveProperty('[2].members')
  })

  test('the shares that the file states are those of its entries, beside the ones of the API', async () => {
    const { registry, mirror, ada, bob } = world
    const shares = [
      { subject: 'user:bob', role: 'see' },
      { subject: 'user:nobody', role: 'use' },
    ]
    const servers = [{ name: 'filed', body: at('https://a.example/mcp'), shares }]
    const groups = [{ body: { name: 'filed', members: ['filed'] }, shares: [{ subject: 'user:bob', role: 'use' }] }]
    const { problems } = await mirror.apply({ users: [], servers, groups })
    expect(problems.map(({ errors }) => errors.map(({ pointer }) => pointer))).toEqual([['#/shares/1/subject']])
    const listed = async () =>
      (await registry.shares.list(ada, 'server', 'filed')).map(({ subject, role, origin }) => [subject, role, origin])
    expect(await listed()).toEqual([['user:bob', 'see', 'file']])
    expect((await registry.groups.resolve(bob, 'ada~filed', 'use')).members.length).toBe(1)
    await registry.shares.put(ada, 'server', 'filed', { subject: 'user:cleo', role: 'use' })
    const changes = [
      () => registry.shares.put(ada, 'server', 'filed', { subject: 'user:bob', role: 'use' }),
      () => registry.shares.replace(ada, 'server', 'filed', [{ subject: 'user:bob', role: 'see' }]),
      () => registry.shares.remove(ada, 'server', 'filed', 'user:bob'),
      () => registry.shares.remove(bob, 'group', 'ada~filed', 'user:bob'),
    ]
    for (const change of changes) expect((await refusal(change())).code).toBe('settings_read_only')
    world.events.length = 0
    await mirror.apply({ users: [], servers, groups })
    expect(world.events).toEqual([])
    await mirror.apply({ users: [], servers: [{ name: 'filed', body: at('https://a.example/mcp') }], groups: [] })
    expect(await listed()).toEqual([['user:cleo', 'use', 'store']])
    expect((await refusal(registry.servers.resolve(bob, 'ada~filed', 'use'))).code).toBe('server_not_found')
  })
})

test('entries of the file are read-only without a writer', async () => {
  const world = await openWorld()
  const { registry, mirror, ada } = world
  await mirror.apply(state({ servers: [plain('s', at('https://a.example/'))], groups: [{ body: { name: 'g' } }] }))
  const attempts = [
    () => registry.servers.patch(ada, 's', { timeout: 5 }),
    () => registry.servers.remove(ada, 's'),
    () => registry.groups.patch(ada, 'g', { naming: 'prefixed' }),
    () => registry.groups.remove(ada, 'g'),
  ]
  for (const attempt of attempts) expect((await refusal(attempt())).code).toBe('settings_read_only')
  expect(await wrongFields(registry.servers.patch(ada, 's', { timeout: 0 }))).toEqual(['range #/timeout'])
  await world.end()
})

describe('users of the file', () => {
  test('the first administrator of the file fills in the first user', async () => {
    const world = await openBareWorld()
    const { registry, mirror } = world
    await mirror.apply(state({ servers: [plain('s', at('https://a.example/'))] }))
    const users = [
      { name: 'bob', role: 'user', passwordHash: 'h1' },
      { name: 'root', role: 'admin', passwordHash: 'h2' },
    ] as const
    await mirror.apply(state({ users, servers: [plain('s', at('https://a.example/'))] }))
    expect(await registry.users.needsSetup()).toBe(false)
    expect(await registry.users.credentials('root')).toMatchObject({
      user: { number: 1, origin: 'file' },
      passwordHash: 'h2',
    })
    const hub = { kind: 'system', purpose: 'test' } as const
    expect((await registry.servers.resolve(hub, 'root~s', 'use')).ownerName).toBe('root')
    expect((await refusal(registry.users.update(hub, 'bob', { role: 'admin' }))).code).toBe('settings_read_only')
    expect((await refusal(registry.users.remove(hub, 'bob', {}))).code).toBe('settings_read_only')
    await world.end()
  })

  test('a password that was changed in the hub stays until the file’s own one changes', async () => {
    const world = await openWorld()
    const { registry, mirror, ada } = world
    const file = (passwordHash: string, role: 'admin' | 'user' = 'user') =>
      mirror.apply(state({ users: [{ name: 'dora', role, passwordHash }] }))
    await file('$2b$old')
    const hash = async () => (await registry.users.credentials('dora'))?.passwordHash
    await registry.users.setPassword((await registry.users.byName(ada, 'dora')).id, 'argon')
    const { tokenEpoch } = await registry.users.byName(ada, 'dora')
    await file('$2b$old', 'admin')
    expect([await hash(), (await registry.users.byName(ada, 'dora')).tokenEpoch]).toEqual(['argon', tokenEpoch])
    await file('$2b$new')
    expect([await hash(), (await registry.users.byName(ada, 'dora')).tokenEpoch]).toEqual(['$2b$new', tokenEpoch + 1])
    await world.end()
  })

  test('those that leave it go, but for owners of things and the last administrator', async () => {
    const world = await openWorld()
    const { registry, mirror, ada } = world
    const users = ['dora', 'emil'].map(name => ({ name, role: 'user', passwordHash: 'h' }) as const)
    await mirror.apply(state({ users: [...users, { name: 'ada', role: 'admin' }] }))
    await registry.servers.create(ada, { name: 's', url: 'https://a.example/', owner: 'emil' })
    const { problems } = await mirror.apply(state({}))
    expect(problems.map(({ entry }) => entry)).toEqual(['users["emil"]'])
    const left = await registry.users.list(ada, {})
    expect(left.map(({ name, disabled, origin }) => [name, disabled, origin])).toEqual([
      ['ada', false, 'store'],
      ['bob', false, 'store'],
      ['cleo', false, 'store'],
      ['emil', true, 'store'],
    ])
    const { problems: last } = await mirror.apply(state({ users: [{ name: 'ada', role: 'user' }] }))
    expect(last[0]?.entry).toBe('users["ada"]')
    expect((await registry.users.byName(ada, 'ada')).role).toBe('admin')
    await world.end()
  })
})
