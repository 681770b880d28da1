import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openStore } from '../../../core/store/open.ts'
import { isPluginTable } from '../../../core/store/plugin-tables.ts'
import { BACKED_UP, NOT_BACKED_UP } from '../../../core/store/rows/tables.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'

test('each table is in a backup, or among those that a restore empties', async () => {
  const dataDir = await makeTemp('tables')
  const store = await openStore({ dataDir })
  const tables = await store.db.introspection.getTables()
  await store.close()
  await removeTemp(join(dataDir))
  const known = [...BACKED_UP, ...NOT_BACKED_UP].map(({ name }) => name)
  const own = tables.map(({ name }) => name).filter(name => !isPluginTable(name))
  expect(own.sort()).toEqual(known.toSorted())
  // Pages are read by the key, which must distinguish all rows.
  for (const { name, key } of [...BACKED_UP, ...NOT_BACKED_UP]) {
    const columns = tables.find(table => table.name === name)?.columns.map(column => column.name)
    expect(columns).toEqual(expect.arrayContaining([...key]))
  }
})
