import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'kysely'
import { LIMITS } from '../../../core/config/limits.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { removeUnownedDocuments } from '../../../core/registry/servers/document-parts.ts'
import { migrateToLatest } from '../../../core/store/migrate.ts'
import { openWorld, refusal, type World } from './world.ts'

const MiB = 1024 * 1024

let world: World
beforeEach(async () => {
  world = await openWorld()
})
afterEach(() => world.end())

function documentOf(bytes: number, url = 'https://pets.example/v1'): JsonObject {
  const document = { openapi: '3.1.0', info: { title: 'é', version: '1' }, servers: [{ url }], paths: {} }
  return { ...document, 'x-padding': 'x'.repeat(bytes) }
}

async function stored(name: string) {
  const query = world.store.db.selectFrom('server').leftJoin('openapi_document', 'server_id', 'server.id')
  const columns = query.select(['config', 'sha256', 'bytes', 'revision'])
  return columns.where('name', '=', name).executeTakeFirstOrThrow()
}

/** Number of documents and of parts of documents in the store, with or without an owner. */
async function counts(): Promise<readonly [documents: number, parts: number]> {
  const { db } = world.store
  const documents = await db.selectFrom('openapi_document').select('id').execute()
  return [documents.length, (await db.selectFrom('openapi_document_part').select('part').execute()).length]
}

async function textOf(name: string): Promise<string | undefined> {
  const document = await world.registry.servers.document(world.bob, name)
  if (!document) return undefined
  const parts: Uint8Array[] = []
  for (let part = await document.next(); part; part = await document.next()) parts.push(part)
  expect(Math.max(...parts.map(({ length }) => length))).toBe(document.partBytes)
  return Buffer.concat(parts).toString()
}

describe('an inline document', () => {
  const document = documentOf(10)

  beforeEach(async () => {
    await world.registry.servers.create(world.bob, { name: 'pets', openapi: { schema: document } })
  })

  test('lies apart from the configuration, whose stand-in tells hash, size and origins', async () => {
    const { config, sha256, bytes } = await stored('pets')
    const text = JSON.stringify(document)
    expect(config).not.toContain('x-padding')
    expect([bytes, await textOf('pets')]).toEqual([Buffer.byteLength(text), text])
    expect(sha256).toBe(new Bun.CryptoHasher('sha256').update(text).digest('hex'))
    const record = await world.registry.servers.resolve(world.bob, 'pets', 'use')
    expect(record.config).toEqual({ openapi: { document: { sha256, bytes, servers: ['https://pets.example'] } } })
    const effective = await world.registry.servers.effective(record.id)
    expect(new TextDecoder().decode(await effective.document?.())).toBe(text)
  })

  test('stays when the stand-in is sent back, or the patch is about something else, and goes for a url', async () => {
    const { servers } = world.registry
    const before = await stored('pets')
    await servers.patch(world.bob, 'pets', { isolate: true })
    const body = servers.publicBody(await servers.resolve(world.bob, 'pets', 'use'))
    await servers.replace(world.bob, 'pets', { ...body, description: 'changed' })
    expect(await stored('pets')).toMatchObject({ sha256: before.sha256, revision: 3 })
    expect(await textOf('pets')).toBe(JSON.stringify(document))
    await servers.patch(world.bob, 'pets', { openapi: { url: 'https://pets.example/openapi.json' } })
    expect(await stored('pets')).toMatchObject({ sha256: null, revision: 4 })
    expect(await textOf('pets')).toBeUndefined()
  })

  test('is replaced as a whole by a patch, its nulls included', async () => {
    const next = { ...documentOf(0), 'x-null': null }
    await world.registry.servers.patch(world.bob, 'pets', { openapi: { schema: next } })
    expect(JSON.parse((await textOf('pets')) ?? '')).toEqual(next)
  })

  test('is not taken from another server by its hash, and is no secret', async () => {
    const { servers } = world.registry
    const { openapi } = servers.publicBody(await servers.resolve(world.bob, 'pets', 'use'))
    const taken = await refusal(servers.create(world.cleo, { name: 'taken', openapi: openapi ?? null }))
    expect(taken.errors).toMatchObject([{ pointer: '#/openapi/document', code: 'required' }])
    const listed = await refusal(servers.patch(world.bob, 'pets', { secrets: ['/openapi/document/sha256'] }))
    expect(listed.errors).toMatchObject([{ pointer: '#/secrets/0', code: 'format' }])
    expect((await refusal(servers.document(world.cleo, 'bob~pets'))).code).toBe('server_not_found')
  })

  test('goes with its server', async () => {
    await world.registry.servers.remove(world.bob, 'pets')
    expect(await counts()).toEqual([0, 0])
  })

  test('is stored in parts, each in a turn of its own, and leaves nothing behind when another takes its place', async () => {
    const large = documentOf(3.5 * MiB)
    let turns = 0
    const watch = setInterval(() => {
      turns += 1
    }, 0)
    await world.registry.servers.patch(world.bob, 'pets', { openapi: { schema: large } })
    expect(turns).toBeGreaterThanOrEqual(4)
    turns = 0
    expect(await textOf('pets')).toBe(JSON.stringify(large))
    expect(turns).toBeGreaterThanOrEqual(3)
    clearInterval(watch)
    expect(await counts()).toEqual([1, 4])
    const taken = { name: 'pets', openapi: { schema: large } }
    expect((await refusal(world.registry.servers.create(world.bob, taken))).code).toBe('server_name_taken')
    expect(await counts()).toEqual([1, 4])
    await world.registry.servers.patch(world.bob, 'pets', { openapi: { schema: document } })
    expect(await counts()).toEqual([1, 1])
  })

  test('that a hub has written and not given to its server is removed when the next one starts', async () => {
    const left = { id: 'left', server_id: null, sha256: 'x', bytes: 1 }
    await world.store.db.insertInto('openapi_document').values(left).execute()
    await removeUnownedDocuments(world.store)
    expect(await counts()).toEqual([1, 1])
  })

  test('of an earlier database moves out of the configuration', async () => {
    const { db, dialect } = world.store
    const { config } = await stored('pets')
    const earlier = JSON.parse(config) as JsonObject
    const inline = JSON.stringify({ ...earlier, config: { openapi: { schema: document } } })
    for (const table of [
      'share',
      'team_member',
      'team',
      'import_run',
      'group_former_path',
      'alert_delivery',
      'alert_incident',
      'alert_instance',
      'alert_silence',
      'owned_setting',
      'sign_in',
      'reset_link',
      ...['parts', 'owners', 'files', 'migration'].map(name => `plugin_bundles__${name}`),
    ])
      await db.schema.dropTable(table).execute()
    await db.schema.dropTable('waiting_row').execute()
    await db.schema.alterTable('user').dropColumn('second_factor').execute()
    for (const column of ['instructions', 'tags', 'selector'])
      await db.schema.alterTable('server_group').dropColumn(column).execute()
    await db.schema.alterTable('group_member').dropColumn('selected_by').execute()
    await db.schema.dropTable('openapi_document_part').execute()
    await db.schema.dropTable('openapi_document').execute()
    await db.schema.dropTable('server_catalog_part').execute()
    await db.schema.dropTable('client_session').execute()
    await db.schema.dropTable('server_asking').execute()
    await db.schema.dropTable('group_lost_member').execute()
    await db.schema.dropIndex('audit_at').execute()
    await db.schema.alterTable('audit').dropColumn('client_address').execute()
    await db.schema.alterTable('group_member').dropColumn('former_prefix').execute()
    await sql`delete from kysely_migration where name >= '0006'`.execute(db)
    await db.updateTable('server').set({ config: inline }).execute()
    await migrateToLatest(db, dialect)
    expect((await stored('pets')).config).toBe(config)
    expect(await textOf('pets')).toBe(JSON.stringify(document))
  })
})

