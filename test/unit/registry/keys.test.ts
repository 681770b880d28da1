import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { LIMITS } from '../../../core/config/limits.ts'
import { openWorld, refusal, type World, wrongFields } from './world.ts'

let world: World
let now = new Date('2026-06-01T12:00:00.000Z')
beforeEach(async () => {
  now = new Date('2026-06-01T12:00:00.000Z')
  world = await openWorld({ now: () => now })
})
afterEach(() => world.end())

describe('access keys', () => {
  const keys = () => world.registry.keys

  test('are shown once, and kept as a hash', async () => {
    const { key, secret } = await keys().create(world.bob, { label: 'laptop', scopes: ['mcp'] })
    expect(secret).toMatch(/^pb_[A-Za-z0-9_-]{43}$/)
    expect(key).toMatchObject({ label: 'laptop', last4: secret.slice(-4), scopes: ['mcp'], ownerId: world.bob.userId })
    const rows = await world.store.db.selectFrom('access_key').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(secret.slice(3, 40))
    const hash = createHash('sha256').update(secret).digest('hex')
    expect((await keys().byHash(hash))?.id).toBe(key.id)
    expect(await keys().byHash(`${hash.slice(1)}0`)).toBeUndefined()
  })

  test('keep the scope on what it was made for though that is renamed', async () => {
    const { servers, groups } = world.registry
    await servers.create(world.bob, { name: 's', url: 'https://a.example/' })
    await groups.create(world.bob, { name: 'g' })
    const scopes = [{ server: 's' }, { group: 'bob~g' }, 'api:read'] as const
    const { key } = await keys().create(world.bob, { label: 'k', scopes: [...scopes] })
    await servers.patch(world.bob, 's', { name: 'renamed' })
    expect(await keys().publicScopes(world.bob, key)).toEqual([
      { server: 'bob~renamed' },
      { group: 'bob~g' },
      'api:read',
    ])
    await servers.remove(world.bob, 'renamed')
    expect(await keys().publicScopes(world.bob, key)).toEqual([{ group: 'bob~g' }, 'api:read'])
  })

  test('report every wrong field, invisible things as missing ones', async () => {
    await world.registry.servers.create(world.cleo, { name: 'hers', url: 'https://a.example/' })
    const made = keys().create(world.bob, {
      label: '',
      scopes: ['root', { server: 'cleo~hers' }, { group: 5 }, { server: 'a', group: 'b' }],
      expiresAt: 'tomorrow',
    })
    expect(await wrongFields(made)).toEqual([
      'length #/label',
      'timestamp #/expiresAt',
      'enum #/scopes/0',
      'member_not_found #/scopes/1/server',
      'type #/scopes/2',
      'type #/scopes/3',
    ])
    const past = keys().create(world.bob, { label: 'k', scopes: [], expiresAt: '2020-01-01T00:00:00Z' })
    expect(await wrongFields(past)).toEqual(['range #/expiresAt', 'length #/scopes'])
  })

  test('of others are not found, but by administrators', async () => {
    const { key, secret } = await keys().create(world.bob, { label: 'k', scopes: ['api'] })
    expect((await refusal(keys().remove(world.cleo, key.id))).code).toBe('key_not_found')
    expect((await refusal(keys().rotate(world.cleo, key.id))).code).toBe('key_not_found')
    expect((await refusal(keys().list(world.cleo, 'bob'))).code).toBe('user_not_found')
    expect((await keys().list(world.ada, 'bob')).length).toBe(1)
    world.events.length = 0
    const rotated = await keys().rotate(world.bob, key.id)
    expect(rotated.secret).not.toBe(secret)
    expect(await keys().byHash(createHash('sha256').update(secret).digest('hex'))).toBeUndefined()
    expect(world.events.map(({ name }) => name)).toEqual(['key.removed', 'key.created'])
    await keys().remove(world.ada, key.id)
    expect(await keys().list(world.bob)).toEqual([])
  })

  test('that rotate with an overlap are two, of which the old one ends', async () => {
    const old = await keys().create(world.bob, { label: 'k', scopes: ['api'] })
    const next = await keys().rotate(world.bob, old.key.id, 60_000)
    expect(next.key).toMatchObject({ label: 'k', scopes: ['api'] })
    expect(next.key.expiresAt).toBeUndefined()
    const hash = (secret: string) => createHash('sha256').update(secret).digest('hex')
    const kept = await keys().byHash(hash(old.secret))
    expect(kept?.id).toBe(old.key.id)
    const left = Date.parse(kept?.expiresAt ?? '') - Date.parse(next.key.createdAt)
    expect([left > 0, left <= 60_000]).toEqual([true, true])
    expect((await keys().byHash(hash(next.secret)))?.id).toBe(next.key.id)
    // A second overlap does not make the old one last longer.
    await keys().rotate(world.bob, old.key.id, 3_600_000)
    expect((await keys().byHash(hash(old.secret)))?.expiresAt).toBe(kept?.expiresAt as string)
    for (const { id } of await keys().list(world.bob)) await keys().remove(world.bob, id)
  })

  test('note their use at most once a minute', async () => {
    const { key } = await keys().create(world.bob, { label: 'k', scopes: ['api'] })
    const used = async () => {
      await world.close()
      return (await keys().list(world.bob))[0]?.lastUsedAt
    }
    keys().touch(key.id)
    expect(await used()).toBe('2026-06-01T12:00:00.000Z')
    now = new Date('2026-06-01T12:00:59.000Z')
    keys().touch(key.id)
    expect(await used()).toBe('2026-06-01T12:00:00.000Z')
    now = new Date('2026-06-01T12:01:00.000Z')
    keys().touch(key.id)
    expect(await used()).toBe('2026-06-01T12:01:00.000Z')
  })
})

