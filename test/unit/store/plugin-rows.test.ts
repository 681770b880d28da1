import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { copyStore } from '../../../core/moving/backup/migrate.ts'
import { pluginSealing } from '../../../core/plugin-host/services/sealing.ts'
import { migrateOwn } from '../../../core/plugin-host/tables/migrations.ts'
import { ownTables } from '../../../core/plugin-host/tables/own-tables.ts'
import { countStored, resealStored } from '../../../core/registry/sealed-values.ts'
import { createSealer, kidOf } from '../../../core/secrets/seal.ts'
import { openStore, type Store } from '../../../core/store/open.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { moved } from './plugin-rows.ts'

let folder: string
const stores: Store[] = []
const opened = async (name: string): Promise<Store> => {
  const dataDir = join(folder, name)
  await mkdir(dataDir)
  const store = await openStore({ dataDir })
  stores.push(store)
  return store
}
beforeAll(async () => {
  folder = await makeTemp('rows')
})
afterAll(async () => {
  await Promise.all(stores.map(store => store.close()))
  await removeTemp(folder)
})

test('rows of plugins move with the store, and wait until their plugin has its tables', async () => {
  await moved(await opened('one'), await opened('two'))
})

test('a change of the key seals the texts of plugins again, in their tables and while they wait', async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)]
  const [from, to] = [await opened('three'), await opened('four')]
  const cards = async (db: Parameters<Parameters<typeof migrateOwn>[1][string]>[0]) => {
    const table = db.schema.createTable('card').addColumn('id', 'text', column => column.primaryKey())
    await table.addColumn('user_id', 'text').addColumn('sealed', 'text').execute()
  }
  await migrateOwn('cards', { '0001-cards': cards }, from)
  const before = pluginSealing('cards', () => createSealer([old]))
  const row = { id: 'c', user_id: null }
  const sealed = before.seal('card', row, 'secret')
  const tables = ownTables<{ card: { id: string; user_id: string | null; sealed: string } }>('cards', from)
  await tables.write(db =>
    db
      .insertInto('card')
      .values({ ...row, sealed })
      .execute(),
  )
  await copyStore(from, to)

  const both = createSealer([next, old])
  const after = pluginSealing('cards', () => createSealer([next]))
  const kinds = { all: () => [] } as unknown as Parameters<typeof resealStored>[3]
  for (const store of [from, to]) {
    expect([...(await countStored(store.db))]).toEqual([[kidOf(old), 1]])
    expect(await resealStored(store, both, kidOf(next), kinds)).toMatchObject({ changed: 1, lost: [] })
  }
  await migrateOwn('cards', { '0001-cards': cards }, to)
  for (const store of [from, to]) {
    const [card] = await ownTables<{ card: { id: string; user_id: string | null; sealed: string } }>(
      'cards',
      store,
    ).read(db => db.selectFrom('card').selectAll().execute())
    expect(after.open('card', row, card?.sealed ?? '')).toBe('secret')
    expect(() => after.open('card', { id: 'd', user_id: null }, card?.sealed ?? '')).toThrow('sealed for another place')
  }
})

test('tokens of one plugin and purpose open nowhere else', () => {
  const sealer = createSealer([randomBytes(32)])
  const [mine, other] = ['mine', 'other'].map(name => pluginSealing(name, () => sealer))
  const token = mine!.token('invite', new TextEncoder().encode('ada'))
  expect(new TextDecoder().decode(mine!.openToken('invite', token))).toBe('ada')
  expect([mine!.openToken('reset', token), other!.openToken('invite', token)]).toEqual([undefined, undefined])
  const keys = [mine!.keys('a'), mine!.keys('b'), other!.keys('a')].map(([first]) =>
    Buffer.from(first!.key).toString('hex'),
  )
  expect(new Set(keys).size).toBe(3)
})