describe('the account of stored bytes', () => {
  const create = (name: string, bytes: number, who = world.bob) =>
    world.registry.servers.create(who, { name, openapi: { schema: documentOf(bytes) } })

  test('ends at 64 MiB by every route, for ordinary users alone', async () => {
    const { servers, groups } = world.registry
    for (const name of ['a', 'b', 'c', 'd']) await create(name, 15 * MiB)
    await create('e', 3.5 * MiB)
    const full = await refusal(create('f', 2 * MiB))
    expect([full.code, full.message]).toEqual(['quota_stored_bytes', expect.stringContaining('67108864')])
    const larger = servers.patch(world.bob, 'e', { openapi: { schema: documentOf(5 * MiB) } })
    expect((await refusal(larger)).code).toBe('quota_stored_bytes')
    // A change that does not grow is accepted, also when the account is full.
    await servers.patch(world.bob, 'e', { openapi: { schema: documentOf(3.5 * MiB - 5) }, enabled: false })
    // The limit holds for a transfer of one server, and of an account.
    await create('given', 2 * MiB, world.ada)
    expect((await refusal(servers.patch(world.ada, 'ada~given', { owner: 'bob' }))).code).toBe('quota_stored_bytes')
    await create('inherited', 2 * MiB, world.cleo)
    const removal = world.registry.users.remove(world.ada, 'cleo', { transferTo: 'bob' })
    expect((await refusal(removal)).code).toBe('quota_stored_bytes')
    expect(await servers.list(world.cleo, {})).toHaveLength(1)
    // Groups count as well.
    const tools = Array.from({ length: 450 }, (_, n) => ({ name: `tool-${n}`, description: 'x'.repeat(2_000) }))
    const group = groups.create(world.bob, { name: 'g', members: [{ server: 'a', tools }] })
    expect((await refusal(group)).code).toBe('quota_stored_bytes')
    expect(await groups.list(world.bob, {})).toEqual([])
    await servers.remove(world.bob, 'a')
    await groups.create(world.bob, { name: 'g', members: [{ server: 'b', tools }] })
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(name, 15 * MiB, world.ada)
  }, 120_000)

  test('has a part for what lists read', async () => {
    const { servers } = world.registry
    const variables = Object.fromEntries(Array.from({ length: 130 }, (_, n) => [`v${n}`, 'x'.repeat(8_000)]))
    const add = (name: string) => servers.create(world.bob, { name, url: 'https://a.example/mcp', variables })
    for (const name of ['a', 'b', 'c', 'd']) await add(name)
    const error = await refusal(add('e'))
    expect([error.code, error.message]).toEqual([
      'quota_stored_bytes',
      expect.stringContaining(String(LIMITS.serverConfigBytesPerUser)),
    ])
    await servers.patch(world.bob, 'a', { enabled: false })
  })
})