describe('settings', () => {
  const settings = () => world.registry.settings

  test('of the system are changed by administrators, and announced', async () => {
    expect((await refusal(settings().setSystem(world.bob, { a: 1 }))).code).toBe('admin_only')
    await settings().setSystem(world.ada, { a: { b: [1] }, c: 'x' })
    await settings().setSystem(world.ada, { c: null })
    expect(await settings().allSystem()).toEqual({ a: { b: [1] } })
    expect(await settings().systemRevision()).toBe(2)
    const late = await refusal(settings().setSystem(world.ada, { a: 2 }, { ifRevision: 1 }))
    expect([late.code, late.data]).toMatchObject([
      'version_conflict',
      { revision: 2, kind: 'settings', record: 'system' },
    ])
    await settings().setSystem(world.ada, { a: { b: [1] } }, { ifRevision: 2 })
    expect(await settings().systemRevision()).toBe(3)
    expect(await settings().system('c')).toBeUndefined()
    expect(world.events[0]).toMatchObject({ name: 'settings.updated', ownerId: null, data: { scope: 'system' } })
  })

  test('of users are their own, with secrets sealed and never listed', async () => {
    const { userId } = world.bob
    await settings().setUser(world.bob, userId, { theme: 'dark' })
    await settings().setUser(world.bob, userId, {}, { 'hostedKeys/x': 'canary-0123456789' })
    expect(await settings().user(userId)).toEqual({ theme: 'dark' })
    expect(await settings().openUserSecret(userId, 'hostedKeys/x')).toBe('canary-0123456789')
    expect(await settings().userSecretInfo(userId, 'hostedKeys/')).toEqual({
      'hostedKeys/x': { last4: '6789', setAt: now.toISOString() },
    })
    expect(JSON.stringify(await world.store.db.selectFrom('setting').selectAll().execute())).not.toContain('canary')
    expect((await refusal(settings().setUser(world.cleo, userId, { a: 1 }))).code).toBe('user_not_found')
    expect((await refusal(settings().setUser(world.ada, 'system', {}, { a: 'b' }))).code).toBe('user_not_found')
    await settings().setUser(world.bob, userId, {}, { 'hostedKeys/x': null })
    expect(await settings().openUserSecret(userId, 'hostedKeys/x')).toBeUndefined()
  })

  test('and secrets of users come together: all with one event, or none', async () => {
    const { userId } = world.bob
    const secrets = { 'hostedKeys/a': 'first', 'hostedKeys/b': 'x'.repeat(LIMITS.storedBytesPerUser) }
    const refused = await refusal(settings().setUser(world.bob, userId, { theme: 'light' }, secrets))
    expect(refused.code).toBe('quota_stored_bytes')
    expect([await settings().user(userId), await settings().userSecretInfo(userId, 'hostedKeys/')]).toEqual([{}, {}])
    expect(world.events).toEqual([])
    await settings().setUser(
      world.bob,
      userId,
      { theme: 'light' },
      { 'hostedKeys/a': 'first', 'hostedKeys/b': 'second' },
    )
    expect(await settings().openUserSecret(userId, 'hostedKeys/b')).toBe('second')
    expect(world.events.map(({ data }) => data)).toEqual([
      { scope: 'user', userId, keys: ['theme', 'hostedKeys/a', 'hostedKeys/b'] },
    ])
  })
})

describe('audit', () => {
  test('is written in batches, redacted by key alone, and shown to those it concerns', async () => {
    const { audit } = world.registry
    audit.record(world.ada, { action: 'server.create', target: 'bob~canary-secret', ownerId: world.bob.userId })
    audit.record(world.cleo, {
      action: 'login',
      target: 'cleo',
      ownerId: null,
      request: { requestId: 'r1', clientAddress: '192.0.2.4' },
      detail: { token: 'x' },
    })
    audit.record({ kind: 'system', purpose: 'start' }, { action: 'start', target: 'hub', ownerId: null })
    await audit.flush()
    const page = { limit: 10, offset: 0 }
    const all = await audit.list(world.ada, page)
    expect(all.total).toBe(3)
    expect(all.items.map(({ user }) => user)).toEqual(['start', 'cleo', 'ada'])
    expect(all.items.map(({ requestId, address }) => [requestId, address])).toEqual([
      [null, null],
      ['r1', '192.0.2.4'],
      [null, null],
    ])
    expect(all.items[2]).toMatchObject({ target: 'bob~canary-secret' })
    expect(all.items[1]).toMatchObject({ requestId: 'r1', detail: { token: '[redacted]' } })
    expect((await audit.list(world.bob, page)).items.map(({ action }) => action)).toEqual(['server.create'])
    expect((await audit.list(world.ada, { ...page, user: 'Cleo' })).total).toBe(1)
    expect((await audit.list(world.ada, { limit: 1, offset: 1, action: 'start' })).items).toEqual([])
  })
})
