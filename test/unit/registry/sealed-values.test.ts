import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { EventBus } from '../../../core/events/bus.ts'
import { RECORD_KINDS } from '../../../core/hub/record-kinds.ts'
import { createRegistry } from '../../../core/registry/create.ts'
import { schemaRecords } from '../../../core/registry/owned/schema-records.ts'
import { countInFile, countStored, resealFileEntries, resealStored } from '../../../core/registry/sealed-values.ts'
import { createSealer, kidOf } from '../../../core/secrets/seal.ts'
import { bundledTransports } from '../../support/transports.ts'
import { openWorld } from './world.ts'

const KINDS = { all: () => RECORD_KINDS }

const KEY = 'sk-canary-0123456789-1f3c'

test('resealStored() seals servers and settings with the first key, and keeps what is known by the configuration', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const world = await openWorld({ sealer: createSealer([old]) })
  const { servers, settings } = world.registry
  const made = await servers.create(world.bob, {
    name: 's',
    url: 'https://mcp.example/mcp',
    headers: { Authorization: KEY, Accept: 'text/plain' },
    variables: { API_KEY: KEY },
  })
  await servers.create(world.bob, { name: 'plain', url: 'https://mcp.example/mcp' })
  await settings.setUser(world.bob, world.bob.userId, {}, { 'hostedKeys.x': KEY })
  const hash = (await servers.effective(made.id)).configHash
  const catalog = { server_id: made.id, config_hash: hash, catalog: '{}', read_at: '2026-01-01T00:00:00.000Z' }
  await world.store.db.insertInto('server_catalog').values(catalog).execute()
  expect(await countStored(world.store.db)).toEqual(new Map([[kidOf(old), 3]]))

  const both = createSealer([next, old])
  expect(await resealStored(world.store, both, kidOf(next), KINDS)).toMatchObject({ changed: 3, kept: 0, lost: [] })
  expect(await resealStored(world.store, both, kidOf(next), KINDS)).toMatchObject({ changed: 0, kept: 3, lost: [] })
  expect(await countStored(world.store.db)).toEqual(new Map([[kidOf(next), 3]]))

  const after = createRegistry({
    ...{ store: world.store, sealer: createSealer([next]), outboundAllow: [], transports: bundledTransports() },
    bus: new EventBus(error => {
      throw error
    }),
    kinds: KINDS,
    stdio: () => ({ policy: 'sandboxed', level: 'none' }),
  })
  const effective = await after.registry.servers.effective(made.id)
  expect(effective.settings.config.headers).toEqual({ Authorization: KEY, Accept: 'text/plain' })
  expect(await after.registry.settings.openUserSecret(world.bob.userId, 'hostedKeys.x')).toBe(KEY)
  const known = await world.store.db.selectFrom('server_catalog').select('config_hash').executeTakeFirstOrThrow()
  expect(known.config_hash).toBe(effective.configHash)
  await after.close()
  await world.end()
})

test('a value sealed by a missing key is named and left as it is', async () => {
  const [lost, next] = [randomBytes(32), randomBytes(32)]
  const world = await openWorld({ sealer: createSealer([lost]) })
  await world.registry.servers.create(world.bob, { name: 'h', url: 'https://a.example/', headers: { Cookie: KEY } })
  await world.registry.settings.setUser(world.bob, world.bob.userId, {}, { 'hostedKeys.x': KEY })
  const before = await world.store.db.selectFrom('server').select(['id', 'config']).execute()
  const done = await resealStored(world.store, createSealer([next]), kidOf(next), KINDS)
  expect(done).toMatchObject({ changed: 0, lost: ['server "h" of bob, /headers/Cookie', 'setting hostedKeys.x'] })
  expect(await world.store.db.selectFrom('server').select(['id', 'config']).execute()).toEqual(before)
  const info = await world.registry.settings.userSecretInfo(world.bob.userId, 'hostedKeys.')
  expect(info['hostedKeys.x']).toBeDefined()
  await world.end()
})

test('resealFileEntries() opens only what was sealed for just that entry', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const sealer = createSealer([old])
  const world = await openWorld({ sealer })
  const { id } = await world.registry.servers.create(world.bob, { name: 's', url: 'https://a.example/' })
  const place = { owner: world.bob.userId, record: id, field: '/headers/Cookie' }
  const sealed = sealer.seal('server', place, KEY)
  const entry = (owner: string, headers: object) => ({ owner, name: 'S', body: { url: 'https://a.example/', headers } })
  const entries = [entry('bob', { Cookie: sealed }), entry('cleo', { Cookie: sealed }), entry('bob', { Other: sealed })]
  expect(countInFile(entries as never)).toEqual(new Map([[kidOf(old), 3]]))
  const done = await resealFileEntries(world.store, createSealer([next, old]), kidOf(next), entries as never)
  expect(done).toMatchObject({
    changed: 1,
    lost: [expect.stringContaining('/Cookie'), expect.stringContaining('/Other')],
  })
  const [[from, to] = ['', '']] = done.texts
  expect(from).toBe(sealed)
  expect(createSealer([next]).open('server', place, to)).toBe(KEY)
  await world.end()
})

test('records of a plugin that does not run are sealed again, and can be read by it afterwards', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const world = await openWorld({ sealer: createSealer([old]) })
  const recordsBy = (key: Uint8Array) =>
    schemaRecords(world.store, createSealer([key]), {
      kind: {
        ...{ kind: 'library.shops', label: 'shop', missing: 'record_not_found', quota: 'quota_records', most: 2 },
        ...{ fileSection: 'records', acts: false },
        moved: { section: 'library.shops', offUnlessSeen: false, offOnRequest: false },
      },
      secrets: ['/token'],
      check: fields => fields,
      changed: () => undefined,
    })
  await recordsBy(old).requests.create(world.bob, { name: 'corner', token: KEY })
  const both = createSealer([next, old])
  expect(await resealStored(world.store, both, kidOf(next), KINDS)).toMatchObject({ changed: 1, lost: [] })
  expect(await recordsBy(next).active()).toMatchObject([{ name: 'corner', fields: { token: KEY } }])
  await world.end()
})
